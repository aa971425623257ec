"""Messages of a training in files: large ones travel in parts, and what has left is there to be sent again.

A message in a file takes no memory: its arrays are views of the file. A part is signed, sealed and numbered like any
other content of an envelope, and names the digest of the whole message; the whole is read once all parts are there and
the digest is right.
"""

from __future__ import annotations

import hashlib
import mmap
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dcshap._bytes import Buffer
from dcshap._disk import append_to, create, make_folder, remove
from dcshap._machine import random_bytes
from dcshap.collaboration.messages import Message
from dcshap.exceptions import ProtocolError, StorageError
from dcshap.federation.seals.wire import buffers, digest_of, unpack

__all__ = ["PART", "Letter", "Parcel", "Spool"]

PART = 1 << 22  # bytes of a message that travel in one envelope
_BINDING, _SECRET = "binding", 32


@dataclass(frozen=True)
class Parcel:
    """A packed message in a file."""

    path: Path
    digest: str
    size: int
    again: bool = False  # whether it was there before this attempt at the training: it may have left before


@dataclass(frozen=True)
class Letter:
    """A packed message as it is sent: its bytes, or the file from which parts of it are."""

    content: bytes = b""
    parcel: Parcel | None = None
    again: bool = False

    @property
    def size(self) -> int:
        """In bytes."""
        return len(self.content) if self.parcel is None else self.parcel.size

    @property
    def named(self) -> tuple[str, int]:
        """The digest and size of a message that travels in parts; nothing and 0 of one that does not."""
        return ("", 0) if self.parcel is None else (self.parcel.digest, self.parcel.size)


