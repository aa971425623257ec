"""Where a rehearsal takes place: one clock, one seed, processes that end and start again, and failing disks."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeVar

from dcshap._disk import Disk
from dcshap._machine import Machine
from dcshap.protocol.faults import FAULTS, Fault, Killed

__all__ = ["FaultyDisk", "World"]

Item = TypeVar("Item")
Found = TypeVar("Found")
_MOMENT = 0.01  # seconds that every event takes
_BEGINS = 1.7e9  # where the clocks begin, in seconds since 1970


@dataclass(frozen=True)
class _Process:
    """A role's process: its name, and how many of that name came before it."""

    who: str
    number: int


class World(Machine):
    """Everything that a rehearsal does not leave to the machine. The same seed and faults give the same bytes.

    Parameters
    ----------
    seed : int
    faults : sequence of Fault

    Attributes
    ----------
    time : float
        Seconds since the beginning.
    count : int
        Events so far. They count while `counting` is true.
    journal : list of (str, str)
        Each event's kind, and what it was.
    happened : list of Fault
        The faults whose event has come.
    restart : callable
        Starts a role's process again, by its name.
    branch : callable
        Is told the kind of each event, and may give a fault for it.
    """

    def __init__(self, seed: int = 0, faults: Sequence[Fault] = ()) -> None:
        self.time, self.count, self.counting = 0.0, 0, False
        self.journal: list[tuple[str, str]] = []
        self.happened: list[Fault] = []
        self.restart: Callable[[str], None] = lambda who: None  # noqa: ARG005
        self.branch: Callable[[str], Fault | None] = lambda kind: None  # noqa: ARG005
        self._seed = seed
        self._faults = {fault.at: fault for fault in faults}
        self._chance: dict[str, Random] = {}
        self._offsets: dict[str, float] = {}
        self._numbers: dict[str, int] = {}
        self._down: dict[str, int] = {}  # who, and after which event it is started again
        self._stack: list[_Process] = []

    # --- what roles take from the machine ---------------------------------------------------------------------

    def now(self) -> float:
        """The time on the acting role's clock."""
        return _BEGINS + self.time + self._offsets.get(self.acting, 0.0)

    def monotonic(self) -> float:
        """Seconds since the beginning."""
        return self.time

    def random_bytes(self, n: int) -> bytes:
        """Bytes from the acting role's own stream of the seed."""
        who = self.acting
        if who not in self._chance:
            self._chance[who] = Random(f"{self._seed} {who}")  # noqa: S311 - a rehearsal, and to be replayed
        return self._chance[who].randbytes(n)

    def at_once(self, function: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
        """One after the other, in the time that the slowest takes."""
        each = list(items)
        order = list(range(len(each)))
        if len(each) > 1 and self.event("order", f"{self.acting} to {len(each)}") is not None:
            order.reverse()
        began, ended, found = self.time, self.time, {}
        for at in order:
            self.time = began
            found[at] = function(each[at])
            ended = max(ended, self.time)
        self.time = ended
        return [found[at] for at in range(len(each))]

    # --- events -------------------------------------------------------------------------------------------------

    def event(self, kind: str, what: str) -> Fault | None:
        """Note that something happens; the fault that comes with it."""
        self.time += _MOMENT
        if not self.counting:
            return None
        self.count += 1
        self.journal.append((kind, what))
        fault = self._faults.get(self.count) or self.branch(kind)
        if fault is None or fault.kind not in FAULTS[kind]:  # at random, a kind may not fit what happens
            return None
        self.happened.append(fault)
        return fault

    def add(self, faults: Iterable[Fault]) -> None:
        """Let more things go wrong."""
        self._faults |= {fault.at: fault for fault in faults}

    def turn_clock(self, who: str, fault: Fault) -> None:
        """Turn a role's clock by an hour or less, forward or back."""
        self._offsets[who] = (3600.0, -3600.0, 400.0, -400.0)[fault.how % 4]

    # --- processes ----------------------------------------------------------------------------------------------

    @property
    def acting(self) -> str:
        """Whose code runs now."""
        return self._stack[-1].who if self._stack else ""

    @contextmanager
    def as_actor(self, who: str) -> Iterator[None]:
        """Whatever is done inside is done by a role's process."""
        self._stack.append(_Process(who, self._numbers.get(who, 0)))
        try:
            yield
        finally:
            self._stack.pop()

    def is_busy(self, who: str) -> bool:
        """Whether a role waits for others, or computes."""
        return any(process.who == who for process in self._stack)

    def is_down(self, who: str) -> bool:
        """Whether a role's process has ended and was not started again."""
        return who in self._down

    def kill(self, who: str, fault: Fault) -> None:
        """End a role's process, to be started again some events later."""
        self._numbers[who] = self._numbers.get(who, 0) + 1
        self._down[who] = self.count + fault.how % 30

    def killed(self, who: str, fault: Fault) -> Killed:
        """End the acting role's process."""
        self.kill(who, fault)
        return Killed(who)

    def require_alive(self, who: str) -> None:
        """End what a process does that was killed while it waited."""
        if self._stack and self._stack[-1].number != self._numbers.get(who, 0):
            raise Killed(who)

    def restart_due(self) -> None:
        """Start again whoever is due."""
        for who in [who for who, at in self._down.items() if at < self.count]:
            self._start(who)

    def start_again(self, who: str) -> None:
        """Start a role's process now, if it has ended."""
        if who in self._down:
            self._start(who)

    def settle(self) -> None:
        """No more faults: everybody is started again, and the clocks are set."""
        self.counting, self._offsets = False, {}
        for who in list(self._down):
            self._start(who)

    def _start(self, who: str) -> None:
        del self._down[who]
        self.restart(who)


class FaultyDisk(Disk):
    """A disk whose changes fail as the world says. What a process that has ended would still write is not written.

    Attributes
    ----------
    changed : set of str
        The paths that may be other than they were: of files, of folders, and of all that was in them.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.changed: set[str] = set()

    def make_folder(self, path: Path) -> None:
        """Make a folder."""
        self._change("make", path, lambda: super(FaultyDisk, self).make_folder(path))

    def write(self, path: Path, data: bytes, *, size: int) -> None:
        """Write bytes, or half of them."""
        half = data[: len(data) // 2]
        self._change("write", path, lambda: _write(path, data, size), torn=lambda: _write(path, half, size))

    def reserve(self, path: Path, size: int) -> None:
        """Refuse: what is written to a file that is mapped to memory is not seen here."""
        raise NotImplementedError(f"{path.name} is too large for a rehearsal: {size} bytes.")

    def rename(self, path: Path, target: Path) -> None:
        """Give a file or folder another name."""

        def change() -> None:
            super(FaultyDisk, self).rename(path, target)
            self.changed |= _inside(target)

        self._change("rename", path, change)

    def remove(self, path: Path) -> None:
        """Remove a folder; what cannot be removed stays."""
        try:
            self._change("remove", path, lambda: super(FaultyDisk, self).remove(path))
        except OSError:
            return

    @contextmanager
    def lock(self, folder: Path) -> Iterator[None]:
        """Nobody else writes at the same time."""
        self.changed.add(str(folder))  # it may have been made for this
        yield

    def _change(
        self, what: str, path: Path, change: Callable[[], None], *, torn: Callable[[], None] = lambda: None
    ) -> None:
        world = self._world
        who = world.acting
        world.require_alive(who)
        self.changed.add(str(path))  # the folders above it may have been made for this
        fault = world.event("write", f"{who} {what}")
        self.changed |= _inside(path)
        if fault is None:
            change()
        elif fault.kind == "fail":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        elif fault.kind == "full":
            torn()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        else:
            {"tear": torn, "kill after": change}.get(fault.kind, lambda: None)()
            raise world.killed(who, fault)


def _inside(path: Path) -> set[str]:
    """A path, and everything in it where it is a folder."""
    return {str(path), *map(str, path.rglob("*"))} if path.is_dir() else {str(path)}


def _write(path: Path, data: bytes, size: int) -> None:
    """Write to memory: there is nothing to wait for."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    os.ftruncate(descriptor, size)
    os.pwrite(descriptor, data, size)
    os.close(descriptor)
