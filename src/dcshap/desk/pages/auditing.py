"""What an auditor sees: the journal, budgets, reviews, and all of it as a file."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from dcshap.desk.accounts import Role
from dcshap.desk.journal import Line, now
from dcshap.desk.pages.comparing import compared_now
from dcshap.desk.reviews import OUTCOMES, Review
from dcshap.desk.routing import Pages, Visit
from dcshap.desk.state import Desk

__all__ = ["pages"]

pages = Pages()

NEWEST = 200
VIEWS = ("looked", "what if", "contrasted", "wrote a letter")


def _used_today(lines: list[Line]) -> dict[str, int]:
    today = datetime.now(UTC).date().isoformat()
    return dict(Counter(line.who for line in lines if line.act == "what if" and line.at.startswith(today)))


@pages.get("/audit", Role.AUDITOR)
def overview(desk: Desk, visit: Visit) -> Response:
    """The journal's chain, budgets, reviews, and what the audit found."""
    desk.journal.record(visit.note("audited"))
    lines, broken = desk.journal.lines(), desk.journal.verify()
    return desk.renderer.page(
        visit,
        "audit.html",
        broken=broken,
        lines=len(lines),
        head=lines[-1].digest,
        views=sum(line.act in VIEWS for line in lines),
        budgets=_used_today(lines),
        budget=desk.what_ifs,
        reviews=desk.reviews.all(),
        outcomes=OUTCOMES,
        audit=desk.audit,
    )


@pages.get("/audit/journal", Role.AUDITOR)
def show_journal(desk: Desk, visit: Visit) -> Response:
    """Who looked at which explanation when, the newest first, some at a time."""
    desk.journal.record(visit.note("read the journal"))
    before = visit.query.get("before", "")
    known = before.isascii() and before.isdigit() and len(before) < 16
    lines = desk.journal.lines(newest=NEWEST, before=int(before) if known else None)
    told: dict[str, Any] = {"lines": lines[::-1], "total": desk.journal.head()[0], "broken": desk.journal.verify()}
    told |= {"older": lines[0].number if lines and lines[0].number > 1 else None, "earlier": known}
    return desk.renderer.page(visit, "journal.html", **told)


def _without_words(review: Review) -> dict[str, str]:
    """A review without its free text, in which people say who they are."""
    return {name: value for name, value in asdict(review).items() if name not in ("words", "answer")}


@pages.get("/audit/export", Role.AUDITOR)
def export(desk: Desk, visit: Visit) -> Response:
    """What an auditor sees, as one file; the free text of reviews stays on the desk."""
    agreement = compared_now(desk, visit)
    desk.journal.record(visit.note("exported"))
    lines = desk.journal.lines()
    content: dict[str, Any] = {
        "organisation": desk.words.organisation or desk.cases.party,
        "written": now(),
        "chain": desk.journal.verify() or "whole",
        "journal": [asdict(line) for line in lines],
        "reviews": [_without_words(review) for review in desk.reviews.all()],
        "budgets": {"used today": _used_today(lines), "of": desk.what_ifs},
        "receipts": desk.library.receipts(),
        "audit": desk.audit,
        "agreement": agreement,
    }
    named = {"Content-Disposition": 'attachment; filename="desk-audit.json"'}
    text = json.dumps(content, ensure_ascii=False, indent=1)
    return Response(text, media_type="application/json; charset=utf-8", headers=named)
