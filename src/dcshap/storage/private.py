"""Files that nobody but their owner can read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from dcshap._disk import locked, replace
from dcshap.exceptions import StorageError

__all__ = ["read_private", "write_once", "write_private"]

Made = TypeVar("Made")


def write_private(path: Path, text: str) -> None:
    """Write a file as a whole or not at all; nobody but the owner can read it."""
    replace(path, text.encode())


def read_private(path: Path, make: Callable[[Any], Made], *, otherwise: Made | None = None, remedy: str = "") -> Made:
    """What `make` makes of the JSON in a file; `otherwise` where there is no file.

    A file that is damaged, or whose content `make` cannot use, is refused with what to do about it, the `remedy`.
    """
    if otherwise is not None and not path.exists():
        return otherwise
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        version = content.get("version", 1)
        if isinstance(version, int) and version > 1:
            raise StorageError(f"{path} was written by a newer dcshap: install that. Or {remedy}.")
        return make(content)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise StorageError(f"{path} is damaged{remedy and ': '}{remedy}.") from error


def write_once(path: Path, data: bytes) -> bytes:
    """Write a file that nobody but the owner can read, unless it is there already; returns its content.

    Of several who do so at once, in threads or processes, all get what the first one wrote.
    """
    with locked(path.parent):
        if not path.exists():
            replace(path, data)
    return path.read_bytes()
