"""What if: changed cases, the smallest change that turns a decision, and two cases side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

import numpy as np
from starlette.responses import Response

from dcshap._tables import plain_value
from dcshap._typing import Array, FloatArray
from dcshap.desk.accounts import Role
from dcshap.desk.cases import Outputs
from dcshap.desk.exposition import COMPARED_WITH, exposed, prediction_text, spoken
from dcshap.desk.library import WHAT_IF
from dcshap.desk.pages.casework import chosen_reference
from dcshap.desk.routing import Pages, RefusedError, Visit
from dcshap.desk.state import Case, Desk
from dcshap.desk.vocabulary import Vocabulary
from dcshap.exceptions import InputError
from dcshap.explanation.changes import Change, smallest_change
from dcshap.explanation.contrast import contrast
from dcshap.report.texts import decimals_for, fixed, signed
from dcshap.schema.columns import Category, Column, Date, Number
from dcshap.schema.typed import bounds_typed, cell_of, typed

__all__ = ["pages"]

pages = Pages()

MOST_ROWS = 20_000  # possibilities that one search for the smallest change may try


@dataclass(frozen=True)
class _Input:
    """One field of a form: a number, a date or a time within its range, or one of several categories."""

    name: str
    label: str
    value: str
    choices: tuple[str, ...] = ()
    kind: str = "number"
    low: str = ""
    high: str = ""
    note: str = ""
    changeable: bool = False


def _inputs(desk: Desk, case: Case) -> list[_Input]:
    row, schema = desk.own_row(case)
    codes = schema.codes(row[list(schema.names)], missing="reference", unknown="reference")[0]
    return [_input(desk.words, column, float(code)) for column, code in zip(schema.columns, codes, strict=True)]


def _input(words: Vocabulary, column: Column, code: float) -> _Input:
    about: dict[str, Any] = {"label": words.label(column.name), "value": typed(column, code)}
    about |= {"changeable": column.name in words.changeable}
    if isinstance(column, Category):
        return _Input(column.name, choices=tuple(map(str, column.categories)), **about)
    low, high = bounds_typed(column)
    days = isinstance(column, Date) and len(low) == len(high) == len("2026-01-31")  # a moment is typed as text
    kind = "date" if days else "number" if type(column) is Number else "text"
    outside = not np.isnan(code) and not column.low <= code <= column.high
    note = f"Is {plain_value(cell_of(column, code))}, beyond the agreed {low} to {high}." if outside else ""
    return _Input(column.name, kind=kind, low=low, high=high, note=note, **about)


def _budget(desk: Desk, visit: Visit) -> dict[str, Any]:
    left = desk.what_ifs_left(visit.known.who)
    left_of = {"left": left, "budget": desk.what_ifs, "renews": desk.budget_renews()}
    return left_of | {"at_others": desk.cases.asks_at_once}


def _require_budget(desk: Desk, visit: Visit) -> None:
    if not desk.what_ifs_left(visit.known.who):
        raise RefusedError(
            HTTPStatus.TOO_MANY_REQUESTS,
            "Today's questions are used up",
            f"You may ask {desk.what_ifs} a day. They are renewed on {desk.budget_renews()}. Nothing was lost.",
        )


@pages.get("/cases/{handle}/what-if", Role.OFFICER)
def ask_what_if(desk: Desk, visit: Visit) -> Response:
    """The form in which own features can be changed."""
    case = desk.case(visit, visit.path["handle"])
    shown: dict[str, Any] = {"shown": None, "before": None, "wrong": "", "inputs": _inputs(desk, case)}
    shown |= {"reference": chosen_reference(desk, visit)}
    desk.journal.record(visit.note("looked at data", handle=case.handle))
    return desk.renderer.page(visit, "what_if.html", case=case, **shown, **_budget(desk, visit))


@pages.post("/cases/{handle}/what-if", Role.OFFICER)
def what_if(desk: Desk, visit: Visit) -> Response:
    """Prediction and reasons as they would be."""
    case = desk.case(visit, visit.path["handle"])
    inputs = _inputs(desk, case)
    given = {each.name: visit.form.get(each.name, each.value) for each in inputs}
    changes = {each.name: given[each.name] for each in inputs if given[each.name] not in ("", each.value)}
    filled = [_Input(**(vars(each) | {"value": given[each.name]})) for each in inputs]
    _require_budget(desk, visit)
    reference = chosen_reference(desk, visit)
    told: dict[str, Any] = {"case": case, "reference": reference, "inputs": filled}
    try:
        row = desk.own_row(case)[0]
        explained = desk.cases.explain_changed(case.record, row, changes, reference=reference)
    except InputError as error:
        told |= {"shown": None, "before": None, "wrong": str(error)} | _budget(desk, visit)
        return desk.renderer.page(visit, "what_if.html", status=HTTPStatus.UNPROCESSABLE_ENTITY, **told)
    kept = desk.library.made(case.handle, explained, reference=reference, purpose=WHAT_IF)
    before = desk.library.explain(case.handle, case.record, reference=reference)[0]
    note = visit.note("what if", handle=case.handle, explanation=kept.identifier, changed=sorted(changes))
    desk.library.show([kept, before], note)
    told |= {"shown": exposed(kept, desk.words), "before": exposed(before, desk.words), "wrong": ""}
    return desk.renderer.page(visit, "what_if.html", **told, **_budget(desk, visit))


@pages.get("/cases/{handle}/smallest-change", Role.OFFICER)
def ask_smallest_change(desk: Desk, visit: Visit) -> Response:
    """The form in which changeable features are chosen."""
    case = desk.case(visit, visit.path["handle"])
    _search(desk)
    told: dict[str, Any] = {"sentence": "", "change": None, "wrong": "", "inputs": _inputs(desk, case)}
    return desk.renderer.page(visit, "smallest_change.html", case=case, **told, **_budget(desk, visit))


@pages.post("/cases/{handle}/smallest-change", Role.OFFICER)
def find_smallest_change(desk: Desk, visit: Visit) -> Response:
    """The smallest change of chosen features that turns the decision, or that there is none."""
    case = desk.case(visit, visit.path["handle"])
    decided = _search(desk)
    row, schema = desk.own_row(case)
    inputs = _inputs(desk, case)
    chosen = [each.name for each in inputs if visit.form.get(f"change:{each.name}")]
    inputs = [_Input(**(vars(each) | {"changeable": each.name in chosen})) for each in inputs]
    _require_budget(desk, visit)
    told: dict[str, Any] = {"sentence": "", "change": None, "wrong": "", "inputs": inputs}
    if not chosen:
        told["wrong"] = "Choose at least one feature that may change."
    else:
        desk.journal.record(visit.note("what if", handle=case.handle, smallest_change_of=chosen))
        change = smallest_change(
            lambda rows: _decisions(desk, decided(case.record, rows)),
            schema,
            row,
            changeable=chosen,
            max_rows=MOST_ROWS,
        )
        told |= {"change": change, "sentence": _labelled(desk, change).sentence()}
    return desk.renderer.page(visit, "smallest_change.html", case=case, **told, **_budget(desk, visit))


def _labelled(desk: Desk, change: Change) -> Change:
    """A change with columns called as people call them."""
    before, after = ({desk.words.label(n): v for n, v in each.items()} for each in (change.before, change.after))
    return replace(change, before=before, after=after)


def _search(desk: Desk) -> Outputs:
    """What the search asks, or why there is none here."""
    decided = desk.cases.decided()
    if decided is None:
        raise RefusedError(
            HTTPStatus.CONFLICT,
            "Not in a federation",
            "The search for the smallest change tries thousands of changed cases. Here each would be a request that "
            "every organisation counts, so it is not offered. Ask “what if” for the changes that you have in mind.",
        )
    return decided


def _decisions(desk: Desk, answers: FloatArray) -> Array:
    """What would be decided of the model's answers (n, K), in words."""
    values = desk.told(answers)
    line = desk.words.threshold
    return np.where(values >= line, desk.words.decision(line) or "above", desk.words.decision(-np.inf) or "below")


