"""What an officer does with cases: list, find, look at one, give its person a code, answer reviews."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from starlette.responses import Response

from dcshap.desk.accounts import Role
from dcshap.desk.exposition import COMPARED_WITH, exposed, prediction_text
from dcshap.desk.library import Kept
from dcshap.desk.reviews import OUTCOMES
from dcshap.desk.routing import Pages, RefusedError, Visit, see
from dcshap.desk.state import Case, Desk
from dcshap.exceptions import FederationError, PrivacyError

__all__ = ["chosen_reference", "explanations_of", "pages"]

pages = Pages()

PER_PAGE = 25


@dataclass(frozen=True)
class _Listed:
    handle: str
    record: str
    prediction: str
    decision: str
    review: bool


@pages.get("/cases", Role.OFFICER)
def list_cases(desk: Desk, visit: Visit) -> Response:
    """All cases, some at a time."""
    descending = visit.query.get("order") == "down"
    sort = "prediction" if visit.query.get("sort") == "prediction" else "identifier"
    records, answers = desk.library.records(), desk.cases.predictions()
    values = None if answers is None else desk.told(answers)
    order = _order(records, values, sort, descending=descending)
    n_pages = max(1, -(-len(order) // PER_PAGE))
    asked = visit.query.get("page", "1")
    number = min(int(asked), n_pages) if asked.isascii() and asked.isdigit() and int(asked) > 0 else 1
    waiting = desk.reviews.open_handles()
    listed = [
        _listed(desk, records[at], None if values is None else float(values[at]), waiting)
        for at in order[(number - 1) * PER_PAGE : number * PER_PAGE]
    ]
    return desk.renderer.page(
        visit,
        "cases.html",
        listed=listed,
        total=len(order),
        number=number,
        n_pages=n_pages,
        sort=sort,
        order="down" if descending else "up",
        waiting=len(waiting),
    )


def _order(records: Any, values: Any, sort: str, *, descending: bool) -> list[int]:
    if sort == "prediction" and values is not None:
        order = np.argsort(values, kind="stable")
        return [int(at) for at in (order[::-1] if descending else order)]
    keyed = sorted(range(len(records)), key=lambda at: (len(records[at]), records[at]), reverse=descending)
    return list(keyed)


def _listed(desk: Desk, record: str, value: float | None, waiting: set[str]) -> _Listed:
    handle = desk.library.handle_of(record) or ""
    if value is None:
        return _Listed(handle, record, "", "", handle in waiting)
    prediction = prediction_text(value, desk.words, percent=len(desk.cases.output_names) > 1)
    return _Listed(handle, record, prediction, desk.words.decision(value), handle in waiting)


@pages.post("/cases/find", Role.OFFICER)
def find_case(desk: Desk, visit: Visit) -> Response:
    """Find a case by its identifier, which travels in the form and not in the address."""
    handle = desk.library.handle_of(visit.form.get("identifier", "").strip())
    if handle is None:
        raise RefusedError.unknown()
    return see(f"/cases/{handle}")


@pages.get("/cases/{handle}", Role.OFFICER)
def show_case(desk: Desk, visit: Visit) -> Response:
    """One case: prediction, reasons, bars, numbers, and what there is to do."""
    case = desk.case(visit, visit.path["handle"])
    return case_page(desk, visit, case)


def case_page(desk: Desk, visit: Visit, case: Case, **told: Any) -> Response:
    """The page of a case, with what there is to tell beside it."""
    reference = chosen_reference(desk, visit)
    others = () if desk.cases.kind == "horizontal" else desk.cases.organisations
    note = visit.note("opened an answer", handle=case.handle)
    enquiries = desk.enquiries.collected(case.handle, note) if others else []
    kept, trouble = explanations_of(desk, case, reference)
    desk.library.show(
        kept,
        *(visit.note("looked", handle=case.handle, explanation=each.identifier, compared=reference) for each in kept),
    )
    return desk.renderer.page(
        visit,
        "case.html",
        case=case,
        shown=[_shown(desk, each, several=len(kept) > 1) for each in kept],
        trouble=trouble,
        newest=kept[0],
        reference=reference,
        references=[(kind, COMPARED_WITH.get(kind, kind)) for kind in desk.cases.references],
        searches=desk.cases.decided() is not None,
        reviews=desk.reviews.of(case.handle),
        organisations=others,
        enquiries=enquiries,
        keys={each.organisation: desk.correspondents.fingerprint(each.organisation) for each in enquiries},
        own_fingerprint="" if desk.cases.asks_at_once else desk.correspondents.own_fingerprint,
        outcomes=OUTCOMES,
        **({"code": "", "link": ""} | told),
    )


def _shown(desk: Desk, kept: Kept, *, several: bool) -> Markup:
    """An explanation as it stands on the page: drawn once, as it never changes."""
    old = kept.run != desk.cases.run
    return desk.renderer.part(
        (kept.identifier, old, several),
        "shown.html",
        lambda: {"each": exposed(kept, desk.words), "old": old, "several": several},
    )


def chosen_reference(desk: Desk, visit: Visit) -> str:
    """What the visitor wants a case to be compared with; the usual where they do not say."""
    wanted = visit.query.get("compared") or visit.form.get("compared", "")
    return wanted if wanted in desk.cases.references else desk.cases.references[0]


def explanations_of(desk: Desk, case: Case, reference: str) -> tuple[list[Kept], str]:
    """A case's explanation by the model of now and those shown before; where nobody answers, those and why."""
    try:
        found = desk.library.explain(case.handle, case.record, reference=reference)
    except (FederationError, PrivacyError) as error:
        before = desk.library.shown_before(case.handle, reference=reference)
        if not before:
            raise
        return before, str(error)
    desk.require_output(found[0].explanation.output_names)  # in a federation nobody could tell before
    return found, ""


@pages.post("/cases/{handle}/code", Role.OFFICER)
def give_code(desk: Desk, visit: Visit) -> Response:
    """A one-time code for the person concerned, told once."""
    case = desk.case(visit, visit.path["handle"])
    with desk.database.write() as connection:
        code = desk.accounts.issue_code(connection, case.handle)
        desk.journal.append(connection, visit.note("gave a code", handle=case.handle))
    return case_page(desk, visit, case, code=code, link=f"{visit.origin}/code/{code}")


@pages.get("/reviews", Role.OFFICER)
def list_reviews(desk: Desk, visit: Visit) -> Response:
    """What persons concerned have asked for."""
    found = [(each, desk.library.record_of(each.handle) or "") for each in desk.reviews.all()]
    found.sort(key=lambda pair: (pair[0].outcome != "", pair[0].asked))
    return desk.renderer.page(visit, "reviews.html", reviews=found, outcomes=OUTCOMES)


@pages.post("/cases/{handle}/reviews/{review}", Role.OFFICER)
def answer_review(desk: Desk, visit: Visit) -> Response:
    """Close a review with its outcome."""
    case = desk.case(visit, visit.path["handle"])
    identifier, outcome = visit.path["review"], visit.form.get("outcome", "")
    if identifier not in {each.identifier for each in desk.reviews.of(case.handle)}:
        raise RefusedError.unknown()
    note = visit.note("answered a review", handle=case.handle, outcome=outcome, review=identifier)
    desk.reviews.answer(identifier, outcome, visit.form.get("answer", ""), note)
    return see(f"/cases/{case.handle}")
