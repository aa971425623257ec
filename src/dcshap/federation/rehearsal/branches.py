"""Many rehearsals for the price of one: at every event of a run, copies of the process go on with a fault each.

What comes before a fault is done once for all of them. A copy works in the run's own folder, while the run waits; then
what it has changed there is put back. Any of them can be replayed alone: a `Schedule` says all of it.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
from collections.abc import Callable
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, NoReturn

import psutil

from dcshap.federation.rehearsal.play import Play
from dcshap.federation.rehearsal.schedule import Rehearsal, Schedule
from dcshap.federation.rehearsal.stage import RESUMED, SCENES, Stage
from dcshap.federation.rehearsal.verdict import Verdict
from dcshap.protocol.faults import FAULTS, Fault

__all__ = ["COPIES", "Result", "every_fault", "faults_from", "random_faults", "random_scenes"]

# Seconds of processor time that a copy of the process may take, of which it needs a tenth of one; and real seconds in
# which it must have had some, as it has on a busy machine too, unless it waits for itself.
_PATIENCE = 60.0
COPIES = 2  # at each event
Choose = Callable[[int, str], list[tuple[Fault, ...]]]  # an event's number and kind -> what goes wrong in each copy


@dataclass(frozen=True)
class Result:
    """A schedule, what did not hold in it, and how many of its faults came."""

    schedule: Schedule
    verdict: Verdict
    n_faults: int


def every_fault(stage: Stage, scene: str, seed: int = 0) -> list[Result]:
    """Each fault at each event of a scene, one at a time."""

    def choose(at: int, kind: str) -> list[tuple[Fault, ...]]:
        return [(Fault(at, fault, how=101 * at + 37 * number),) for number, fault in enumerate(FAULTS[kind])]

    return _Branches(stage, Schedule((scene,), (), seed), choose).results()


def random_scenes(kind: str, seed: int) -> tuple[str, ...]:
    """What is done in a rehearsal, by chance."""
    chance, known = Random(f"scenes {seed}"), SCENES[kind]  # noqa: S311 - to be replayed
    weights = [1, 2] if kind == "horizontal" else [1, 2, 4, 4, 4, 4]
    return tuple(chance.choices(known, weights, k=chance.randint(1, 3)))


def random_faults(stage: Stage, seed: int, *, since: int, most: int) -> list[Result]:
    """At every event of a rehearsal `COPIES` copies go on, each with a fault there and others later.

    The first copies are left out, as many as `since` says, and those after the first `most` results. The last result is
    that of the run without faults.
    """

    def choose(at: int, kind: str) -> list[tuple[Fault, ...]]:
        wanted = [copy for copy in range(COPIES) if since <= COPIES * (at - 1) + copy < since + most]
        return [faults_from(at, kind, seed=seed, copy=copy) for copy in wanted]

    return _Branches(stage, Schedule(random_scenes(stage.kind, seed), (), seed), choose).results()[:most]


def faults_from(at: int, kind: str, *, seed: int, copy: int) -> tuple[Fault, ...]:
    """What goes wrong in one copy: something at an event of a kind, and more later."""
    kinds = sorted({fault for found in FAULTS.values() for fault in found})
    chance = Random(f"{seed} {at} {copy}")  # noqa: S311 - to be replayed
    faults = [Fault(at, chance.choice(FAULTS[kind]), chance.getrandbits(16))]
    for _ in range(min(1 + int(chance.expovariate(0.5)), 8)):
        later = faults[-1].at + 1 + int(chance.expovariate(0.05))
        faults.append(Fault(later, chance.choice(kinds), chance.getrandbits(16)))
    return tuple(faults)


class _Branches:
    """A rehearsal without faults, and the copies of it that go wrong."""

    def __init__(self, stage: Stage, schedule: Schedule, choose: Choose) -> None:
        self._stage, self._schedule, self._choose = stage, schedule, choose
        self._results: list[Result] = []
        self._mine: tuple[tuple[Fault, ...], int] | None = None  # in a copy: its faults, and where it reports to

    def results(self) -> list[Result]:
        """Run it; what became of it and of every copy."""
        stage, schedule = self._stage, self._schedule
        for number in range(1 + sum(schedule.scenes.count(scene) for scene in ("train", RESUMED))):
            for scene in {*schedule.scenes, "resume"} - {"train", RESUMED}:
                stage.expected(number, scene)
        with stage.play(schedule.seed) as play:
            rehearsal = Rehearsal(stage, schedule, play)
            gc.freeze()  # what is here now stays, and is not looked at, and so not copied, by the copies
            play.world.branch = lambda kind: self._branch(rehearsal, play, kind)
            try:
                rehearsal.run()
            except BaseException as error:
                if self._mine is None:
                    raise
                rehearsal.verdict.hung.append(f"The checks ended with {type(error).__name__}: {error}")
            if self._mine is not None:
                self._report(rehearsal, play, self._mine[1])
        self._results.append(Result(schedule, rehearsal.verdict, 0))
        return self._results

    def _branch(self, rehearsal: Rehearsal, play: Play, kind: str) -> Fault | None:
        """In the run itself nothing goes wrong; in each copy the first of its faults."""
        if self._mine is not None:
            return None
        chosen = self._choose(play.world.count, kind)
        if not chosen:
            return None
        contents = rehearsal.look()
        for faults in chosen:
            reading, writing = os.pipe()
            copy = os.fork()
            if not copy:
                os.close(reading)
                gc.disable()
                self._mine = faults, writing
                play.world.add(faults)
                return faults[0]
            os.close(writing)
            changed = self._collect(faults, copy, reading)
            contents.put_back(contents.everything() if changed is None else changed)
        return None

    def _report(self, rehearsal: Rehearsal, play: Play, writing: int) -> NoReturn:
        """As a copy: say what became of it, and end."""
        found = {"verdict": asdict(rehearsal.verdict), "n_faults": len(play.world.happened)}
        found |= {"recovered": rehearsal.recovered, "number": rehearsal.number}
        found["changed"] = list(play.disk.changed)
        with open(writing, "w", encoding="utf-8") as said:
            json.dump(found, said)
        os._exit(0)

    def _collect(self, faults: tuple[Fault, ...], copy: int, reading: int) -> list[str] | None:
        """Wait for a copy, and take what it says; the paths that it has changed, None where that is not known."""
        data = _said_by(copy, reading)
        schedule = Schedule(self._schedule.scenes, faults, self._schedule.seed)
        if not data:
            self._results.append(Result(schedule, Verdict(hung=["The process did not come to an end."]), 0))
            return None
        found: dict[str, Any] = json.loads(data)
        if found["recovered"]:
            self._stage.recovered[found["recovered"]] = found["number"]
        self._results.append(Result(schedule, Verdict(**found["verdict"]), found["n_faults"]))
        return list(found["changed"])


def _said_by(copy: int, reading: int) -> bytes:
    """What a copy of the process has to say before it ends; nothing where it does not come to an end."""
    before, used = -1.0, 0.0
    while not (ready := bool(select.select([reading], [], [], _PATIENCE)[0])) and before < used < _PATIENCE:
        before, used = used, sum(psutil.Process(copy).cpu_times()[:2])
    if not ready:
        os.kill(copy, signal.SIGKILL)
    with open(reading, "rb") as said:
        data = said.read()
    os.waitpid(copy, 0)
    return data
