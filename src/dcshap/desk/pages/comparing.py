"""Whether all organisations say the same: explanations of some cases side by side, or receipts of synthetic ones."""

from __future__ import annotations

import random
from http import HTTPStatus
from typing import Any

import numpy as np
from starlette.responses import Response

from dcshap.desk.accounts import Role
from dcshap.desk.cases import Compared
from dcshap.desk.routing import Pages, RefusedError, Visit
from dcshap.desk.state import Desk
from dcshap.exceptions import InputError
from dcshap.explanation.receipt import Receipt

__all__ = ["compared_now", "pages"]

pages = Pages()

SAMPLE, ASKED = 20, 5  # cases that are drawn where nobody, and where somebody has to be asked


@pages.get("/audit/agreement", Role.AUDITOR)
def agreement(desk: Desk, visit: Visit) -> Response:
    """How far all organisations' explanations of some cases differ, computed now where nobody has to be asked."""
    if desk.cases.asks_at_once:
        return _page(desk, visit)
    return _page(desk, visit, **_compared(desk, visit, SAMPLE))


@pages.post("/audit/agreement", Role.AUDITOR)
def ask_all(desk: Desk, visit: Visit) -> Response:
    """Ask every organisation for its explanations, by the usual requests."""
    if not desk.cases.asks_at_once:
        raise RefusedError.unknown()
    return _page(desk, visit, **_compared(desk, visit, ASKED))


def _compared(desk: Desk, visit: Visit, most: int) -> dict[str, Any]:
    records = desk.library.records()
    drawn = random.SystemRandom().sample(records, min(most, len(records)))
    handles = [desk.library.handle_of(record) or "" for record in drawn]
    desk.journal.record(visit.note("compared organisations", cases=handles))
    found = desk.cases.agreement(drawn) if drawn else None
    if found is None:
        return {"n": len(drawn)}
    who = [desk.named(name) for name in found.disagreement.parties]
    return {"found": found, "rows": _rows(desk, found), "n": len(drawn), "who": who}


def _rows(desk: Desk, found: Compared) -> list[Any]:
    """A row for each feature, or vertically for what each organisation holds."""
    frame = found.disagreement.to_frame().sort_values("rmse", ascending=False)
    if desk.cases.kind != "horizontal":
        frame["feature"] = [desk.named(name) for name in frame["feature"]]
    return list(frame.to_dict(orient="records"))


def compared_now(desk: Desk, visit: Visit) -> dict[str, Any] | None:
    """How far the organisations differ, as a file has it; None where somebody would have to be asked, or nobody can."""
    told = {} if desk.cases.asks_at_once else _compared(desk, visit, SAMPLE)
    if "found" not in told:
        return None
    differ = told["found"].disagreement
    figures = {"rmse": differ.rmse, "rank correlation": differ.rank_correlation}
    return {
        "cases": told["n"],
        "organisations": told["who"],
        **{name: float(value) if np.isfinite(value) else None for name, value in figures.items()},
        "contradictions": len(differ.contradictions),
        "by feature": [{"feature": row["feature"], "rmse": float(row["rmse"])} for row in told["rows"]],
    }


@pages.get("/audit/controls", Role.AUDITOR)
def own_controls(desk: Desk, visit: Visit) -> Response:
    """Receipts of synthetic cases by this organisation, for the auditors of others."""
    receipts = desk.cases.controls()
    if not receipts:
        raise RefusedError.unknown()
    desk.journal.record(visit.note("took receipts of synthetic cases"))
    named = {"Content-Disposition": f'attachment; filename="{desk.cases.party}.receipts"'}
    text = "".join(f"{each.to_json()}\n" for each in receipts)
    return Response(text, media_type="application/json", headers=named)


@pages.post("/audit/controls", Role.AUDITOR)
def compare_controls(desk: Desk, visit: Visit) -> Response:
    """Another organisation's receipts of the same synthetic cases beside this one's."""
    mine = desk.cases.controls()
    if not mine:
        raise RefusedError.unknown()
    desk.journal.record(visit.note("compared receipts of synthetic cases"))
    try:
        theirs = [Receipt.from_json(line) for line in visit.form.get("receipts", "").splitlines() if line.strip()]
        if len(theirs) != len(mine):
            raise InputError(f"The file must hold {len(mine)} receipts, as the other desk wrote it. Got {len(theirs)}.")
    except InputError as error:
        return _page(desk, visit, status=HTTPStatus.UNPROCESSABLE_ENTITY, wrong=str(error))
    compared = [desk.cases.concordance(*pair) for pair in zip(mine, theirs, strict=True)]
    sentences = [each.sentence for found in compared for each in found.findings if each.outcome != "same"]
    told: dict[str, Any] = {"theirs": desk.named(theirs[0].party), "signer": theirs[0].signer, "n": len(mine)}
    told |= {"same": sum(found.same for found in compared), "differences": list(dict.fromkeys(sentences))}
    return _page(desk, visit, controls=told)


def _page(desk: Desk, visit: Visit, *, status: HTTPStatus = HTTPStatus.OK, **told: Any) -> Response:
    nothing: dict[str, Any] = {"found": None, "rows": [], "who": [], "n": 0, "controls": None, "wrong": ""}
    return desk.renderer.page(
        visit,
        "agreement.html",
        status=status,
        vertical=desk.cases.kind != "horizontal",
        asks=desk.cases.asks_at_once,
        known=min(ASKED, len(desk.library.records())) if desk.cases.asks_at_once else 0,
        parties=[desk.named(name) for name in sorted({desk.cases.party, *desk.cases.organisations})],
        others=[desk.named(name) for name in desk.cases.organisations],
        certified=desk.cases.authority is not None,
        **(nothing | told),
    )
