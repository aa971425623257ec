"""Envelopes: signed by their sender, sealed to their recipient, for one step of one session, and opened once.

Whoever carries an envelope (the analyst's server) can neither read it nor write one.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, InvalidTag

from dcshap._disk import append_to, locked, replace
from dcshap._machine import new_identifier, now
from dcshap.collaboration.messages import ANALYST, REQUESTER
from dcshap.exceptions import ProtocolError, StorageError
from dcshap.federation.seals.hashes import HashSet
from dcshap.federation.seals.identity import Certificate, Identity

__all__ = [
    "MAX_AGE",
    "About",
    "CutShortError",
    "Envelope",
    "Opened",
    "framed",
    "identifier_of",
    "open_envelope",
    "recent",
    "require_parcel",
    "seal",
    "unframed",
]

MAX_AGE = 600.0  # seconds between writing and opening, clocks that differ included
MAX_AHEAD = 60.0  # seconds that another's clock may be ahead


@dataclass(frozen=True)
class About:
    """What stands on an envelope. All of it is signed."""

    sender: str  # by its name in the protocol: a party's, or that of the analyst or the requester
    recipient: str  # likewise
    protocol: str
    session: str  # which run of the protocol it belongs to
    step: str
    patience: float = 0.0  # seconds that the sender waits for an answer; at most `MAX_AGE`
    answers: str = ""  # the identifier of the envelope that this one answers; empty where it answers none
    parcel: str = ""  # the digest of a message that travels in parts; empty where the content is all there is
    size: int = 0  # its size in bytes
    # Which of its parts this envelope brings, or asks for, from 0 on; -1 where the whole message is meant.
    part: int = -1

    def __post_init__(self) -> None:
        texts = (self.sender, self.recipient, self.protocol, self.session, self.step, self.answers, self.parcel)
        if not all(isinstance(text, str) for text in texts) or not 0 <= self.patience <= MAX_AGE:
            raise ValueError("of another type, or out of range")
        require_parcel(self.parcel, self.size)
        if type(self.part) is not int or not -1 <= self.part <= self.size:
            raise ValueError("a part of nothing")


def require_parcel(digest: Any, size: Any) -> None:
    """Refuse what names no message that travels in parts, with a ValueError; an empty digest and 0 name none."""
    if not isinstance(digest, str) or type(size) is not int or not re.fullmatch(r"[0-9a-f]{64}|", digest):
        raise ValueError("no digest and size of a message")
    if (size > 0) != bool(digest) or size < 0:
        raise ValueError("a message without bytes, or bytes without a message")


@dataclass(frozen=True)
class Envelope:
    """An envelope that was opened: what stood on it, who signed it, and its content.

    The identifier is unlike that of every other envelope.
    """

    about: About
    author: Certificate
    identifier: str
    content: bytes


def seal(identity: Identity, about: About, content: bytes, *, to: Certificate | None) -> bytes:
    """Put content in an envelope that only its recipient can open; signed, and readable, where `to` is None."""
    written = {"identifier": new_identifier(), "written": round(now())}
    head = json.dumps({"about": vars(about), "certificate": identity.certificate.pem} | written).encode()
    wrapped, body = (b"", content) if to is None else to.encrypt(content, head)
    signed = framed(head, wrapped) + body
    return framed(identity.sign(signed)) + signed


def identifier_of(sealed: bytes) -> str:
    """The identifier of an envelope that one has written oneself."""
    (_, head), _ = unframed(sealed, 2)
    return str(json.loads(head)["identifier"])


def open_envelope(identity: Identity, sealed: bytes, *, me: str) -> Envelope:
    """Open an envelope to a role that this participant plays, written lately by whom it names.

    Raises
    ------
    ProtocolError
        If it is damaged, for somebody else, too old, or signed by another than it names.
    """
    try:
        (signature,), signed = unframed(sealed, 1)
        (head, wrapped), body = unframed(signed, 2)
        written: dict[str, Any] = json.loads(head)
        about, identifier = About(**written["about"]), _require_identifier(written["identifier"])
        author = identity.check(written["certificate"])
        author.require_signature(signature, signed)
        _require_author(about.sender, author, identity)
        if about.recipient != me:
            raise ProtocolError(f"An envelope for {about.recipient!r} reached {me!r}.")
        if not recent(written["written"]):
            raise ProtocolError(
                f"An envelope must be opened within {MAX_AGE:.0f} s. This one is older, or the clocks differ."
            )
        content = identity.decrypt(wrapped, body, head) if wrapped else body
    except (ValueError, TypeError, LookupError, InvalidSignature, InvalidTag) as error:
        raise ProtocolError("An envelope must be whole and signed by whom it names. One is not.") from error
    return Envelope(about, author, identifier, content)


def _require_identifier(given: Any) -> str:
    """An envelope's identifier, which becomes a line of a file; a ValueError where it is none."""
    if not isinstance(given, str) or not re.fullmatch(r"[0-9a-f]{32}", given):
        raise ValueError("no identifier")
    return given


