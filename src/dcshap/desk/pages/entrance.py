"""Coming in and going out: passwords, one-time codes, launch tokens."""

from __future__ import annotations

import math
import secrets
from http import HTTPStatus

from starlette.responses import Response

from dcshap.desk.accounts import Role
from dcshap.desk.routing import Entering, Pages, RefusedError, Visit, see
from dcshap.desk.state import Desk
from dcshap.desk.throttle import Throttle

__all__ = ["pages"]

pages = Pages()

HOMES = {Role.OFFICER: "/cases", Role.PERSON: "/mine", Role.AUDITOR: "/audit", Role.OPERATOR: "/operator"}


@pages.get("/")
def entrance(desk: Desk, visit: Visit) -> Response:
    """The first page: to come in, or on to one's own pages."""
    if visit.session is not None:
        return see(HOMES[visit.session.role])
    return desk.renderer.page(visit, "entrance.html", wrong="")


@pages.post("/login")
def log_in(desk: Desk, visit: Visit) -> Response:
    """Come in with a name and a password."""
    name = visit.form.get("name", "")
    _require_patience(desk.logins, f"from {visit.address}")  # first: one address cannot fill the memory with names
    _require_patience(desk.logins, f"as {name}")
    role = desk.accounts.check(name, visit.form.get("password", ""))
    if role is None:
        wrong = "The name or the password is not right."
        return desk.renderer.page(visit, "entrance.html", status=HTTPStatus.FORBIDDEN, wrong=wrong)
    return _entered(desk, visit, name, role)


@pages.post("/logout", *Role)
def log_out(desk: Desk, visit: Visit) -> Response:
    """Go out."""
    desk.accounts.close(visit.cookie)
    return Entering("/", secrets.token_urlsafe(32))


@pages.get("/code")
def ask_for_code(desk: Desk, visit: Visit) -> Response:
    """Where a person concerned types a code."""
    return desk.renderer.page(visit, "code.html", wrong="", code="")


@pages.get("/code/{code}")
def follow_link(desk: Desk, visit: Visit) -> Response:
    """Where the link in a letter leads: the code is used when the form is sent, not by whoever looks at links."""
    return desk.renderer.page(visit, "code.html", wrong="", code=visit.path["code"])


@pages.post("/code")
def redeem_code(desk: Desk, visit: Visit) -> Response:
    """Come in with a one-time code."""
    _require_patience(desk.guesses, f"from {visit.address}")
    handle = desk.accounts.redeem(visit.form.get("code", ""))
    if handle is None:
        wrong = "This code is not known, or was used before, or is too old. Ask your case officer for a new one."
        return desk.renderer.page(visit, "code.html", status=HTTPStatus.FORBIDDEN, wrong=wrong, code="")
    return _entered(desk, visit, "person concerned", Role.PERSON, handle)


@pages.get("/enter/{token}")
def launch(desk: Desk, visit: Visit) -> Response:
    """Come in with a launch token of a demonstration."""
    _require_patience(desk.guesses, f"from {visit.address}")
    for token, entry in desk.tokens.items():
        if secrets.compare_digest(token, visit.path["token"]):
            return _entered(desk, visit, entry.who, entry.role, entry.handle)
    raise RefusedError.unknown()


def _entered(desk: Desk, visit: Visit, who: str, role: Role, handle: str = "") -> Response:
    token = desk.accounts.open(who, role, handle=handle)
    session = desk.accounts.session(token)
    came = Visit(visit.address, visit.cookie, session).note("came in", handle=handle)
    desk.journal.record(came)
    return Entering(HOMES[role], token)


def _require_patience(throttle: Throttle, key: str) -> None:
    wait = throttle.wait(key)
    if wait:
        minutes = math.ceil(wait / 60)
        raise RefusedError(
            HTTPStatus.TOO_MANY_REQUESTS,
            "Too many attempts",
            f"Wait {minutes} minute{'s' if minutes > 1 else ''}, and try again.",
        )
