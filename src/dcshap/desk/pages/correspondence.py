"""Between organisations: asking for specific reasons, and releasing one's own."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from dcshap.desk.accounts import Role
from dcshap.desk.enquiries import Letter
from dcshap.desk.exposition import MOST_REASONS, spoken
from dcshap.desk.routing import Pages, RefusedError, Visit, see
from dcshap.desk.state import Desk
from dcshap.exceptions import InputError
from dcshap.shapley.reasons import Reason

__all__ = ["pages"]

pages = Pages()


@pages.post("/cases/{handle}/ask", Role.OFFICER)
def ask_organisation(desk: Desk, visit: Visit) -> Response:
    """Ask another organisation for its specific reasons."""
    case = desk.case(visit, visit.path["handle"])
    organisation = visit.form.get("organisation", "")
    if organisation not in desk.cases.organisations:
        raise RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, "Nobody to ask", "No such organisation takes part here.")
    hidden = [desk.words.label(name) for name in desk.sensitive] if desk.cases.asks_at_once else []
    note = visit.note("asked", handle=case.handle, organisation=organisation)
    identifier = desk.enquiries.ask(case.handle, case.record, organisation, note)
    if desk.cases.asks_at_once:
        theirs = desk.cases.explain(case.record, reference=desk.cases.references[0], view=organisation)
        words = spoken(theirs.explanation, desk.words)
        reasons = words.reasons(MOST_REASONS, output=desk.words.output_among(words.output_names), without=hidden)
        sentences = [reason.sentence for reason in reasons if not reason.party]
        desk.enquiries.keep_answer(identifier, sentences, visit.note("was answered", handle=case.handle))
    return see(f"/cases/{case.handle}#enquiries")


@pages.post("/cases/{handle}/answer", Role.OFFICER)
def open_answer(desk: Desk, visit: Visit) -> Response:
    """Open an answer that another organisation sealed for this desk."""
    case = desk.case(visit, visit.path["handle"])
    note = visit.note("opened an answer", handle=case.handle)
    desk.enquiries.open_answer(case.handle, visit.form.get("sealed", ""), note)
    return see(f"/cases/{case.handle}#enquiries")


@dataclass(frozen=True)
class _Arrived:
    sender: str
    record: str
    text: str


@pages.get("/requests", Role.OFFICER)
def list_requests(desk: Desk, visit: Visit) -> Response:
    """Requests of other organisations that have arrived."""
    return _requests_page(desk, visit)


def _requests_page(desk: Desk, visit: Visit, **told: Any) -> Response:
    letters = [_Arrived(letter.sender, letter.record, text) for letter, text in desk.enquiries.letters()]
    nothing: dict[str, Any] = {"sealed": "", "delivered": False, "reasons": None, "letter": None, "text": ""}
    nothing |= {"own_fingerprint": desk.correspondents.own_fingerprint}
    return desk.renderer.page(visit, "requests.html", letters=letters, **(nothing | told))


@pages.post("/requests/read", Role.OFFICER)
def read_request(desk: Desk, visit: Visit) -> Response:
    """What would be released: the reasons that lie in this organisation's own columns."""
    text = visit.form.get("request", "")
    letter = Letter.read(text)
    known = desk.correspondents.fingerprint(letter.sender) is not None
    fingerprint, reasons = _own_reasons(desk, visit, letter, act="looked")
    told = {"reasons": reasons, "letter": letter, "text": text, "fingerprint": fingerprint, "known": known}
    return _requests_page(desk, visit, **told)


@pages.post("/requests/release", Role.OFFICER)
def release(desk: Desk, visit: Visit) -> Response:
    """Seal the reasons to whoever asked."""
    letter = Letter.read(visit.form.get("request", ""))
    fingerprint, reasons = _own_reasons(desk, visit, letter, act="released reasons")
    desk.correspondents.remember(letter.sender, fingerprint)
    sealed = letter.sealed([reason.sentence for reason in reasons], desk.correspondents)
    delivered = desk.enquiries.mail.send(letter.sender, letter.identifier, sealed)
    return _requests_page(desk, visit, sealed=sealed, delivered=delivered)


def _own_reasons(desk: Desk, visit: Visit, letter: Letter, *, act: str) -> tuple[str, tuple[Reason, ...]]:
    """The fingerprint of the sender's key, and the principal reasons in this organisation's own columns.

    Nothing is said of a column marked as sensitive.
    """
    if letter.recipient != desk.cases.party or letter.sender not in desk.cases.organisations:
        raise InputError("This request is not from an organisation of this collaboration to yours.")
    hidden = [desk.words.label(name) for name in desk.sensitive]
    fingerprint = desk.correspondents.require(
        letter.sender, letter.content, pem=letter.signer, signature=letter.signature
    )
    handle = desk.library.handle_of(letter.record)
    if handle is None:
        raise RefusedError.unknown()
    if letter.run != desk.cases.run:
        raise InputError("This request is about another training than the one that is used here: ask for a new one.")
    kept = desk.library.explain(handle, letter.record, reference=desk.cases.references[0])[0]
    note = visit.note(act, handle=handle, explanation=kept.identifier, organisation=letter.sender)
    desk.library.show([kept], note)
    words = spoken(kept.explanation, desk.words)
    return fingerprint, words.reasons(
        MOST_REASONS,
        output=desk.words.output_among(words.output_names),
        outcome=desk.words.subject_in() or None,
        without=[*hidden, *words.bars],
    )