@pages.get("/cases/{handle}/contrast", Role.OFFICER)
def ask_contrast(desk: Desk, visit: Visit) -> Response:
    """The form in which another case is named."""
    case = desk.case(visit, visit.path["handle"])
    told: dict[str, Any] = {"rows": (), "other": "", "reference": chosen_reference(desk, visit)}
    return desk.renderer.page(visit, "contrast.html", case=case, **told)


@pages.post("/cases/{handle}/contrast", Role.OFFICER)
def show_contrast(desk: Desk, visit: Visit) -> Response:
    """What sets two cases apart."""
    case = desk.case(visit, visit.path["handle"])
    record = visit.form.get("other", "").strip()
    handle = desk.library.handle_of(record)
    if handle is None:
        raise RefusedError.unknown()
    if handle == case.handle:
        raise InputError("Name another case: this one cannot be contrasted with itself.")
    reference = chosen_reference(desk, visit)
    pair = [
        desk.library.explain(each, of, reference=reference)[0]
        for each, of in ((case.handle, case.record), (handle, record))
    ]
    notes = [visit.note("contrasted", handle=each.handle, explanation=each.identifier) for each in pair]
    desk.library.show(pair, *notes)
    words = [spoken(each.explanation, desk.words) for each in pair]
    found = contrast(*words, output=desk.words.output_among(words[0].output_names))
    decimals = decimals_for(float(found.frame["difference"].abs().max()))
    rows = [
        {
            "feature": row["feature"],
            "first": "" if row["first"] is None else plain_value(row["first"]),
            "second": "" if row["second"] is None else plain_value(row["second"]),
            "one": signed(row["contribution of first"], decimals),
            "two": signed(row["contribution of second"], decimals),
            "difference": signed(row["difference"], decimals),
        }
        for row in found.frame.to_dict(orient="records")
    ]
    percent = len(words[0].output_names) > 1
    first, second = (prediction_text(value, desk.words, percent=percent) for value in found.predictions)
    difference = fixed(found.predictions[1] - found.predictions[0], decimals)
    told: dict[str, Any] = {"rows": rows, "other": record, "first": first, "second": second, "difference": difference}
    told |= {"reference": reference, "compared_with": COMPARED_WITH.get(reference, reference)}
    return desk.renderer.page(visit, "contrast.html", case=case, **told)
