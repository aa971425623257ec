"""A network in one process: bytes go from site to site by function calls, and whatever is to be rehearsed goes wrong.

With it sealed protocols run without an engine: the same sites, envelopes and ledgers as between organisations. With a
`World` everything comes from one seed: time, random numbers, the order of things, and every fault.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dcshap.exceptions import FederationError
from dcshap.protocol.faults import Fault, Killed
from dcshap.protocol.world import World

__all__ = ["FaultyNetwork", "SimulatedNetwork"]

Handler = Callable[[bytes], bytes]
Tamper = Callable[[str, bytes], bytes]  # recipient and bytes on their way -> what arrives


def _unchanged(to: str, data: bytes) -> bytes:  # noqa: ARG001
    return data


@dataclass
class SimulatedNetwork:
    """Participants by name, and what passed between them."""

    participants: dict[str, Handler] = field(default_factory=dict)  # by name: takes what arrives, gives the reply
    carried: list[bytes] = field(default_factory=list)  # everything that was on its way, as who carries it sees it
    silent: set[str] = field(default_factory=set)  # who does not answer
    tamper: Tamper = _unchanged  # changes what is on its way

    def send(self, to: str, data: bytes, *, patience: float) -> bytes:
        """Bring bytes to a participant, and its reply back."""
        self.carried.append(data)
        if to in self.silent or to not in self.participants:
            raise FederationError(f"No answer from {to!r} within {patience:g} s. Is it running?")
        reply = self.participants[to](self.tamper(to, data))
        self.carried.append(reply)
        return reply


@dataclass
class FaultyNetwork(SimulatedNetwork):
    """A network on which messages and replies meet the faults of a world. One thread, and the world's own time."""

    world: World = field(default_factory=World)
    doors: dict[str, str] = field(default_factory=dict)  # other names by which a role is reached
    _late: list[tuple[int, str, bytes]] = field(default_factory=list)
    _messages: dict[str, bytes] = field(default_factory=dict)  # the last one to each
    _replies: dict[str, bytes] = field(default_factory=dict)  # the last one of each

    def send(self, to: str, data: bytes, *, patience: float) -> bytes:
        """Bring bytes to a participant, and its reply back."""
        world = self.world
        sender, until = world.acting, world.time + patience
        self._deliver_late()
        fault = world.event("message", f"{sender} to {to}, {len(data)} bytes")
        if fault is not None and fault.kind == "kill sender":
            raise world.killed(sender, fault)
        self.carried.append(data)
        reply = self._brought(to, data, fault)
        if reply is not None:
            reply = self._back(to, reply)
        world.require_alive(sender)
        if reply is None or world.time > until:
            world.time = max(world.time, until)
            raise FederationError(f"No answer from {to!r} within {patience:g} s. Is it running?")
        return reply

    def settle(self) -> None:
        """Bring everything that is still on its way."""
        self._late = [(0, to, data) for _, to, data in self._late]
        self._deliver_late()

    def _brought(self, to: str, data: bytes, fault: Fault | None) -> bytes | None:
        """What a participant answers to a message; None where it does not."""
        arriving, kind = [data], "" if fault is None else fault.kind
        if fault is not None:
            if kind in ("lose", "delay"):
                arriving = []
            elif kind == "double":
                arriving *= 2
            elif kind == "reorder":
                arriving.insert(0, self._messages.get(to, data))
            else:
                arriving = [_damaged(data, fault)]
            if kind == "delay":
                self._late.append((self.world.count + 1 + fault.how % 20, to, data))
            elif kind == "kill":
                self.world.kill(self._role(to), fault)
            elif kind == "clock":
                self.world.turn_clock(self._role(to), fault)
        self._messages[to] = data
        replies = [self._delivered(to, each) for each in arriving]
        return replies[-1 if kind == "reorder" else 0] if replies else None

    def _delivered(self, to: str, data: bytes) -> bytes | None:
        world, role = self.world, self._role(to)
        world.restart_due()
        if to in self.silent or to not in self.participants or world.is_down(role):
            return None
        try:
            with world.as_actor(role):
                reply = self.participants[to](data)
        except Killed as error:
            if error.who != role:
                raise
            return None
        self.carried.append(reply)
        return reply

    def _back(self, to: str, reply: bytes) -> bytes | None:
        """A reply as it arrives; None where it does not."""
        world, sender = self.world, self.world.acting
        fault = world.event("reply", f"{to} to {sender}, {len(reply)} bytes")
        before, self._replies[to] = self._replies.get(to), reply
        if fault is None:
            return reply
        if fault.kind == "kill":
            world.kill(self._role(to), fault)
        if fault.kind == "kill sender":
            raise world.killed(sender, fault)
        if fault.kind == "reorder":
            return before
        return None if fault.kind in ("lose", "delay", "kill") else _damaged(reply, fault)

    def _role(self, name: str) -> str:
        return self.doors.get(name, name)

    def _deliver_late(self) -> None:
        """Bring what is due by now to those who are not busy. Whoever sent it has given up."""
        world = self.world
        due = [each for each in self._late if each[0] <= world.count and not world.is_busy(self._role(each[1]))]
        self._late = [each for each in self._late if each not in due]
        for _, to, data in due:
            self._delivered(to, data)


def _damaged(data: bytes, fault: Fault) -> bytes:
    if not data or fault.kind not in ("truncate", "corrupt"):
        return data
    at = fault.how % len(data)
    if fault.kind == "truncate":
        return data[:at]
    return data[:at] + bytes([data[at] ^ (1 + fault.how % 255)]) + data[at + 1 :]
