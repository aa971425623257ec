"""Receipts: a file for every explanation shown, and a page that compares two of them."""

from __future__ import annotations

from http import HTTPStatus

from starlette.responses import Response

from dcshap.desk.accounts import Role
from dcshap.desk.routing import Pages, RefusedError, Visit
from dcshap.desk.state import Desk
from dcshap.exceptions import InputError
from dcshap.explanation.receipt import Receipt

__all__ = ["pages"]

pages = Pages()


@pages.get("/explanations/{identifier}/receipt", Role.OFFICER, Role.AUDITOR)
def receipt_file(desk: Desk, visit: Visit) -> Response:
    """The receipt of an explanation that was shown: it shows nothing of the case."""
    kept = desk.library.get(visit.path["identifier"])
    if kept is None or not kept.receipt:
        raise RefusedError.unknown()
    desk.journal.record(visit.note("took a receipt", handle=kept.handle, explanation=kept.identifier))
    named = {"Content-Disposition": f'attachment; filename="receipt-{kept.code}.json"'}
    return Response(kept.receipt + "\n", media_type="application/json", headers=named)


@pages.post("/explanations/{identifier}/receipt", Role.OFFICER)
def receipt_under(desk: Desk, visit: Visit) -> Response:
    """A receipt of the same explanation under the opening of another organisation's, so that they can be compared."""
    kept = desk.library.get(visit.path["identifier"])
    record = None if kept is None else desk.library.record_of(kept.handle)
    if kept is None or record is None:
        raise RefusedError.unknown()
    receipt = desk.cases.receipt(record, kept.explanation, opening=visit.form.get("opening", ""))
    if receipt is None:
        raise RefusedError.unknown()
    desk.journal.record(visit.note("issued a receipt", handle=kept.handle, explanation=kept.identifier))
    named = {"Content-Disposition": f'attachment; filename="receipt-{receipt.code}.json"'}
    return Response(receipt.to_json() + "\n", media_type="application/json", headers=named)


@pages.get("/receipts", Role.OFFICER, Role.AUDITOR)
def ask_for_receipts(desk: Desk, visit: Visit) -> Response:
    """The form that takes two receipts."""
    return desk.renderer.page(visit, "receipts.html", wrong="", findings=(), same=False)


@pages.post("/receipts", Role.OFFICER, Role.AUDITOR)
def compare_receipts(desk: Desk, visit: Visit) -> Response:
    """Whether two receipts state the same explanation, or what differs."""
    try:
        found = desk.cases.concordance(*(Receipt.from_json(visit.form.get(name, "")) for name in ("one", "other")))
    except InputError as error:
        told = {"wrong": str(error), "findings": (), "same": False}
        return desk.renderer.page(visit, "receipts.html", status=HTTPStatus.UNPROCESSABLE_ENTITY, **told)
    return desk.renderer.page(visit, "receipts.html", wrong="", findings=found.findings, same=found.same)
