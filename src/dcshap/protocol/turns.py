"""What has been sent in one run of a protocol, as one of its roles knows; the table refuses everything else."""

from __future__ import annotations

from dcshap.collaboration.messages import ANALYST, Message
from dcshap.exceptions import ProtocolError
from dcshap.protocol.cast import Cast
from dcshap.protocol.steps import CALL, Protocol, Step

__all__ = ["Turns"]


class Turns:
    """Checks every message of one run against the table, and remembers it, as one of its roles (`me`) sees it."""

    def __init__(self, protocol: Protocol, cast: Cast, me: str) -> None:
        self.protocol, self.cast, self.me = protocol, cast, me
        self._done: set[tuple[str, str, str]] = set()
        self._called: set[str] = set()

    def receive(self, name: str, sender: str, message: Message) -> Step:
        """Note a message that has arrived, if the table lets it come now, from this sender."""
        step = self.protocol[name]
        if not isinstance(message, step.message):
            raise ProtocolError(f"The step {name!r} takes another message than {type(message).__name__}.")
        named = getattr(message, "party", None)
        if named not in (None, self.me if sender == ANALYST else sender):
            meant = "meant for another" if sender == ANALYST else "in another's name"
            raise ProtocolError(f"{sender!r} sent {self.me!r} a {type(message).__name__} {meant}.")
        self._note(step, sender, self.me)
        return step

    def send(self, step: Step, recipient: str) -> None:
        """Note a message that is about to leave, if the table lets it go now, to this recipient."""
        self._note(step, self.me, recipient)

    def call(self, name: str, caller: str) -> Step:
        """Note that the analyst calls for a step; nobody else may, and once only."""
        step = self.protocol[name]
        if step.on != CALL or caller != ANALYST or not self.recipients(step):
            raise ProtocolError(f"{self.me!r} sends {name!r} when the table says so. {caller!r} cannot call for it.")
        if name in self._called:
            raise ProtocolError(f"The step {name!r} was called for before: each is taken once.")
        self._require_earlier(step)
        self._called.add(name)
        return step

    @property
    def finished(self) -> bool:
        """Whether nothing is left that this role sends, or is sent."""
        return all(self._complete(step) for step in self.protocol)

    def recipients(self, step: Step) -> list[str]:
        """To whom this role sends in a step."""
        return [recipient for sender, recipient in self.cast.pairs(step) if sender == self.me]

    def cued_by(self, step: Step, sender: str) -> list[tuple[Step, list[str]]]:
        """What this role sends now that a message has arrived, and to whom.

        An answer goes to whoever sent the message. What goes to others waits for all messages of the step.
        """
        found = []
        for each in self.protocol:
            if each.on != step.name:
                continue
            to = self.recipients(each)
            if each.recipient == step.sender:
                found.append((each, [name for name in to if name == sender]))
            elif self._complete(step, arriving=True):
                found.append((each, to))
        return [(each, to) for each, to in found if to]

    def _note(self, step: Step, sender: str, recipient: str) -> None:
        if (sender, recipient) not in self.cast.pairs(step):
            raise ProtocolError(f"The step {step.name!r} is not sent by {sender!r} to {recipient!r}.")
        if (step.name, sender, recipient) in self._done:
            raise ProtocolError(f"The step {step.name!r} from {sender!r} was taken before: each is taken once.")
        self._require_earlier(step)
        self._done.add((step.name, sender, recipient))

    def _require_earlier(self, step: Step) -> None:
        for name in step.after:
            if name in self.protocol and not self._complete(self.protocol[name]):
                raise ProtocolError(f"The step {step.name!r} comes after {name!r}, which is not complete.")

    def _complete(self, step: Step, *, arriving: bool = False) -> bool:
        """Whether every message of a step from or to this role has been sent, or every one to it has arrived."""
        mine = [pair for pair in self.cast.pairs(step) if self.me in (pair[1:] if arriving else pair)]
        return all((step.name, *pair) in self._done for pair in mine)
