"""What can go wrong in a rehearsal, and when: a fault is an event's number, a kind, and how exactly."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FAULTS", "Fault", "Killed"]

# What can happen at each kind of event.
FAULTS: dict[str, tuple[str, ...]] = {
    "message": ("lose", "double", "delay", "reorder", "truncate", "corrupt", "kill", "kill sender", "clock"),
    "reply": ("lose", "delay", "reorder", "truncate", "corrupt", "kill", "kill sender"),
    "write": ("fail", "full", "tear", "kill", "kill after"),
    "order": ("reorder",),
}


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong.

    Attributes
    ----------
    at : int
        The number of the event at which it happens: a message, a reply, a write to a disk, or messages to several.
    kind : str
        - lose: nothing arrives. double: it arrives twice. delay: it arrives when its sender has given up.
        - reorder: something earlier arrives before it, or instead of it. truncate, corrupt: it arrives damaged.
        - kill, kill sender: the role's process ends, and is started again later.
        - clock: the recipient's clock is turned.
        - fail, full: a write fails, or finds no room in the middle. tear: the process ends in the middle of it.
    how : int
        Decides what the kind leaves open: which byte, how late, by how much.
    """

    at: int
    kind: str
    how: int = 0


class Killed(BaseException):
    """A process has ended. Nothing of it goes on: no clean-up, no answer."""

    def __init__(self, who: str) -> None:
        super().__init__(who)
        self.who = who