def recent(written: Any) -> bool:
    """Whether something was written within the last ten minutes; of a time that is no number it is not known.

    What is dated more than a minute ahead was not written yet.
    """
    try:
        age = now() - float(written)
    except (TypeError, ValueError, OverflowError):
        return False
    return not isinstance(written, str) and -MAX_AHEAD <= age <= MAX_AGE


def _require_author(sender: str, author: Certificate, identity: Identity) -> None:
    """Parties are known by their certificates' names, the analyst by the server's; a requester names itself inside."""
    expected = identity.analyst if sender == ANALYST else author.name if sender == REQUESTER else sender
    if author.name != expected:
        raise ProtocolError(f"What is said to be from {sender!r} was signed by {author.name!r}.")


class Opened:
    """The envelopes that a participant has opened lately, also before its process was started, and in others of it.

    Parameters
    ----------
    path : path
        A file of one line per envelope: its identifier and when it was opened.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        self._known = HashSet()
        self._read = (0, 0)  # which file, and how much of it
        self._most = 1000  # lines before old ones are looked for

    def once(self, envelope: Envelope) -> None:
        """Note an envelope; refuse one that was opened before."""
        with self._lock, locked(self._path.parent):
            self._catch_up()
            if envelope.identifier in self._known:
                raise ProtocolError("An envelope is opened once. This one was opened before.")
            if len(self._known) > self._most:
                self._drop_old()
            line, size = f"{envelope.identifier} {now():.0f}\n".encode(), self._read[1]
            append_to(self._path, line, size=size)
            self._known.add(envelope.identifier)
            self._read = self._path.stat().st_ino, size + len(line)

    def _drop_old(self) -> None:
        # Written at most MAX_AHEAD after it was opened, by this clock: an older one is refused for its age.
        since = now() - MAX_AGE - 2 * MAX_AHEAD
        try:
            replace(self._path, b"".join(line for line in _lines(self._path, after=0) if _opened_at(line) > since))
        except FileNotFoundError as error:
            raise StorageError(f"{self._path} must stay where it is. It is gone: put it back.") from error
        self._catch_up()
        self._most = max(1000, 2 * len(self._known))

    def _catch_up(self) -> None:
        """Read what this process or another has written since; a line that was cut short by a crash is none."""
        try:
            found, (file, size) = self._path.stat(), self._read
        except FileNotFoundError:
            return
        if (found.st_ino, found.st_size) == self._read:
            return
        if found.st_ino != file or found.st_size < size:
            self._known, size = HashSet(), 0
        for line in _lines(self._path, after=size):
            self._known.add(line.decode(errors="replace").split(" ")[0].strip())
            size += len(line)
        self._read = found.st_ino, size


def _lines(path: Path, *, after: int) -> Iterator[bytes]:
    """The whole lines that follow so many bytes of a file; one that was cut short by a crash is none."""
    with path.open("rb") as file:
        file.seek(after)
        yield from (line for line in file if line.endswith(b"\n"))


def _opened_at(line: bytes) -> float:
    _, _, when = line.strip().partition(b" ")
    return float(when) if when.isdigit() else now()  # damaged: as if it was opened now


class CutShortError(ValueError):
    """Bytes that are shorter than they say."""


def framed(*parts: bytes) -> bytes:
    """Parts one after the other, each behind its length."""
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def unframed(data: bytes, n: int) -> tuple[list[bytes], bytes]:
    """The first n parts, and what follows them."""
    parts, at = [], 0
    for _ in range(n):
        size = int.from_bytes(data[at : at + 8], "big")
        at += 8 + size
        if len(data) < at:
            raise CutShortError
        parts.append(data[at - size : at])
    return parts, data[at:]
