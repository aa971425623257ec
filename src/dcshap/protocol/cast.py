"""Who plays which role of a protocol in one run, and so which messages each step stands for."""

from __future__ import annotations

from dataclasses import dataclass

from dcshap.collaboration.messages import ANALYST, REQUESTER
from dcshap.protocol.steps import Role, Step

__all__ = ["Cast"]


@dataclass(frozen=True)
class Cast:
    """The names behind the roles.

    Attributes
    ----------
    parties : tuple of str
        In the order of their names; the first leads.
    holder : str, optional
        The vertical party that holds the labels.
    viewers : tuple of str
        The parties through whose eyes a request wants an explanation.
    """

    parties: tuple[str, ...]
    holder: str | None = None
    viewers: tuple[str, ...] = ()

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
