"""Every change that roles and sites make to a disk; the rooms that `tests/test_machine.py` lists make none elsewhere.

A rehearsal puts a disk of its own in place, whose N-th change fails, is torn in the middle or finds no room.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dcshap.exceptions import StorageError

__all__ = [
    "Disk",
    "append_to",
    "create",
    "locked",
    "make_folder",
    "remove",
    "rename",
    "replace",
    "reserve",
    "using_disk",
]


class Disk:
    """The real disk. Each method is one change that can fail."""

    def make_folder(self, path: Path) -> None:
        """Make a folder that nobody but its owner can read."""
        path.mkdir(mode=0o700)

    def write(self, path: Path, data: bytes, *, size: int) -> None:
        """Write bytes after the first `size` bytes of a file, instead of what follows them; wait until they are there.

        The file is made where there is none; nobody but its owner can read it.
        """
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.ftruncate(descriptor, size)
            os.lseek(descriptor, size, os.SEEK_SET)
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def reserve(self, path: Path, size: int) -> None:
        """Make a file of some size whose place on the disk is taken; nobody but its owner can read it."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, size)
        finally:
            os.close(descriptor)

    def rename(self, path: Path, target: Path) -> None:
        """Give a file or folder another name; a file takes the place of an earlier one."""
        path.replace(target)

    def remove(self, path: Path) -> None:
        """Remove a folder with all that is in it, or a file; what cannot be removed stays."""
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()

    @contextmanager
    def lock(self, folder: Path) -> Iterator[None]:
        """Wait until no other process has the lock of a folder, and have it."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)  # which gives the lock back, as the end of the process would


_current = Disk()


@contextmanager
def using_disk(disk: Disk) -> Iterator[None]:
    """Put another disk in place of the real one, for the whole process."""
    global _current  # noqa: PLW0603 - one disk at a time, for all threads
    before, _current = _current, disk
    try:
        yield
    finally:
        _current = before


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """Turn what the system says into an error that may cross the border of an organisation."""
    try:
        yield
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else type(error).__name__
        denied = isinstance(error, PermissionError)
        asked = "does its folder belong to the user who runs this?" if denied else "is the disk full, or read-only?"
        raise StorageError(f"{path.name!r} could not be written ({why}): {asked}") from error


def make_folder(path: Path) -> None:
    """Make a folder, and those above it that are not there yet."""
    with _in_words(path):
        if not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            _current.make_folder(path)


def create(path: Path, data: bytes) -> None:
    """Write a new file that nobody but its owner can read."""
    append_to(path, data, size=0)


def replace(path: Path, data: bytes) -> None:
    """Write a file in place of an earlier one: as a whole or not at all."""
    aside = path.with_name(f".{path.name}-{os.getpid()}")
    with _in_words(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    create(aside, data)
    rename(aside, path)


def append_to(path: Path, data: bytes, *, size: int) -> None:
    """Write bytes after the first `size` bytes of a file, over anything that a crash has left there."""
    with _in_words(path):
        _current.write(path, data, size=size)


def reserve(path: Path, size: int) -> None:
    """Make a file of some size, to be mapped to memory: that there is room for it shows now, not when it is written."""
    with _in_words(path):
        _current.reserve(path, size)


def rename(path: Path, target: Path) -> None:
    """Give a file or folder another name; a file takes the place of an earlier one."""
    with _in_words(target):
        _current.rename(path, target)


def remove(path: Path) -> None:
    """Remove a folder with all that is in it, or a file; what cannot be removed stays."""
    _current.remove(path)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from changing what is in a folder; only those that ask for the same lock wait."""
    with _in_words(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with _current.lock(folder):
        yield
