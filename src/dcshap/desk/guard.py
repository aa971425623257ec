"""What every request passes before it reaches a page: whose Host it names, where it comes from, how large it is.

Every answer leaves with headers that let a browser load nothing from elsewhere and run nothing inline.
"""

from __future__ import annotations

from collections.abc import Collection
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

__all__ = ["Guard", "TooLargeError"]

LARGEST_BODY = 256 * 1024
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With "no-referrer" a browser would send its forms from the origin "null".
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
SAFE = ("GET", "HEAD")


class TooLargeError(Exception):
    """A request's body is larger than any form of the desk."""


class Guard:
    """Refuses requests that no page of this desk has made.

    Parameters
    ----------
    app : Starlette
    hosts : collection of str
        What `Host` may be: name and port.
    https : bool
    """

    def __init__(self, app: Starlette, *, hosts: Collection[str], https: bool) -> None:
        self.app, self._hosts, self._https = app, frozenset(hosts), https

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":  # the desk has no websockets
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._add_headers(MutableHeaders(scope=message), scope["path"])
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await PlainTextResponse(refusal, HTTPStatus.FORBIDDEN)(scope, receive, send_guarded)
            return
        await self.app(scope, _limited(receive), send_guarded)

    def _refusal(self, scope: Scope) -> str | None:
        """Why a request is not let in; None where it is."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self._hosts:
            return "This desk does not answer under that name."
        if scope["method"] not in SAFE:
            own = f"{'https' if self._https else 'http'}://{host}"
            if headers.get("origin") != own or headers.get("sec-fetch-site", "same-origin") != "same-origin":
                return "Forms of this desk are sent from its own pages only."
        return None

    def _add_headers(self, headers: MutableHeaders, path: str) -> None:
        for name, value in HEADERS.items():
            headers[name] = value
        headers["Cache-Control"] = "max-age=3600" if path.startswith("/static/") else "no-store"
        if self._https:
            headers["Strict-Transport-Security"] = "max-age=31536000"


def _limited(receive: Receive) -> Receive:
    """The same body, cut off with an error where it is too large."""
    size = 0

    async def receive_limited() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > LARGEST_BODY:
            raise TooLargeError
        return message

    return receive_limited
