"""Files that nobody but their owner can read."""

from __future__ import annotations

from pathlib import Path

from dcshap._disk import locked, replace

__all__ = ["write_once", "write_private"]


def write_private(path: Path, text: str) -> None:
    """Write a file as a whole or not at all; nobody but the owner can read it."""
    replace(path, text.encode())


def write_once(path: Path, data: bytes) -> bytes:
    """Write a file that nobody but the owner can read, unless it is there already; what it holds then.

    Of several who do so at once, in threads or processes, all get what the first one wrote.
    """
    with locked(path.parent):
        if not path.exists():
            replace(path, data)
    return path.read_bytes()
