"""What the person concerned sees and does: their own case, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from starlette.responses import Response

from dcshap._tables import plain_value, row_cells
from dcshap.desk.accounts import Role
from dcshap.desk.exposition import exposed
from dcshap.desk.library import Kept
from dcshap.desk.pages.casework import explanations_of
from dcshap.desk.reviews import OUTCOMES
from dcshap.desk.routing import Pages, Visit, see
from dcshap.desk.state import Case, Desk

__all__ = ["own_case", "pages"]

pages = Pages()


def own_case(desk: Desk, visit: Visit) -> Case:
    """The case of the person who has come in."""
    return desk.case(visit, visit.known.handle)


@pages.get("/mine", Role.PERSON)
def show_own(desk: Desk, visit: Visit) -> Response:
    """The person's own case, in words for lay readers."""
    case = own_case(desk, visit)
    kept, _ = explanations_of(desk, case, desk.cases.references[0])
    desk.library.show(
        kept,
        *(
            visit.note("looked", handle=case.handle, explanation=each.identifier, compared=each.reference)
            for each in kept
        ),
    )
    shown = [exposed(each, desk.words, without=_unspoken(desk, each)) for each in kept]
    return desk.renderer.page(
        visit,
        "mine.html",
        shown=shown,
        current=desk.cases.run,
        reviews=desk.reviews.of(case.handle),
        outcomes=OUTCOMES,
        sent=visit.query.get("sent") == "yes",
    )


def _unspoken(desk: Desk, kept: Kept) -> Collection[str]:
    """The columns that are not named as reasons: all own ones, while nobody has said which are sensitive."""
    return desk.sensitive if desk.knows_sensitive else kept.explanation.own_features


@pages.get("/mine/data", Role.PERSON)
def own_data(desk: Desk, visit: Visit) -> Response:
    """The data that were used, as a file for people and machines."""
    case = own_case(desk, visit)
    kept = explanations_of(desk, case, desk.cases.references[0])[0][0]
    desk.library.show([kept], visit.note("downloaded data", handle=case.handle, explanation=kept.identifier))
    explanation = kept.explanation
    cells = row_cells(explanation.data, 0, explanation.own_features)
    content: dict[str, Any] = {
        "organisation": desk.words.organisation or desk.cases.party,
        "case": case.record,
        "data": {desk.words.label(str(name)): plain_value(cell) for name, cell in cells.items()},
        "held by others": [
            {"organisation": desk.words.about(party).name, "kind of data": desk.words.about(party).category}
            for parties in explanation.bars.values()
            for party in parties
        ],
    }
    text = json.dumps(content, ensure_ascii=False, indent=1)
    named = {"Content-Disposition": 'attachment; filename="my-data.json"'}
    return Response(text, media_type="application/json; charset=utf-8", headers=named)


@pages.post("/mine/review", Role.PERSON)
def ask_for_review(desk: Desk, visit: Visit) -> Response:
    """Ask for human review, or contest the decision."""
    case, kind = own_case(desk, visit), visit.form.get("kind", "")
    act = "contested" if kind == "contest" else "asked for review"
    desk.reviews.ask(case.handle, kind, visit.form.get("words", ""), visit.note(act, handle=case.handle))
    return see("/mine?sent=yes")
