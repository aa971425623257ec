"""How a page says who may see it: every page of the desk stands in a `Pages` with the roles that it is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from starlette.responses import RedirectResponse, Response

from dcshap.desk.accounts import Role, Session
from dcshap.desk.journal import Note

__all__ = ["ANYBODY", "Entering", "Page", "Pages", "RefusedError", "Visit", "see"]

ANYBODY: frozenset[Role] = frozenset()  # also those who have not come in

Handler = Callable[[Any, "Visit"], Response]  # of a Desk, which in turn knows visits


class RefusedError(Exception):
    """A page that is not shown, with what is said instead.

    Parameters
    ----------
    status : HTTPStatus
    title, text : str
    """

    def __init__(self, status: HTTPStatus, title: str, text: str) -> None:
        super().__init__(title)
        self.status, self.title, self.text = status, title, text

    @classmethod
    def unknown(cls) -> RefusedError:
        """What is said of everything that is not there, and of everything that is not the visitor's."""
        return cls(
            HTTPStatus.NOT_FOUND,
            "There is no such case",
            "The desk has no case under this address or identifier that you may see. Check how it is written.",
        )


@dataclass(frozen=True)
class Visit:
    """One request of somebody."""

    address: str
    cookie: str
    session: Session | None
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""  # the desk's own address, as the visitor's browser knows it

    @property
    def known(self) -> Session:
        """The session of a page that is not for anybody."""
        if self.session is None:
            raise RefusedError(HTTPStatus.FORBIDDEN, "Please come in first", "Your session has ended.")
        return self.session

    def note(self, act: str, *, handle: str = "", explanation: str = "", **detail: object) -> Note:
        """A line for the journal about what this visitor does."""
        who, role = (self.session.who, self.session.role.value) if self.session else ("", "")
        return Note(who, role, act, handle, explanation, detail)


@dataclass(frozen=True)
class Page:
    """One entry of the desk's table of routes."""

    method: str
    path: str
    roles: frozenset[Role]
    handler: Handler


class Pages:
    """The pages of one module."""

    def __init__(self) -> None:
        self.all: list[Page] = []

    def get(self, path: str, *roles: Role) -> Callable[[Handler], Handler]:
        """A page that is looked at."""
        return self._added("GET", path, roles)

    def post(self, path: str, *roles: Role) -> Callable[[Handler], Handler]:
        """A form that is sent."""
        return self._added("POST", path, roles)

    def _added(self, method: str, path: str, roles: tuple[Role, ...]) -> Callable[[Handler], Handler]:
        def add(handler: Handler) -> Handler:
            self.all.append(Page(method, path, frozenset(roles), handler))
            return handler

        return add


class Entering(RedirectResponse):
    """Sends a browser on with the token of a new session, or with a worthless one where it ends.

    Parameters
    ----------
    path : str
    token : str
    """

    def __init__(self, path: str, token: str) -> None:
        super().__init__(path, HTTPStatus.SEE_OTHER)
        self.token = token


def see(path: str) -> Response:
    """Send the browser on to a page after a form."""
    return RedirectResponse(path, HTTPStatus.SEE_OTHER)
