"""Who may ask a party for what: a request is let in, its records are found, and what it takes is charged."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace

from dcshap.collaboration.messages import REQUESTER, Message, RecordRepresentation
from dcshap.collaboration.noise import text_digests
from dcshap.collaboration.party import FULL
from dcshap.collaboration.vertical_party import VerticalParty
from dcshap.exceptions import DcshapError, InputError, PrivacyError, ProtocolError, UnanswerableError
from dcshap.explanation.disclosures import RecordOffsets, RecordVectors, Request
from dcshap.explanation.enclosure import enclosure_of, own_groups, require_what_if, without_enclosure
from dcshap.federation.seals.envelopes import Envelope
from dcshap.federation.seals.identity import Identity
from dcshap.federation.seals.ledger import Entry, Ledger
from dcshap.federation.seals.post import Post, Record
from dcshap.federation.seals.requests import verify_request
from dcshap.federation.site.configuration import CollaborationConfig, SiteConfig
from dcshap.protocol import Answered, Cast, Step
from dcshap.protocol.steps import ALGORITHM_3, ALGORITHM_4, PREDICT, asking

__all__ = ["Admission", "AskedPost", "Declining", "viewers_of"]

ASKED = "Asked"  # the ledger's line of a request that was let in, and charged


def viewers_of(request: Request, parties: tuple[str, ...]) -> tuple[str, ...]:
    """The parties through whose eyes a request wants an explanation; refuses what there is not."""
    if not request.records or len(set(request.records)) < len(request.records):
        raise InputError("A request must name at least one record, and each once.")
    if request.view not in (FULL, *parties):
        raise InputError(f"`view` must be {FULL!r} or one of {sorted(parties)}. Got {request.view!r}.")
    one_party = {ALGORITHM_3.name: False, ALGORITHM_4.name: True}.get(request.protocol)
    if one_party is not None and one_party != (request.view != FULL):
        raise InputError(f"{request.protocol.capitalize()} answers for {'one party' if one_party else 'all parties'}.")
    if request.merged and request.protocol != ALGORITHM_4.name:
        raise InputError("`merged` belongs to Algorithm 4: one party's view, with index='shapley'.")
    return parties if request.view == FULL else (request.view,)


class Admission:
    """A trained party's rules for one request, as its configuration has them now."""

    def __init__(
        self, config: SiteConfig, identity: Identity, ledger: Ledger, party: VerticalParty, request: Request
    ) -> None:
        self._config, self._identity, self._ledger = config, identity, ledger
        self._party, self._request = party, request
        self._digests = tuple(
            digest.tobytes().hex() for digest in text_digests(request.records, private_seed=party.private_seed)
        )

    def admit(self, envelope: Envelope, cast: Cast, *, collaboration: str) -> None:
        """Charge a request that this party lets in; refuse one that its author has not signed, or has no right to.

        Which records it names plays no part in this, and whether there are any shows in nothing that follows.
        """
        request, settings = self._request, self._config.collaboration(collaboration)
        self._require_meant(envelope, collaboration)
        _require_agreed(request, settings)
        right = self._config.right(request.requester, request.view)
        if enclosure_of(request).changes:
            require_what_if(request, self._party.name, allowed=right.what_if)
        own_groups(request, self._party.agreement.schema.names, party=self._party.name)
        sent = _disclosing(request, cast, self._party.name)
        for _, recipients in sent:
            for recipient in recipients:
                self._ledger.require_room(self._entry(recipient), limit=self._limit(recipient, settings))
        charge = replace(self._entry(request.requester), units=len(request.records) * len(sent))
        self._ledger.charge(charge, budget=right.budget, days=self._config.budget_days)

    def _require_meant(self, envelope: Envelope, collaboration: str) -> None:
        request, about = self._request, envelope.about
        verify_request(request, self._identity)
        if about.sender == REQUESTER and envelope.author.name != request.requester:
            raise ProtocolError(f"A request of {request.requester!r} was brought by {envelope.author.name!r}.")
        if (request.identifier, request.protocol) != (about.session, about.protocol):
            raise ProtocolError("A request must come in the session, and for the protocol, that it was signed for.")
        if request.collaboration != collaboration:
            raise ProtocolError("A request for another collaboration arrived.")
        if request.run != self._party.run:
            raise ProtocolError(
                f"Party {self._party.name!r} uses another training than the one that is asked: its state and the "
                f"analyst's differ. A party that was just started catches up by itself; otherwise run "
                f"`dcshap federation serve`, or train again."
            )

    def recording(self, collaboration: str) -> Record:
        """Write a line to the ledger before something leaves, or refuse what another party is not to be told."""
        settings = self._config.collaboration(collaboration)

        def record(entry: Entry) -> None:
            if entry.kind == Request.__name__:  # forwarding a request discloses nothing
                self._ledger.append(replace(entry, n_records=0))
            else:
                told = self._digests if entry.kind == RecordVectors.__name__ else ()
                limit = self._limit(entry.recipient, settings)
                self._ledger.disclose(replace(entry, records=told), limit=limit)

        return record

    def _limit(self, recipient: str, settings: CollaborationConfig) -> int:
        """Of how many records a recipient may be told vectors; they are sent to other parties."""
        known = recipient in settings.partners
        return settings.records_per_recipient(self._party.agreement) if known else sys.maxsize

    def _entry(self, recipient: str) -> Entry:
        request = self._request
        entry = Entry(recipient, ASKED, 0, request=request.identifier, requester=request.requester)
        return replace(entry, n_records=len(request.records), records=self._digests)


