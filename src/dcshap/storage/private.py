"""Files that nobody but their owner can read."""

from __future__ import annotations

from pathlib import Path

from dcshap._disk import replace

__all__ = ["write_private"]


def write_private(path: Path, text: str) -> None:
    """Write a file as a whole or not at all; nobody but the owner can read it."""
    replace(path, text.encode())
