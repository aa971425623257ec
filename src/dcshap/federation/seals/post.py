"""The carrier between organisations: what leaves is packed, written to the ledger, signed and sealed.

A `PostOffice` is what all sessions of a participant share. A `Post` is the carrier of one session. The bytes themselves
travel over a `Network`: NVIDIA FLARE's, or a simulated one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from typing import Protocol as Interface

from dcshap._machine import at_once, monotonic
from dcshap.collaboration.messages import REQUESTER, Message, Sent
from dcshap.exceptions import DcshapError, ProtocolError
from dcshap.federation.seals.envelopes import (
    MAX_AGE,
    About,
    CutShortError,
    Envelope,
    Opened,
    framed,
    identifier_of,
    open_envelope,
    require_parcel,
    seal,
    unframed,
)
from dcshap.federation.seals.identity import Certificate, Identity
from dcshap.federation.seals.ledger import Entry
from dcshap.federation.seals.progress import Progress
from dcshap.federation.seals.refusals import as_error, as_plain
from dcshap.federation.seals.spool import Letter
from dcshap.federation.seals.wire import pack, unpack
from dcshap.protocol import Answered, Carrier, Node, Protocol, Step
from dcshap.protocol.carrier import all_or_error

__all__ = ["Network", "Post", "PostOffice", "Record", "refusal"]

_SHARE = 0.8  # of the time that somebody waits for this participant, what it waits for others: it lives to say who
Take = Callable[[str, bytes, str, int], Message]
Record = Callable[[Entry], None]  # writes a line to the ledger, or refuses it
# Replies to requests are at least this long, and so much longer for each record: whoever carries them cannot tell a
# refusal from an answer.
_ROOM, _ROOM_PER_RECORD = 1 << 15, 1 << 12


class Network(Interface):
    """Brings bytes to another participant, and its answer back."""

    def send(self, to: str, data: bytes, *, patience: float) -> bytes:
        """What a participant answers; FederationError where it does not in time."""
        ...


@dataclass
class PostOffice:
    """What all sessions of a participant share."""

    me: str  # the participant's name in protocols
    identity: Identity
    directory: dict[str, Certificate] = field(default_factory=dict)  # whom this participant can seal to
    network: Network | None = None
    opened: Opened | None = None  # needed, as the network, where others send to this participant
    trusted: tuple[str, ...] = ()  # types beyond scikit-learn's own that a received model may contain
    # Is told of an envelope that was opened and is answered with an error, before the error leaves.
    refused: Callable[[Envelope, DcshapError], None] | None = None
    # How long others have worked on their last answer, by their own clocks, without waiting for third parties.
    seconds: dict[str, float] = field(default_factory=dict)

    def handle(self, sealed: bytes, find: Callable[[Envelope, Message | None], tuple[Node, Post]]) -> bytes:
        """Open an envelope, have the node that it is for take what is in it, and seal what it answers.

        Parameters
        ----------
        sealed : bytes
        find : callable
            Gives the node of the envelope's session, and its post; refuses a session that must not be.
        """
        try:
            envelope = open_envelope(self.identity, sealed, me=self.me)
        except DcshapError as error:  # from nobody who is known, so there is nobody to seal an answer to
            return refusal(error, site=self.me)
        began, message = monotonic(), None
        try:
            if self.opened is None:
                raise ProtocolError(f"{self.me!r} is sent nothing but answers.")
            self._require_met(envelope)
            self.opened.once(envelope)
            whole = bool(envelope.content) and not envelope.about.parcel
            message = unpack(envelope.content, trusted=self.trusted) if whole else None
            node, post = find(envelope, message)
            content = post.part_of(envelope, node) if envelope.about.parcel else None
            if content is None:
                content = post.answered(envelope, message, node, began)
        except DcshapError as error:
            content = framed(json.dumps({"error": as_plain(self._noted(envelope, error), site=self.me)}).encode())
        content, asked = _padded(content, message), envelope.about
        about = replace(asked, sender=self.me, recipient=asked.sender, patience=0.0, answers=envelope.identifier)
        return framed(b"", seal(self.identity, about, content, to=envelope.author))

    def _require_met(self, envelope: Envelope) -> None:
        """Refuse who bears the name of somebody whom this participant has met, with another certificate."""
        met = self.directory.get(envelope.about.sender)
        if envelope.about.step != "hello" and met is not None and met.pem != envelope.author.pem:
            raise ProtocolError(
                f"{self.me!r} has met {envelope.about.sender!r} with another certificate than this one."
            )

    def _noted(self, envelope: Envelope, error: DcshapError) -> DcshapError:
        """The error that is answered, once it was noted: that of noting it, where that failed."""
        try:
            if self.refused is not None:
                self.refused(envelope, error)
        except DcshapError as failed:
            return failed
        return error

    def answers_in(self, reply: bytes, asked: bytes, *, sender: str, take: Take | None = None) -> list[Answered]:
        """What somebody answered to an envelope of one's own.

        Parameters
        ----------
        reply, asked : bytes
        sender : str
            Who answered.
        take : callable, optional
            Reads a message of a step, given its bytes, or digest and size where it travels in parts.
        """
        told, parts = self.told_in(reply, asked, sender=sender)
        try:
            found = list(zip(told["steps"], parts, told["parcels"], strict=True))
            for _, _, parcel in found:
                require_parcel(*parcel)
        except (LookupError, TypeError, ValueError) as damage:
            raise ProtocolError(f"The answer of {sender!r} cannot be read.") from damage
        take = self._take_whole if take is None else take
        return [Answered(sender, str(step), take(str(step), part, *parcel)) for step, part, parcel in found]

    def _take_whole(self, step: str, part: bytes, digest: str, size: int) -> Message:  # noqa: ARG002 - as others take
        if digest:
            raise ProtocolError(f"{self.me!r} takes no messages in parts.")
        return unpack(part, trusted=self.trusted)

    def told_in(self, reply: bytes, asked: bytes, *, sender: str) -> tuple[dict[str, Any], list[bytes]]:
        """What a reply to an envelope of one's own says, and the parts in it; the error that it tells of is raised."""
        try:
            (refused, sealed), _ = unframed(reply, 2)
            error = json.loads(refused) if refused else None
            told, parts = ({}, []) if refused else self._read_answer(sealed, identifier_of(asked), sender)
            error = told.get("error", error)
        except (UnicodeDecodeError, json.JSONDecodeError, LookupError, TypeError, CutShortError) as damage:
            raise ProtocolError(f"The answer of {sender!r} cannot be read.") from damage
        if error is not None:
            raise as_error(error)
        return told, parts

    def _read_answer(self, sealed: bytes, asked: str, sender: str) -> tuple[dict[str, Any], list[bytes]]:
        """What an answer tells, and what is in it, if it answers what this participant asked."""
        envelope = open_envelope(self.identity, sealed, me=self.me)
        if envelope.about.sender != sender or envelope.about.answers != asked:
            raise ProtocolError(f"What is said to be the answer of {sender!r} answers something else.")
        (head,), rest = unframed(envelope.content, 1)
        told: dict[str, Any] = json.loads(head)
        self.seconds[sender] = float(told.get("seconds", 0.0))
        parts, _ = unframed(rest, len(told.get("steps", ())))
        return told, parts


