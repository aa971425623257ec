"""A role in one run of a protocol: it takes the messages that the table allows, and sends those that it asks for.

The role itself (a party, the analyst, a requester) only computes: for a step called "anchor" it has `send_anchor`,
which makes the message for one recipient, or `receive_anchor`, which takes it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dcshap.collaboration.messages import Message
from dcshap.exceptions import ProtocolError
from dcshap.protocol.carrier import Answered, Carrier
from dcshap.protocol.cast import Cast
from dcshap.protocol.steps import CALL, Protocol, Step
from dcshap.protocol.turns import Turns

__all__ = ["Node"]


class Node:
    """One role in one run.

    Several objects may play it together: the first that has the method `send_<step>` or `receive_<step>` is asked.
    """

    def __init__(self, me: str, protocol: Protocol, cast: Cast, roles: Sequence[Any], carrier: Carrier) -> None:
        self.me, self.protocol = me, protocol
        self._roles, self._carrier = roles, carrier
        self._turns = Turns(protocol, cast, me)
        self._lock = threading.RLock()  # held while the role computes, not while others are waited for
        self._waiting: dict[str, list[Answered]] = {}

    def conduct(self) -> None:
        """Lead the run through its table."""
        for step in self.protocol:
            senders = dict.fromkeys(sender for sender, _ in self._turns.cast.pairs(step))
            if step.on is None and self.me in senders:
                self._send(step, self._turns.recipients(step))
            elif step.on == CALL:
                self._bring(step, dict.fromkeys(senders))

    def handle(self, step: str, sender: str, message: Message | None) -> list[Answered]:
        """Take a message, or a call for a step of one's own; what is answered to whoever sent it."""
        with self._answering(sender) as answers:
            if message is None:
                with self._lock:
                    called = self._turns.call(step, sender)
                self._send(called, self._turns.recipients(called))
            else:
                self._receive(step, sender, message)
        return answers

    @property
    def finished(self) -> bool:
        """Whether this role has no part left to play."""
        return self._turns.finished

    def require_sender(self, step: str, sender: str) -> None:
        """Refuse what the table does not have somebody send this role."""
        if (sender, self.me) not in self._turns.cast.pairs(self.protocol[step]):
            raise ProtocolError(f"The step {step!r} is not sent by {sender!r} to {self.me!r}.")

    @contextmanager
    def _answering(self, sender: str) -> Iterator[list[Answered]]:
        """While a message is handled, what this role sends to its sender is the answer to it."""
        with self._lock:
            if sender in self._waiting:
                raise ProtocolError(f"{self.me!r} is still busy with the message before from {sender!r}.")
            answers = self._waiting[sender] = []
        try:
            yield answers
        finally:
            del self._waiting[sender]

    def _receive(self, name: str, sender: str, message: Message) -> None:
        with self._lock:
            step = self._turns.receive(name, sender, message)
            self._method("receive", step)(message, **step.round)
            cued = self._turns.cued_by(step, sender)
        for each, to in cued:
            self._send(each, to)

    def _send(self, step: Step, to: Sequence[str]) -> None:
        messages: dict[str, Message | None] = {}
        for recipient in to:
            with self._lock:
                self._turns.send(step, recipient)
                message = self._method("send", step)(recipient, **step.round)
            if recipient in self._waiting:
                self._waiting[recipient].append(Answered(self.me, step.name, message))
            else:
                messages[recipient] = message
        if messages:
            self._bring(step, messages)

    def _bring(self, step: Step, messages: dict[str, Message | None]) -> None:
        for answer in self._carrier.bring(step, messages):
            self._receive(answer.step, answer.sender, answer.message)

    def _method(self, verb: str, step: Step) -> Callable[..., Any]:
        name = f"{verb}_{step.method}"
        for role in self._roles:
            if hasattr(role, name):
                method: Callable[..., Any] = getattr(role, name)
                return method
        raise ProtocolError(f"{self.me!r} has no part in the step {step.name!r}.")
