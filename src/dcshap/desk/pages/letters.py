"""Decision notices: on the page, as HTML and as PDF, for the officer and for the person concerned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from starlette.responses import Response

from dcshap.desk.accounts import Role
from dcshap.desk.exposition import spoken
from dcshap.desk.library import Kept
from dcshap.desk.notice import Case as Decided
from dcshap.desk.notice import Notice, notice
from dcshap.desk.pages.casework import explanations_of
from dcshap.desk.pages.visitor import own_case
from dcshap.desk.routing import Pages, RefusedError, Visit
from dcshap.desk.state import Case, Desk
from dcshap.explanation.receipt import Receipt
from dcshap.languages import LANGUAGES

__all__ = ["pages"]

pages = Pages()


@pages.get("/cases/{handle}/notice/{language}", Role.OFFICER)
def letter(desk: Desk, visit: Visit) -> Response:
    """The letter about a case, on a page."""
    case = desk.case(visit, visit.path["handle"])
    return _page(desk, visit, case, base=f"/cases/{case.handle}/notice", back=f"/cases/{case.handle}")


@pages.get("/cases/{handle}/notice/{language}/{form}", Role.OFFICER)
def letter_file(desk: Desk, visit: Visit) -> Response:
    """The letter about a case, as a file."""
    return _file(desk, visit, desk.case(visit, visit.path["handle"]))


@pages.get("/mine/notice/{language}", Role.PERSON)
def own_letter(desk: Desk, visit: Visit) -> Response:
    """The letter about the person's own case, on a page."""
    return _page(desk, visit, own_case(desk, visit), base="/mine/notice", back="/mine")


@pages.get("/mine/notice/{language}/{form}", Role.PERSON)
def own_letter_file(desk: Desk, visit: Visit) -> Response:
    """The letter about the person's own case, as a file."""
    return _file(desk, visit, own_case(desk, visit))


def _page(desk: Desk, visit: Visit, case: Case, *, base: str, back: str) -> Response:
    written = _written(desk, visit, case)
    told: dict[str, Any] = {"notice": written, "letter_language": written.language, "base": base, "back": back}
    return desk.renderer.page(visit, "notice.html", **told)


def _file(desk: Desk, visit: Visit, case: Case) -> Response:
    form = visit.path["form"]
    if form not in ("pdf", "html"):
        raise RefusedError.unknown()
    written = _written(desk, visit, case)
    content: bytes = written.pdf(font=desk.font) if form == "pdf" else written.html.encode()
    media = "application/pdf" if form == "pdf" else "text/html; charset=utf-8"
    named = {"Content-Disposition": f'attachment; filename="notice-{written.language}.{form}"'}
    return Response(content, media_type=media, headers=named)


def _written(desk: Desk, visit: Visit, case: Case) -> Notice:
    """The letter in the language that was asked for; that it was written is recorded first."""
    language = visit.path["language"]
    if language not in LANGUAGES:
        raise RefusedError.unknown()
    hidden = desk.sensitive  # refused before anything is recorded
    kept = explanations_of(desk, case, desk.cases.references[0])[0][0]
    desk.library.show(
        [kept], visit.note("wrote a letter", handle=case.handle, explanation=kept.identifier, language=language)
    )
    return notice(_decided(desk, case, kept, language, hidden=hidden), language=language)


def _decided(desk: Desk, case: Case, kept: Kept, language: str, *, hidden: Sequence[str]) -> Decided:
    words = desk.words
    explanation = spoken(kept.explanation, words, language)
    output = words.output_among(explanation.output_names)
    at = int(explanation.chosen_outputs(output)[0])
    organisation = words.organisation or desk.cases.party
    others = [words.about(party, language) for party in desk.cases.organisations]
    return Decided(
        identifier=case.record,
        decided=date.fromisoformat(kept.made[:10]),
        decision=words.decision(float(explanation.predictions.reshape(-1)[at]), language),
        organisation=organisation,
        recipient="",
        contact=words.contact,
        explanation=explanation,
        output=output,
        outcome=words.subject_in(language) or None,
        sensitive=[words.label(name, language) for name in hidden],
        contributors={organisation: words.category_in(language)} | {each.name: str(each.category) for each in others},
        line=words.threshold,
        days=words.days,
        authority=words.authority,
        receipt=replace(Receipt.from_json(kept.receipt), opening=kept.opening) if kept.receipt else None,
    )
