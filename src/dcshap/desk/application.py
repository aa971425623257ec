"""The web application: the table of routes, and how a request becomes a visit to a page."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from dcshap.desk.cases import UnknownCaseError
from dcshap.desk.guard import Guard, TooLargeError
from dcshap.desk.pages import PAGES
from dcshap.desk.routing import Entering, Page, RefusedError, Visit, see
from dcshap.desk.state import Desk
from dcshap.exceptions import DcshapError, FederationError, InputError, PrivacyError

__all__ = ["create_app"]

STATIC = Path(__file__).parent / "static"
FORM_FIELD = "form_token"
LONGEST_FIELD = 100_000


def create_app(desk: Desk, *, hosts: Collection[str], https: bool = False) -> Guard:
    """The application of a desk.

    Parameters
    ----------
    desk : Desk
    hosts : collection of str
        The names, with port, under which browsers may ask for it.
    https : bool
        Whether it is served over TLS.
    """
    door = _Door(desk, https=https)
    routes: list[Any] = [Route(page.path, door.endpoint(page), methods=[page.method]) for page in PAGES]
    app = Starlette(
        routes=[*routes, Mount("/static", StaticFiles(directory=STATIC), name="static")],
        exception_handlers={
            HTTPException: door.not_found,
            TooLargeError: door.too_large,
            Exception: door.failed,
        },
    )
    return Guard(app, hosts=hosts, https=https)  # outermost, so that also what went wrong passes it


class _Door:
    """Lets visitors in: finds their session, checks role and form token, and turns what goes wrong into a page."""

    def __init__(self, desk: Desk, *, https: bool) -> None:
        self._desk, self._https = desk, https
        self._cookie = ("__Host-" if https else "") + desk.cookie_name

    def endpoint(self, page: Page) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            form = await _form_of(request) if page.method == "POST" else {}
            return await run_in_threadpool(self._answered, page, request, form)

        return answer

    async def not_found(self, request: Request, error: Exception) -> Response:  # noqa: ARG002 - as below
        """A path or method that no page has."""
        return self._refused(request, Visit("", "", None), RefusedError.unknown())

    async def too_large(self, request: Request, error: Exception) -> Response:  # noqa: ARG002
        """A form that is larger than any of the desk's."""
        text = "This is more than any form here holds. Nothing was changed."
        refusal = RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "That does not fit", text)
        return self._refused(request, Visit("", "", None), refusal)

    async def failed(self, request: Request, error: Exception) -> Response:  # noqa: ARG002
        """What is said of a mistake in the desk itself; the server's log says where it is."""
        text = "The desk made a mistake. Nothing was changed. Tell whoever runs it what you were about to do."
        refusal = RefusedError(HTTPStatus.INTERNAL_SERVER_ERROR, "This did not work", text)
        return self._refused(request, Visit("", "", None), refusal)

    def _answered(self, page: Page, request: Request, form: dict[str, str]) -> Response:
        cookie = request.cookies.get(self._cookie, "")
        address = request.client.host if request.client else ""
        origin = f"{'https' if self._https else 'http'}://{request.headers.get('host', '')}"  # which the guard knows
        visit = Visit(address, cookie, None, dict(request.path_params), dict(request.query_params), form, origin)
        try:
            session = self._desk.accounts.session(cookie) if cookie else None
            fresh = cookie or secrets.token_urlsafe(32)  # those who have not come in need one for their form
            visit = replace(visit, cookie=fresh, session=session)
            response = self._admitted(page, visit, sent_cookie=cookie)
        except RefusedError as error:
            response = self._refused(request, visit, error)
        except DcshapError as error:
            response = self._refused(request, visit, _in_words(error))
        if not cookie and visit.cookie and "set-cookie" not in response.headers:
            self._set_cookie(response, visit.cookie)
        return response

    def _admitted(self, page: Page, visit: Visit, *, sent_cookie: str) -> Response:
        if page.roles and visit.session is None:
            if page.method == "GET":
                return see("/")
            raise RefusedError(
                HTTPStatus.FORBIDDEN, "Your session has ended", "Nothing was changed. Log in again, and send it again."
            )
        if page.roles and visit.session is not None and visit.session.role not in page.roles:
            raise RefusedError(HTTPStatus.FORBIDDEN, "This page is not for you", "Your role does not include it.")
        if page.method == "POST":
            wanted = self._desk.accounts.form_token(sent_cookie)
            if not sent_cookie or not hmac.compare_digest(wanted, visit.form.get(FORM_FIELD, "")):
                raise RefusedError(
                    HTTPStatus.FORBIDDEN,
                    "This form is too old",
                    "Nothing was changed. Open the page again.",
                )
        response = page.handler(self._desk, visit)
        if isinstance(response, Entering):
            self._set_cookie(response, response.token)
        return response

    def _refused(self, request: Request, visit: Visit, error: RefusedError) -> Response:
        response = self._desk.renderer.refusal(visit, error)
        if "hx-request" in request.headers:  # in place of the whole page, not of a part
            response.headers.update({"HX-Retarget": "main", "HX-Reselect": "main", "HX-Reswap": "outerHTML"})
        return response

    def _set_cookie(self, response: Response, value: str) -> None:
        response.set_cookie(self._cookie, value, path="/", secure=self._https, httponly=True, samesite="strict")


def _in_words(error: DcshapError) -> RefusedError:
    """What is said where the desk, or whoever it asks, could not do what was asked."""
    if isinstance(error, UnknownCaseError):
        return RefusedError.unknown()
    if isinstance(error, PrivacyError):
        return RefusedError(HTTPStatus.TOO_MANY_REQUESTS, "Another organisation refuses", str(error))
    if isinstance(error, InputError):
        return RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, "That does not fit", str(error))
    other = isinstance(error, FederationError)
    title = "Another organisation does not answer" if other else "The desk cannot show this now"
    return RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, title, str(error))


async def _form_of(request: Request) -> dict[str, str]:
    """The fields of a form, as text; a file's content stands for the file."""
    try:
        async with request.form(max_files=2, max_fields=200) as form:
            fields = {}
            for name, value in form.items():
                text = (await value.read()).decode("utf-8", "replace") if isinstance(value, UploadFile) else value
                fields[name] = text[:LONGEST_FIELD].replace("\0", "")  # which PostgreSQL cannot keep
            return fields
    except HTTPException:
        return {}
