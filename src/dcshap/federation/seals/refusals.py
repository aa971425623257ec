"""How an error crosses the network: its kind and its text, which names parameters, shapes and counts, never a value."""

from __future__ import annotations

from typing import Any

from dcshap import exceptions
from dcshap.exceptions import DcshapError, FederationError

__all__ = ["as_error", "as_plain"]


def as_plain(error: DcshapError, *, site: str) -> dict[str, str]:
    """An error as plain content, with the site that it comes from."""
    return {"kind": type(error).__name__, "text": str(error), "site": error.site or site}


def as_error(found: Any) -> DcshapError:
    """The error that plain content tells of, as what it was at the site that it comes from."""
    content = found if isinstance(found, dict) else {}
    kind = getattr(exceptions, str(content.get("kind")), None)
    site, text = str(content.get("site")), str(content.get("text"))
    known = kind if isinstance(kind, type) and issubclass(kind, DcshapError) else FederationError
    error: DcshapError = known(text if text.startswith(f"{site!r}: ") else f"{site!r}: {text}")
    error.site = site
    return error
