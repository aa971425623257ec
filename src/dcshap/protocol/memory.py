"""The carrier of the public classes: roles of one process call each other, and what travelled is written down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dcshap.collaboration.messages import Message, Sent
from dcshap.protocol.carrier import Answered, Carrier
from dcshap.protocol.cast import Cast
from dcshap.protocol.node import Node
from dcshap.protocol.steps import Protocol, Step

__all__ = ["MemoryCarrier", "run_in_memory"]


def run_in_memory(
    protocol: Protocol, cast: Cast, roles: Mapping[str, Any], *, conductor: str, sent: list[Sent]
) -> None:
    """Run a protocol between roles of this process.

    Parameters
    ----------
    protocol : Protocol
    cast : Cast
    roles : mapping of name to role
        The parties by name, the analyst, the requester: who takes part.
    conductor : str
        Who leads through the table.
    sent : list of Sent
        The record, to which a line for every message is added.
    """
    nodes: dict[str, Node] = {}
    for name, role in roles.items():
        nodes[name] = Node(name, protocol, cast, [role], MemoryCarrier(name, nodes, sent))
    nodes[conductor].conduct()


class MemoryCarrier(Carrier):
    """One role's way to the others of its process.

    Parameters
    ----------
    me : str
    nodes : mapping of name to Node
    sent : list of Sent
    """

    def __init__(self, me: str, nodes: Mapping[str, Node], sent: list[Sent]) -> None:
        self._me, self._nodes, self._sent = me, nodes, sent

    def bring(self, step: Step, messages: Mapping[str, Message | None]) -> list[Answered]:
        """Hand a message to each recipient, one after the other."""
        answered = []
        for recipient, message in messages.items():
            if message is not None:
                self._sent.append(Sent.of(self._me, recipient, message))
            answers = self._nodes[recipient].handle(step.name, self._me, message)
            self._sent.extend(Sent.of(recipient, self._me, answer.message) for answer in answers)
            answered.extend(answers)
        return answered
