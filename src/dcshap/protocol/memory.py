"""The carrier of the public classes: roles of one process call each other, and what travelled is written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dcshap.collaboration.messages import Message
from dcshap.protocol.carrier import Answered, Carrier
from dcshap.protocol.cast import Cast
from dcshap.protocol.node import Node
from dcshap.protocol.steps import Protocol, Step

__all__ = ["MemoryCarrier", "run_in_memory"]

Record = Callable[[str, str, Message], None]


def run_in_memory(protocol: Protocol, cast: Cast, roles: Mapping[str, Any], *, conductor: str, record: Record) -> None:
    """Run a protocol between roles of this process: the parties by name, the analyst, the requester.

    The `conductor` leads through the table; `record` is told of every message: sender, recipient and the message.
    """
    nodes: dict[str, Node] = {}
    for name, role in roles.items():
        nodes[name] = Node(name, protocol, cast, [role], MemoryCarrier(name, nodes, record))
    nodes[conductor].conduct()


class MemoryCarrier(Carrier):
    """One role's way to the others of its process."""

    def __init__(self, me: str, nodes: Mapping[str, Node], record: Record) -> None:
        self._me, self._nodes, self._record = me, nodes, record

    def bring(self, step: Step, messages: Mapping[str, Message | None]) -> list[Answered]:
        """Hand a message to each recipient, one after the other."""
        answered = []
        for recipient, message in messages.items():
            if message is not None:
                self._record(self._me, recipient, message)
            answers = self._nodes[recipient].handle(step.name, self._me, message)
            for answer in answers:
                self._record(recipient, self._me, answer.message)
            answered.extend(answers)
        return answered