class Spool:
    """The files of one training at one site.

    Parameters
    ----------
    folder : path
        Of this training alone.
    part : int
        Bytes that travel at once.
    trusted : sequence of str
        Types beyond scikit-learn's own that a model may contain.

    Attributes
    ----------
    order : list of str
        The names of the protocol's steps, once it is known.
    """

    def __init__(self, folder: Path, *, part: int = PART, trusted: Sequence[str] = ()) -> None:
        self.folder, self.part, self.trusted = folder, part, tuple(trusted)
        self.order: list[str] = []
        self._heard: dict[tuple[str, str], str] = {}
        self._files: list[tuple[Message, Parcel]] = []
        self._lock = threading.RLock()
        self._before = set(folder.iterdir()) if folder.is_dir() else set()
        make_folder(folder)

    def bind(self, digest: str) -> bytes:
        """Say what the training is of; a resumed one must be of the same. A secret of this training at this site.

        Raises
        ------
        ProtocolError
            Where it is of something else: what has left must not be compared with what would leave.
        """
        path = self.folder / _BINDING
        before = path.read_bytes() if path.exists() else b""
        if len(before) < len(digest) + 2 * _SECRET:  # none, or writing it was interrupted: nothing has left then
            secret = random_bytes(_SECRET)
            create(path, f"{digest}{secret.hex()}".encode())
            return secret
        if before[: len(digest)] != digest.encode():
            raise ProtocolError(
                "A training is resumed with what it was begun with. The table, the schema, the settings, the parties "
                "or the model have changed since: train without resuming."
            )
        return bytes.fromhex(before[len(digest) :].decode())

    def noted(self, what: str, step: str) -> bool:
        """Whether something was noted of what had arrived before a step, in this attempt or an earlier one."""
        return (self.folder / f"{what}.{self._context(step)}").exists()

    def note(self, what: str, step: str) -> None:
        """Note something of what has arrived before a step."""
        create(self.folder / f"{what}.{self._context(step)}", b"")

    # --- what leaves ----------------------------------------------------------------------------------------

    def once(self, step: str, to: str, make: Callable[[], Message]) -> tuple[Message, bool]:
        """The message of a step to somebody, made once in a training however often it is resumed.

        Parameters
        ----------
        step, to : str
            `to` is empty where everybody is sent the same.
        make : callable

        Returns
        -------
        The message, and whether it was made before.

        Raises
        ------
        ProtocolError
            Where it was made from other messages than those that have arrived now.
        """
        with self._lock:
            named = f"{step}-{hashlib.sha256(to.encode()).hexdigest()[:16]}"
            path = self.folder / f"{named}.{self._context(step)}"
            if path.exists() and (kept := self._kept(path)) is not None:
                return kept, True
            if any(other != path for other in self.folder.glob(f"{named}.*")):
                raise ProtocolError(
                    "What other participants have sent differs from what they sent before the training was "
                    "interrupted. Train without resuming."
                )
            _write(path, buffers(make()))
            return self._read(path, again=False)[0], False

    def _context(self, step: str) -> str:
        """A digest of all that was received in the steps before."""
        before = set(self.order[: self.order.index(step)])
        heard = sorted(f"{name} {sender} {each}" for (name, sender), each in self._heard.items() if name in before)
        return hashlib.sha256("\n".join(heard).encode()).hexdigest()[:32]

    def _kept(self, path: Path) -> Message | None:
        """A message that was kept; None where writing it was interrupted: it has not left then."""
        try:
            return self._read(path, again=path in self._before)[0]
        except ProtocolError:
            remove(path)
            return None

    def letter(self, message: Message) -> Letter:
        """What is sent of a message: its bytes, where they are few enough to travel whole, or the file it lies in."""
        with self._lock:
            parcel = next((parcel for known, parcel in self._files if known is message), None)
            if parcel is None:
                packed = buffers(message)
                if sum(map(len, packed)) <= self.part:
                    return Letter(b"".join(packed))
                parcel = self._written(message, packed)
        if parcel.size > self.part:
            return Letter(parcel=parcel, again=parcel.again)
        return Letter(parcel.path.read_bytes(), again=parcel.again)

    def _written(self, message: Message, packed: list[Buffer]) -> Parcel:
        digest, size = bytes(packed[1]).hex(), sum(map(len, packed))
        path = self.folder / f"sent-{digest}"
        whole = path.exists() and path.stat().st_size == size
        if not whole:
            _write(path, packed)
        parcel = Parcel(path, digest, size, again=whole and path in self._before)
        self._files.append((message, parcel))
        return parcel

    def read_part(self, parcel: Parcel, number: int) -> bytes:
        """The how-manieth part of a parcel, from 0 on."""
        with parcel.path.open("rb") as file:
            file.seek(number * self.part)
            found = file.read(self.part)
        if not found:
            raise ProtocolError(f"A message of {parcel.size} bytes has no part {number}.")
        return found

    # --- what arrives ---------------------------------------------------------------------------------------

    def hear(self, step: str, sender: str, digest: str) -> None:
        """Note a message that has arrived."""
        with self._lock:
            self._heard[step, sender] = digest

    def have(self, digest: str, size: int) -> int:
        """How many bytes of a message have arrived, in whole parts."""
        path = self._incoming(digest)
        found = path.stat().st_size if path.exists() else 0
        return size if found == size else found - found % self.part

    def add_part(self, digest: str, size: int, number: int, data: bytes) -> None:
        """Take a part: whole, and the next one."""
        with self._lock:
            at = number * self.part
            expected = min(self.part, size - at)
            if at != self.have(digest, size) or len(data) != expected or at >= size:
                raise ProtocolError(
                    f"The parts of a message must come whole and in order. Expected {expected} bytes of part "
                    f"{self.have(digest, size) // self.part}. Got {len(data)} of part {number}."
                )
            append_to(self._incoming(digest), data, size=at)

    def arrived(self, digest: str) -> Message:
        """The message whose parts have all arrived.

        Raises
        ------
        ProtocolError
            If it is not what it was said to be; it is dropped then.
        """
        path = self._incoming(digest)
        try:
            message, parcel = self._read(path, again=False)
            if parcel.digest != digest:
                raise ProtocolError("A message arrived in parts and is another than was announced.")
        except (ProtocolError, StorageError):
            remove(path)
            raise
        return message

    def _incoming(self, digest: str) -> Path:
        return self.folder / f"got-{digest}"

    def _read(self, path: Path, *, again: bool) -> tuple[Message, Parcel]:
        """The message in a file, of which the arrays of a large one are views."""
        size = path.stat().st_size
        with path.open("rb") as file:
            if size <= self.part:
                data: Buffer = file.read()
                message = unpack(data, trusted=self.trusted)
            else:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                data = memoryview(mapped)
                message = unpack(data, trusted=self.trusted)
                mapped.madvise(mmap.MADV_DONTNEED)  # checking the digest has read all of it
        parcel = Parcel(path, digest_of(data), size, again)
        with self._lock:
            self._files.append((message, parcel))
        return message, parcel


def _write(path: Path, packed: list[Buffer]) -> None:
    size = 0
    for block in _blocks(packed):
        append_to(path, block, size=size)
        size += len(block)


def _blocks(packed: list[Buffer]) -> Iterator[bytes]:
    """Bytes one after the other, some at a time."""
    waiting: list[Buffer] = []
    n_waiting = 0
    for each in packed:
        for at in range(0, len(each), PART):
            piece = each[at : at + PART]
            if n_waiting + len(piece) > PART:
                yield b"".join(waiting)
                waiting, n_waiting = [], 0
            waiting.append(piece)
            n_waiting += len(piece)
    if waiting:
        yield b"".join(waiting)