def _padded(content: bytes, asked: Message | None) -> bytes:
    """A reply with room after it, where a request is answered; what is framed is read without it."""
    records = getattr(asked, "records", None)
    if not isinstance(records, tuple):
        return content
    room = _ROOM + _ROOM_PER_RECORD * len(records)
    return content + bytes(-len(content) % room)


def refusal(error: DcshapError, *, site: str) -> bytes:
    """A reply to somebody whom nothing can be sealed to: an error in clear text."""
    return framed(json.dumps(as_plain(error, site=site)).encode(), b"")


class Post(Carrier):
    """The carrier of one session.

    Parameters
    ----------
    office : PostOffice
    protocol : Protocol
    session : str
        Unlike that of every other session.
    record : callable
        Writes a line to the ledger before a message leaves, or refuses to let it leave.
    requester : str
        Who asks, for the ledger's lines; empty in training.
    n_records : int
        Of how many records messages disclose something.
    patience : float
        Seconds that others may take to answer.
    progress : Progress, optional
        Is told who has answered.
    """

    def __init__(
        self,
        office: PostOffice,
        protocol: Protocol,
        session: str,
        *,
        record: Record = lambda entry: None,  # noqa: ARG005 - a requester keeps no ledger
        requester: str = "",
        n_records: int = 0,
        patience: float = 60.0,
        progress: Progress | None = None,
    ) -> None:
        self._office, self.protocol, self._session, self._record = office, protocol, session, record
        self._requester, self._n_records, self._progress = requester, n_records, progress
        self.patience, self.waited = patience, 0.0
        self._packed: tuple[Message, Letter] | None = None

    def bring(self, step: Step, messages: Mapping[str, Message | None]) -> list[Answered]:
        """Send everybody's at the same time."""
        letters = {to: self._letter(step.name, to, message) for to, message in messages.items()}
        if self._progress is not None:
            self._progress.begin(step.name, list(messages))
        began = monotonic()
        outcomes = dict(zip(letters, at_once(lambda to: self._exchange(step, to, letters[to]), letters), strict=True))
        self.waited += monotonic() - began
        if self._progress is not None:
            self._progress.end()
        return all_or_error(outcomes)

    def sealed(self, step: Step, to: str, message: Message | None) -> bytes:
        """A message of a step, or the call for it, in an envelope."""
        return self._envelope(step, to, self._letter(step.name, to, message))

    def answered(self, envelope: Envelope, message: Message | None, node: Node, began: float) -> bytes:
        """Have a node take a message, or a call, and answer: the content of the reply."""
        about = envelope.about
        self.patience, self.waited = _SHARE * about.patience, 0.0
        answers = node.handle(about.step, about.sender, message)
        letters = [self._letter(answer.step, about.sender, answer.message) for answer in answers]
        told = {"steps": [a.step for a in answers], "parcels": [each.named for each in letters]}
        told["seconds"] = monotonic() - began - self.waited
        return framed(json.dumps(told).encode(), *(each.content for each in letters))

    def part_of(self, envelope: Envelope, node: Node) -> bytes | None:  # noqa: ARG002 - see `TrainingPost`
        """What is answered to an envelope about a message in parts; None where the message itself is to be answered."""
        raise ProtocolError("Messages in parts belong to a training. This one does not.")

    def _letter(self, step: str, to: str, message: Message | None) -> Letter:  # noqa: ARG002 - of use where parts are
        """A message as it is sent, once the ledger has it; nothing for a call."""
        if message is None:
            return Letter()
        letter = self._packed_once(message)
        self._record(self._entry(to, message, letter))
        return letter

    def _packed_once(self, message: Message) -> Letter:
        if self._packed is None or self._packed[0] is not message:  # the model is one message for all parties
            self._packed = (message, self._as_letter(message))
        return self._packed[1]

    def _as_letter(self, message: Message) -> Letter:
        return Letter(pack(message))

    def _entry(self, to: str, message: Message, letter: Letter) -> Entry:
        sent, recipient = Sent.of("", to, message), self._requester if to == REQUESTER else to
        return Entry(recipient, sent.kind, letter.size, sent.shapes, self._session, self._requester, self._n_records)

    def _envelope(self, step: Step, to: str, letter: Letter, part: int = -1) -> bytes:
        certificate = self._office.directory.get(to) if step.sealed else None
        if step.sealed and certificate is None:
            raise ProtocolError(f"{self._office.me!r} has no certificate of {to!r} to seal to.")
        about = About(self._office.me, to, self.protocol.name, self._session, step.name, min(self.patience, MAX_AGE))
        digest, size = letter.named
        about = replace(about, parcel=digest, size=size, part=part)
        return seal(self._office.identity, about, letter.content, to=certificate)

    def _exchange(self, step: Step, to: str, letter: Letter) -> list[Answered] | DcshapError:
        try:
            found = self._delivered(step, to, letter)
            if self._progress is not None:
                self._progress.answered(to)
        except DcshapError as error:
            return error
        return found

    def _delivered(self, step: Step, to: str, letter: Letter) -> list[Answered]:
        asked = self._envelope(step, to, letter)
        reply = self._sent(to, asked)
        return self._office.answers_in(reply, asked, sender=to) if reply else []

    def _sent(self, to: str, sealed: bytes) -> bytes:
        """Bring an envelope to somebody; the reply."""
        if self._office.network is None:
            raise ProtocolError(f"{self._office.me!r} has no network to send by.")
        if self._progress is not None:
            self._progress.moved(sent=len(sealed))
        reply = self._office.network.send(to, sealed, patience=self.patience)
        if self._progress is not None:
            self._progress.moved(received=len(reply))
        return reply
