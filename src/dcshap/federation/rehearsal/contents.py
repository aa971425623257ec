"""What lies in a federation's folder, kept in memory: read again, put back and hashed only where it was changed."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

__all__ = ["Contents"]

_OTHER = ("/ledger.jsonl", "/ledgers.json", "/opened.txt")  # what differs from run to run, and decides nothing
_IDENTIFIER = re.compile(r"-[0-9a-f]{32}|-\d+$")


class Contents:
    """Everything in a folder by its path: a file's bytes, and None for a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._known: dict[str, bytes | None] = {}
        self._lines: dict[str, str] = {}  # by path, what the digest is made of
        self.read(self.everything())

    def everything(self) -> set[str]:
        """All paths that are there now or were when they were read last."""
        return {*self._known, *map(str, Path(self._folder).rglob("*"))}

    def read(self, changed: Iterable[str]) -> None:
        """Read what may have changed."""
        for path in self._with_folders(changed):
            self._lines.pop(path, None)
            try:
                found = _read(path)
            except FileNotFoundError:
                self._known.pop(path, None)
                continue
            self._known[path] = found
            if found is not None and not path.endswith(_OTHER):
                name = _IDENTIFIER.sub("", path[len(self._folder) :])
                self._lines[path] = f"{name} {hashlib.sha256(found).hexdigest()}"

    def put_back(self, changed: Iterable[str]) -> None:
        """Make what may have changed since what it was when it was read."""
        paths = self._with_folders(changed)
        for path in reversed(paths):  # what is in a folder goes before it
            if path not in self._known and os.path.lexists(path):
                Path(path).rmdir() if Path(path).is_dir() else Path(path).unlink()
        for path in paths:
            known = self._known.get(path)
            if known is not None:
                Path(path).write_bytes(known)
            elif known is None and path in self._known:
                Path(path).mkdir(mode=0o700, exist_ok=True)

    def digest(self) -> str:
        """What federations' folders hold, but for ledgers and identifiers: with the same, the same follows."""
        return hashlib.sha256("\n".join(sorted(self._lines.values())).encode()).hexdigest()

    def _with_folders(self, paths: Iterable[str]) -> list[str]:
        """Paths and the folders that they are in, which come before them."""
        found: set[str] = set()
        for path in paths:
            while len(path) > len(self._folder) and path not in found:
                found.add(path)
                path = path.rpartition("/")[0]  # noqa: PLW2901
        return sorted(found)


def _read(path: str) -> bytes | None:
    """A file's bytes, None of a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        found = os.fstat(descriptor)
        return None if stat.S_ISDIR(found.st_mode) else os.read(descriptor, found.st_size)
    finally:
        os.close(descriptor)
