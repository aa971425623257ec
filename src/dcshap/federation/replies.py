"""What a site answers, and how an error crosses the network: its kind and its text, which holds no data value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dcshap import exceptions
from dcshap.exceptions import DcshapError, FederationError

__all__ = ["Reply", "error_header", "raise_remote", "require_sound"]


@dataclass(frozen=True)
class Reply:
    """An answer: plain content, and bytes."""

    header: dict[str, Any] = field(default_factory=dict)
    body: bytes = b""


def error_header(error: DcshapError, *, site: str) -> dict[str, Any]:
    """An error as plain content. Errors of dcshap name parameters, shapes, columns and counts, never data values."""
    return {"error": {"kind": type(error).__name__, "text": str(error), "site": getattr(error, "site", site)}}


def raise_remote(header: dict[str, Any]) -> None:
    """Raise the error in a reply's header, if there is one, as what it was at the site it comes from."""
    found = header.get("error")
    if not isinstance(found, dict):
        return
    error = _kind(found)(_text(found))
    error.site = str(found.get("site"))  # type: ignore[attr-defined]  # kept when it is passed on
    raise error


def require_sound(replies: Mapping[str, Reply | None], *, step: str, timeout: float) -> dict[str, Reply]:
    """All replies, if all sites have answered, and without error; every site's trouble at once otherwise."""
    errors = [reply.header["error"] for reply in replies.values() if reply is not None and "error" in reply.header]
    silent = sorted(name for name, reply in replies.items() if reply is None)
    if len(errors) == 1 and not silent:
        raise_remote({"error": errors[0]})
    said = [_text(error) for error in errors]
    if silent:
        said.insert(0, f"No answer from {silent} to the step {step!r} within {timeout:g} s. Is it running?")
    if said:
        kinds = {_kind(error) for error in errors} if not silent else {FederationError}
        raise (kinds.pop() if len(kinds) == 1 else FederationError)(" ".join(said))
    return {name: reply for name, reply in replies.items() if reply is not None}


def _kind(found: dict[str, Any]) -> type[DcshapError]:
    kind = getattr(exceptions, str(found.get("kind")), None)
    return kind if isinstance(kind, type) and issubclass(kind, DcshapError) else FederationError


def _text(found: dict[str, Any]) -> str:
    site, text = str(found.get("site")), str(found.get("text"))
    return text if text.startswith(f"{site!r}: ") else f"{site!r}: {text}"
