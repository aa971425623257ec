"""Whoever asks: signs requests, seals them to the parties, and makes one explanation of what they answer. No engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dcshap._machine import monotonic, new_identifier
from dcshap.collaboration.messages import ANALYST, REQUESTER, Message
from dcshap.collaboration.party import FULL
from dcshap.exceptions import DcshapError, InputError, ProtocolError
from dcshap.explanation.answering import Asking
from dcshap.explanation.background import N_BACKGROUND
from dcshap.explanation.disclosures import Prediction, Request
from dcshap.explanation.enclosure import Enclosure, enclosed
from dcshap.explanation.receipt import Receipt, fresh_opening, require_stated
from dcshap.explanation.statement import PartyExplanation
from dcshap.federation.seals.envelopes import open_envelope
from dcshap.federation.seals.identity import Identity
from dcshap.federation.seals.post import Post, PostOffice
from dcshap.federation.seals.requests import sign_request
from dcshap.federation.seals.wire import unpack
from dcshap.federation.site.admission import viewers_of
from dcshap.protocol import Answered, Cast, Node, Step
from dcshap.protocol.carrier import all_or_error
from dcshap.protocol.steps import ALGORITHM_3, ALGORITHM_4, PARTY_VIEWS, PREDICT, Protocol
from dcshap.shapley.game.players import Groups, named_groups

__all__ = ["Exchange", "Requester"]

# A session's identifier and envelopes by party -> the parties' replies, and the analyst's own envelopes.
Exchange = Callable[[str, Mapping[str, bytes]], Mapping[str, list[bytes]]]


class Requester:
    """Asks for predictions and explanations of one vertical collaboration.

    Parameters
    ----------
    identity : Identity
    collaboration, run : str
        The run is the training that is asked, as `status` tells it.
    certificates : mapping of party to its certificate
    exchange : callable
        Brings envelopes to the analyst, which brings them to the parties.
    timeout : float
        Seconds that an answer may take.
    """

    def __init__(
        self,
        identity: Identity,
        collaboration: str,
        run: str,
        certificates: Mapping[str, str],
        exchange: Exchange,
        *,
        timeout: float = 30.0,
    ) -> None:
        self._identity, self._collaboration, self._run, self._exchange = identity, collaboration, run, exchange
        self._directory = {
            name: identity.check(pem, name=name) for name, pem in certificates.items() if name != ANALYST
        }
        self._timeout = timeout
        self.timings: dict[str, Any] = {}

    def explain(
        self,
        records: Sequence[Any],
        *,
        view: str = FULL,
        index: str = "owen",
        merged: bool = False,
        reference: str = "anchor",
        n_background: int = N_BACKGROUND,
        groups: Groups | None = None,
    ) -> PartyExplanation:
        """Explain the predictions of records, given by their identifiers; as `VerticalCollaboration.explain`.

        A requester does not know all columns: those in none of the `groups` are players of their own.
        """
        if index not in ("shapley", "owen"):
            raise InputError(f"`index` must be 'shapley' or 'owen'. Got {index!r}.")
        protocol = PARTY_VIEWS if index == "owen" else ALGORITHM_3 if view == FULL else ALGORITHM_4
        against: dict[str, Any] = {"reference": reference, "n_background": n_background}
        enclosure = Enclosure(groups=_by_name(groups or {}))
        return self._ask(protocol, records, enclosure=enclosure, view=view, merged=merged, **against).explanation()

    def explain_signed(
        self,
        records: Sequence[Any],
        *,
        view: str,
        reference: str = "anchor",
        openings: Sequence[str] | None = None,
        changes: Mapping[str, str] | None = None,
    ) -> tuple[PartyExplanation, list[Receipt]]:
        """One party's view of records, and the receipts that it signs of it.

        Parameters
        ----------
        records : sequence of identifiers
        view : str
            The party's name.
        reference : str
        openings : sequence of str, optional
            Of receipts that these are to be compared with; new ones by default.
        changes : mapping of column to str, optional
            Own cells of a single record as they would be; the party must allow it (`what_if`).
        """
        codes = [fresh_opening() for _ in records] if openings is None else list(openings)
        enclosure = Enclosure(tuple(codes), dict(changes or {}))
        asking = self._ask(PARTY_VIEWS, records, enclosure=enclosure, view=view, reference=reference)
        explained = asking.explanation()
        texts = asking.receipts[view]
        if len(texts) != len(codes):
            raise ProtocolError(f"Party {view!r} must sign a receipt per record. Got {len(texts)} for {len(codes)}.")
        receipts = [replace(Receipt.from_json(text), opening=code) for text, code in zip(texts, codes, strict=True)]
        for at, receipt in enumerate(receipts):
            receipt.verify()
            if (receipt.party, receipt.pem) != (view, self._directory[view].pem):
                raise ProtocolError(f"A receipt of {view!r} must be signed with its certificate. It is not.")
            require_stated(receipt, explained, sample=at)
        return explained, receipts

    def predict(self, records: Sequence[Any], *, view: str = FULL) -> Prediction:
        """Predict records: class probabilities with their classes, or numbers."""
        asking = self._ask(PREDICT, records, view=view)
        if asking.prediction is None:
            raise ProtocolError("The analyst must answer a request for a prediction. It did not.")
        return asking.prediction

    def _ask(
        self, protocol: Protocol, records: Sequence[Any], *, enclosure: Enclosure | None = None, **what: Any
    ) -> Asking:
        request = Request(
            requester=self._identity.name,
            identifier=new_identifier(),
            collaboration=self._collaboration,
            run=self._run,
            protocol=protocol.name,
            records=tuple(str(record) for record in records),
            **what,
        )
        parties = tuple(sorted(self._directory))
        cast = Cast(parties, viewers=viewers_of(request, parties))
        signed = sign_request(enclosed(request, enclosure or Enclosure()), self._identity)
        asking = Asking(signed, parties)
        office = PostOffice(REQUESTER, self._identity, self._directory)
        post = _RequesterPost(office, protocol, request.identifier, exchange=self._exchange, patience=self._timeout)
        Node(REQUESTER, protocol, cast, [asking], post).conduct()
        self.timings = {"whole": post.seconds, "parties": office.seconds}
        return asking


def _by_name(groups: Groups) -> dict[str, list[str]]:
    """Groups of columns by name, no column twice."""
    members = groups.values() if isinstance(groups, Mapping) else groups
    columns = list(dict.fromkeys(str(column) for each in members for column in each))
    return named_groups(groups, columns, what="groups", of="column")


class _RequesterPost(Post):
    """Sends all envelopes at once to the analyst, whose server brings them to the parties."""

    def __init__(self, *args: Any, exchange: Exchange, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._exchange_all = exchange
        self.seconds = 0.0

    def bring(self, step: Step, messages: Mapping[str, Message | None]) -> list[Answered]:
        """Ask all parties; what they answer, and what the analyst adds."""
        sealed, began = {to: self.sealed(step, to, message) for to, message in messages.items()}, monotonic()
        replies = self._exchange_all(self._session, sealed)
        self.seconds = monotonic() - began
        outcomes: dict[str, list[Answered] | DcshapError] = {}
        for to, asked in sealed.items():
            try:
                outcomes[to] = self._office.answers_in(b"".join(replies.get(to, [])), asked, sender=to)
            except DcshapError as error:
                outcomes[to] = error
        return all_or_error(outcomes) + [self._from_analyst(each) for each in replies.get(ANALYST, [])]

    def _from_analyst(self, sealed: bytes) -> Answered:
        envelope = open_envelope(self._office.identity, sealed, me=REQUESTER)
        about = envelope.about
        if (about.sender, about.protocol, about.session) != (ANALYST, self.protocol.name, self._session):
            raise ProtocolError("What is said to be the analyst's answer belongs to another request.")
        return Answered(ANALYST, about.step, unpack(envelope.content))
