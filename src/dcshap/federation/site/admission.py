"""Who may ask a party for what: a request is let in, its records are found, and what it takes is charged."""

from __future__ import annotations

from dcshap.collaboration.messages import REQUESTER
from dcshap.collaboration.party import FULL
from dcshap.collaboration.records import Records
from dcshap.exceptions import InputError, PrivacyError, ProtocolError
from dcshap.explanation.disclosures import Answer, Request
from dcshap.federation.seals.envelopes import Envelope
from dcshap.federation.seals.identity import Identity
from dcshap.federation.seals.ledger import Entry, Ledger
from dcshap.federation.seals.post import Record
from dcshap.federation.seals.requests import verify_request
from dcshap.federation.site.configuration import SiteConfig
from dcshap.protocol.steps import ALGORITHM_3, ALGORITHM_4

__all__ = ["Admission", "viewers_of"]


def viewers_of(request: Request, parties: tuple[str, ...]) -> tuple[str, ...]:
    """The parties through whose eyes a request wants an explanation.

    Raises
    ------
    InputError
        If the request asks for something that there is not.
    """
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
    """A party's rules for requests.

    Parameters
    ----------
    config : SiteConfig
    collaboration : str
    identity : Identity
    ledger : Ledger
    """

    def __init__(self, config: SiteConfig, collaboration: str, identity: Identity, ledger: Ledger) -> None:
        self._config, self._collaboration, self._identity, self._ledger = config, collaboration, identity, ledger

    def require(self, request: Request, envelope: Envelope, *, run: str) -> None:
        """Refuse a request that its author has not signed, is meant for another session, or has no right to."""
        verify_request(request, self._identity)
        if envelope.about.sender == REQUESTER and envelope.author.name != request.requester:
            raise ProtocolError(f"A request of {request.requester!r} was brought by {envelope.author.name!r}.")
        if (request.identifier, request.protocol) != (envelope.about.session, envelope.about.protocol):
            raise ProtocolError("A request must come in the session, and for the protocol, that it was signed for.")
        if request.collaboration != self._collaboration:
            raise ProtocolError("A request for another collaboration arrived.")
        if request.run != run:
            raise ProtocolError(
                f"Party {self._config.party!r} uses another training than the one that is asked: its state and the "
                f"analyst's differ. Run `dcshap federation serve`, or train again."
            )
        right = self._config.right(request.requester, request.view)
        # What could not be answered in the end is refused before anybody discloses anything for it.
        entry = Entry(
            request.requester,
            Answer.__name__,
            0,
            request=request.identifier,
            requester=request.requester,
            n_records=len(request.records),
        )
        self._ledger.require_budget(entry, budget=right.budget, days=self._config.budget_days)

    def viewers(self, request: Request, parties: tuple[str, ...]) -> tuple[str, ...]:
        """The parties through whose eyes a request wants an explanation."""
        return viewers_of(request, parties)

    def records(self, request: Request, held: Records) -> Records:
        """The party's columns of the records that are asked for."""
        lacking = held.lacking(request.records)
        if lacking:
            raise InputError(
                f"Party {self._config.party!r} must hold the records that are asked for. It lacks {lacking} of "
                f"{len(request.records)}."
            )
        return held.select(request.records)

    def charging(self, request: Request) -> Record:
        """Write a line to the ledger and charge the requester's budget with it, or refuse."""
        right, days = self._config.right(request.requester, request.view), self._config.budget_days

        def charge(entry: Entry) -> None:
            if not entry.n_records:
                raise PrivacyError("What is sent for a request must count against its author's budget.")
            if entry.kind == Request.__name__:  # forwarding a request discloses nothing
                self._ledger.append(Entry(entry.recipient, entry.kind, entry.n_bytes, request=entry.request))
            else:
                self._ledger.charge(entry, budget=right.budget, days=days)

        return charge
