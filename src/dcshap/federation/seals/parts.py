"""The carrier of a training: what is too large for one envelope travels in parts, and is sent once.

Whoever begins an exchange drives it. It offers a message by its digest and brings the parts that the recipient lacks;
and it asks for the parts of an answer that it lacks itself. A recipient that has the whole message already, because the
training was interrupted and is resumed, takes it from its own files.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

from dcshap.collaboration.messages import Message
from dcshap.exceptions import ProtocolError
from dcshap.federation.seals.envelopes import Envelope, framed
from dcshap.federation.seals.ledger import Entry
from dcshap.federation.seals.post import Post
from dcshap.federation.seals.spool import Letter, Parcel, Spool
from dcshap.federation.seals.wire import digest_of, unpack
from dcshap.protocol import Answered, Node, Step

__all__ = ["AGAIN", "TrainingPost"]

AGAIN = "again"  # the note in the ledger of the very bytes that have left before


class TrainingPost(Post):
    """The carrier of a training's session.

    Parameters
    ----------
    *args, **options
        As `Post`.
    spool : Spool
        The training's files.
    """

    def __init__(self, *args: Any, spool: Spool, **options: Any) -> None:
        super().__init__(*args, **options)
        self._spool = spool
        self._outgoing: dict[tuple[str, str], Parcel] = {}  # by step and recipient
        self._incoming: dict[tuple[str, str], str] = {}  # by step and sender, the digest
        self._due: dict[tuple[str, str], Entry] = {}

    # --- what leaves ----------------------------------------------------------------------------------------

    def _as_letter(self, message: Message) -> Letter:
        return self._spool.letter(message)

    def _letter(self, step: str, to: str, message: Message | None) -> Letter:
        """A message as it is sent. Of one that may not have to leave again a line is written once a part of it does."""
        if message is None:
            return Letter()
        letter = self._packed_once(message)
        entry = replace(self._entry(to, message, letter), note=AGAIN if letter.again else "")
        if letter.parcel is not None:
            self._outgoing[step, to] = letter.parcel
        if letter.parcel is not None and letter.again:
            self._due[step, to] = entry
        else:
            self._record(entry)
        return letter

    def _delivered(self, step: Step, to: str, letter: Letter) -> list[Answered]:
        asked = self._envelope(step, to, letter)
        reply = self._sent(to, asked)
        if letter.parcel is not None and self._lacking_brought(step, to, letter, reply, asked):
            asked = self._envelope(step, to, letter)
            reply = self._sent(to, asked)
        return self._office.answers_in(reply, asked, sender=to, take=partial(self._taken, to)) if reply else []

    def _lacking_brought(self, step: Step, to: str, letter: Letter, reply: bytes, asked: bytes) -> bool:
        """Bring somebody the parts of a message that it lacks by its own reply; whether there are any."""
        told, _ = self._office.told_in(reply, asked, sender=to)
        if "has" not in told:
            return False
        first = told["has"]
        if type(first) is not int or first < 0:
            raise ProtocolError(f"The answer of {to!r} cannot be read.")
        for number in range(first, -(-letter.size // self._spool.part)):
            part = replace(letter, content=self._leaving(step.name, to, number))
            sealed = self._envelope(step, to, part, number)
            self._office.told_in(self._sent(to, sealed), sealed, sender=to)
        return True

    def _leaving(self, step: str, to: str, number: int) -> bytes:
        """A part of a message, once the ledger knows that it leaves again."""
        parcel, entry = self._outgoing[step, to], self._due.pop((step, to), None)
        part = self._spool.read_part(parcel, number)
        if entry is not None:
            self._record(replace(entry, n_bytes=parcel.size - number * self._spool.part))
        return part

    # --- what arrives ---------------------------------------------------------------------------------------

    def answered(self, envelope: Envelope, message: Message | None, node: Node, began: float) -> bytes:
        """Have a node take a message, which may have come in parts, or a call, and answer."""
        about = envelope.about
        if about.parcel:
            message = self._spool.arrived(about.parcel)
        if message is not None:
            self._spool.hear(about.step, about.sender, about.parcel or digest_of(envelope.content))
        return super().answered(envelope, message, node, began)

    def part_of(self, envelope: Envelope, node: Node) -> bytes | None:
        """A part that was asked for, or how many there are of a message that is brought; None once all of them are."""
        about = envelope.about
        if about.part >= 0 and not envelope.content:
            parcel = self._outgoing.get((about.step, about.sender))
            if parcel is None or parcel.digest != about.parcel:
                raise ProtocolError(f"{self._office.me!r} has sent {about.sender!r} no such message in parts.")
            told = {"steps": [about.step], "parcels": [("", 0)]}
            return framed(json.dumps(told).encode(), self._leaving(about.step, about.sender, about.part))
        node.require_sender(about.step, about.sender)
        if self._incoming.setdefault((about.step, about.sender), about.parcel) != about.parcel:
            raise ProtocolError(f"{about.sender!r} has begun to send another message in the step {about.step!r}.")
        if about.part >= 0:
            self._spool.add_part(about.parcel, about.size, about.part, envelope.content)
        have = self._spool.have(about.parcel, about.size)
        if about.part < 0 and have == about.size:
            return None
        return framed(json.dumps({"has": have // self._spool.part}).encode())

    def _taken(self, sender: str, step: str, part: bytes, digest: str, size: int) -> Message:
        """A message that somebody answered with; those of its parts that are not here are asked for."""
        message = self._fetched(sender, step, digest, size) if digest else unpack(part, trusted=self._office.trusted)
        self._spool.hear(step, sender, digest or digest_of(part))
        return message

    def _fetched(self, sender: str, step: str, digest: str, size: int) -> Message:
        wanted = Letter(parcel=Parcel(self._spool.folder, digest, size))
        while (have := self._spool.have(digest, size)) < size:
            number = have // self._spool.part
            asked = self._envelope(self.protocol[step], sender, wanted, number)
            _, brought = self._office.told_in(self._sent(sender, asked), asked, sender=sender)
            self._spool.add_part(digest, size, number, b"".join(brought))
        return self._spool.arrived(digest)
