"""Who plays which role of a protocol in one run, and so which messages each step stands for."""

from __future__ import annotations

from dataclasses import dataclass

from dcshap.collaboration.messages import ANALYST, REQUESTER
from dcshap.protocol.steps import Role, Step

__all__ = ["Cast"]


@dataclass(frozen=True)
class Cast:
    """The names behind the roles."""

    parties: tuple[str, ...]  # in the order of their names; the first leads
    holder: str | None = None  # the vertical party that holds the labels
    viewers: tuple[str, ...] = ()  # the parties through whose eyes a request wants an explanation

    def pairs(self, step: Step) -> list[tuple[str, str]]:
        """The (sender, recipient) of each message that a step stands for."""
        return [
            (sender, recipient)
            for sender in self._playing(step.sender)
            for recipient in self._playing(step.recipient)
            if sender != recipient and (step.recipient != "later" or sender < recipient)
        ]

    def _playing(self, role: Role) -> tuple[str, ...]:
        if role == "analyst":
            return (ANALYST,)
        if role == "requester":
            return (REQUESTER,)
        if role == "lead":
            return self.parties[:1]
        if role == "holder":
            return () if self.holder is None else (self.holder,)
        if role == "guest":
            return () if self.holder is None else tuple(name for name in self.parties if name != self.holder)
        return self.viewers if role == "viewer" else self.parties
