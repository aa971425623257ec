"""What an operator sees: whether the desk and the federation behind it are well. No case."""

from __future__ import annotations

from starlette.responses import Response

from dcshap.desk.accounts import Role
from dcshap.desk.routing import Pages, Visit
from dcshap.desk.state import Desk

__all__ = ["pages"]

pages = Pages()


@pages.get("/operator", Role.OPERATOR)
def operations(desk: Desk, visit: Visit) -> Response:
    """State of the desk and of the federation."""
    number, head = desk.journal.head()
    sessions = desk.accounts.open_sessions()
    tables = [
        ("The desk", [("party", desk.cases.party), ("kind", desk.cases.kind), ("model in use", desk.cases.run[:12])]),
        ("The federation", desk.cases.state()),
        ("The journal", [("lines", f"{number:,}"), ("last code", head[:16])]),
        ("Open sessions", sorted(sessions.items())),
        ("Accounts", sorted(desk.accounts.roles().items())),
        ("Database", [("kind", "PostgreSQL" if desk.database.postgresql else "SQLite")]),
    ]
    return desk.renderer.page(visit, "operator.html", tables=tables)