def _require_agreed(request: Request, settings: CollaborationConfig) -> None:
    """Refuse what this party has not agreed to, whoever asks."""
    if request.protocol == ALGORITHM_3.name and not settings.algorithm_3:
        raise PrivacyError(
            "Algorithm 3 tells the analyst what decodes training rows, so every party must agree to it: set "
            "`algorithm_3` in its configuration, or ask for party views (index='owen')."
        )
    if request.protocol != PREDICT.name and request.reference not in settings.references:
        raise PrivacyError(
            f"A requester may compare with {list(settings.references)} here. Got {request.reference!r}. `references` "
            f"in a party's configuration allows more."
        )


def _disclosing(request: Request, cast: Cast, me: str) -> list[tuple[Step, list[str]]]:
    """The steps in which a party discloses something for a request, and to whom."""
    steps = [step for step in asking(request.protocol) if step.message is not Request]
    sent = [(step, [to for sender, to in cast.pairs(step) if sender == me]) for step in steps]
    return [(step, recipients) for step, recipients in sent if recipients]


class Declining:
    """Stands for a party that cannot answer for the records, and whose replies do not say so before the others' do.

    It forwards a request that the others cannot answer either, for it is not signed: whoever carries the messages sees
    the same ones, of the same sizes, whichever party it is that lacks a record.
    """

    def __init__(self, request: Request, party: VerticalParty) -> None:
        self._party = party
        self._unsigned = replace(without_enclosure(request), signature=bytes(len(request.signature)))

    def receive_request(self, message: Request) -> None:
        """The request, refused for the same groups of columns as by a party that has the records."""
        own_groups(message, self._party.agreement.schema.names, party=self._party.name)

    def send_forward(self, to: str) -> Request:  # noqa: ARG002 - all are sent the same
        """The request, without what would have it answered."""
        return self._unsigned

    def receive_forward(self, message: Request) -> None:  # noqa: ARG002
        """Another party's view needs this one's vectors."""
        raise UnanswerableError

    def send_columns(self, to: str) -> RecordOffsets:  # noqa: ARG002
        """Nothing is sent."""
        raise UnanswerableError

    def send_asked_records(self, to: str) -> RecordRepresentation:  # noqa: ARG002
        """Nothing is sent."""
        raise UnanswerableError


class AskedPost(Post):
    """The carrier of a request's session at a party, which may be `declining`: it cannot answer.

    Where a partner cannot answer, or this party itself, the requester is told the same.
    """

    declining = False

    def bring(self, step: Step, messages: Mapping[str, Message | None]) -> list[Answered]:
        """Ask the others; who of them cannot answer is not said."""
        try:
            return super().bring(step, messages)
        except DcshapError as error:
            if self.declining or isinstance(error, UnanswerableError):
                raise UnanswerableError from None
            raise
