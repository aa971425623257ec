"""A party's post: sealed envelopes to other parties, each written to the ledger before it leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dcshap.collaboration.messages import Message, Sent
from dcshap.exceptions import ProtocolError
from dcshap.federation.identity import Certificate, Envelope, Identity
from dcshap.federation.ledger import Entry, Ledger
from dcshap.federation.wire import pack

__all__ = ["Carry", "Post"]

_SHARE = 0.8  # of the time that the analyst waits for a party, what that party waits for another
Carry = Callable[[str, str, bytes, float], bytes]  # recipient, step, envelope, timeout -> the envelope that answers


class Post:
    """Exchanges envelopes with other parties.

    Parameters
    ----------
    identity : Identity
    ledger : Ledger
    carry : callable
        Brings an envelope to another party, and its answer back.
    """

    def __init__(self, identity: Identity, ledger: Ledger, *, carry: Carry) -> None:
        self.identity, self.ledger, self.run = identity, ledger, ""
        self._carry = carry
        self._seen: set[str] = set()
        self.directory: dict[str, Certificate] = {}

    def introduce(self, certificates: Mapping[str, str], *, run: str) -> None:
        """Take the other parties' certificates, each checked against the project's root and its owner's name.

        Envelopes are for one run: those of another do not open.
        """
        self.run = run
        self.directory = {name: self.identity.check(pem, name=name) for name, pem in certificates.items()}
        if self.identity.name not in self.directory:
            raise ProtocolError(f"Party {self.identity.name!r} is not among those of this run.")

    @property
    def parties(self) -> list[str]:
        """All parties of the run by name; the first leads."""
        return sorted(self.directory)

    @property
    def others(self) -> list[str]:
        """All other parties of the run."""
        return [name for name in self.parties if name != self.identity.name]

    def exchange(self, to: str, step: str, content: bytes, *, timeout: float) -> bytes:
        """Send sealed content to another party; what it answers.

        `timeout` is what the analyst waits for this party. The other must answer sooner, so that this one lives to say
        who did not.
        """
        if to not in self.directory:
            raise ProtocolError(f"There is no party {to!r} in this run.")
        sealed = self.identity.seal(content, to=self.directory[to], purpose=self._purpose(step))
        answer = self._carry(to, step, sealed, _SHARE * timeout)
        return self.identity.open(answer, purpose=self._purpose(f"{step} answered"), sender=to).content

    def open(self, sealed: bytes, step: str) -> Envelope:
        """Open what another party of the run has sent; each envelope once."""
        envelope = self.identity.open(sealed, purpose=self._purpose(step))
        if envelope.sender not in self.directory:
            raise ProtocolError(f"An envelope came from {envelope.sender!r}, who is no party of this run.")
        if envelope.identifier in self._seen:
            raise ProtocolError("An envelope is opened once. This one was opened before.")
        self._seen.add(envelope.identifier)
        return envelope

    def answer(self, envelope: Envelope, step: str, content: bytes) -> bytes:
        """Seal an answer to whoever sent an envelope."""
        to = self.directory[envelope.sender]
        return self.identity.seal(content, to=to, purpose=self._purpose(f"{step} answered"))

    def recorded(self, message: Message, *, to: str) -> bytes:
        """A message as bytes, once the ledger has it."""
        data = pack(message)
        self.ledger.append(entry_of(message, to=to, n_bytes=len(data), request=self.run))
        return data

    def _purpose(self, step: str) -> str:
        return f"{self.run}/{step}"


def entry_of(
    message: Message, *, to: str, n_bytes: int, request: str, requester: str = "", n_records: int = 0
) -> Entry:
    """The ledger's line for a message."""
    sent = Sent.of("", to, message)
    return Entry(to, sent.kind, n_bytes, dict(sent.shapes), request, requester, n_records)
