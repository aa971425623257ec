"""Many rehearsals one after the other, and what they found, added up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from random import Random

from dcshap.exceptions import InputError
from dcshap.federation.rehearsal.branches import (
    COPIES,
    Result,
    every_fault,
    faults_from,
    random_faults,
    random_scenes,
)
from dcshap.federation.rehearsal.schedule import Schedule, rehearse
from dcshap.federation.rehearsal.stage import RESUMED, SCENES, Stage

__all__ = ["BLOCK", "Totals", "every_single_fault", "replay", "simulate"]

BLOCK = 10_000  # seeds for the schedules that have their beginning in common: a schedule's seed says which, and where


@dataclass
class Totals:
    """How many schedules and faults there were, and how many schedules did not hold."""

    schedules: int = 0
    faults: int = 0
    hung: int = 0
    wrong: int = 0
    lost: int = 0
    overdrawn: int = 0
    # The first and the last; the next one goes on where this ended. Empty where faults were not random.
    seeds: list[int] = field(default_factory=list)
    # How many schedules there were of each scene, where every single fault was tried.
    by_scene: dict[str, int] = field(default_factory=dict)
    # For each schedule that did not hold the seed that replays it, and what happened.
    failures: list[str] = field(default_factory=list)

    def add(self, result: Result, name: str) -> None:
        """Count one more schedule, called by its seed or by what it was."""
        verdict = result.verdict
        self.schedules += 1
        self.faults += result.n_faults
        for kind in ("hung", "wrong", "lost", "overdrawn"):
            setattr(self, kind, getattr(self, kind) + bool(getattr(verdict, kind)))
        if verdict:
            said = [*verdict.hung, *verdict.wrong, *verdict.lost, *verdict.overdrawn]
            self.failures.append(f"{name}: {' '.join(said)} {result.schedule}")


def simulate(seed: int, schedules: int, n_parties: int, *, tell: Callable[[Totals], None]) -> Totals:
    """Rehearse random schedules of 2 to 5 parties, in the order of their seeds from a seed on: one is that of the seed.

    `tell` is told how far it is, now and then.
    """
    _require(n_parties, schedules, seed)
    totals = Totals()
    with _Stages(n_parties) as stages:
        results = iter([(seed, replay(stages, seed))]) if schedules == 1 else _numbered(stages, seed, schedules)
        for number, result in results:
            totals.seeds = [*totals.seeds[:1], number] if totals.seeds else [number]
            totals.add(result, f"seed {number}")
            if totals.schedules % 100 == 0:
                tell(totals)
    return totals


def every_single_fault(
    n_parties: int,
    *,
    scenes: Iterable[tuple[str, str]] | None = None,
    tell: Callable[[Totals], None] = lambda totals: None,  # noqa: ARG005
) -> Totals:
    """Rehearse each fault at each event of each scene, one at a time; `tell` is told after each scene."""
    _require(n_parties)
    totals = Totals()
    every = [(kind, scene) for kind in SCENES for scene in (*SCENES[kind], RESUMED)]
    wanted = every if scenes is None else list(scenes)
    with _Stages(n_parties) as stages:
        for kind, scene in wanted:
            before = totals.schedules
            for result in every_fault(stages.of(kind), scene):
                totals.add(result, f"{kind}, {scene}")
            totals.by_scene[f"{kind}, {scene}"] = totals.schedules - before
            tell(totals)
    return totals


def _require(n_parties: int, schedules: int = 1, seed: int = 0) -> None:
    if not 2 <= n_parties <= 5 or schedules < 1 or seed < 0:
        raise InputError(
            f"A rehearsal needs 2 to 5 parties, at least one schedule, and a seed of 0 or more. Got {n_parties} "
            f"parties, {schedules} schedules and the seed {seed}."
        )


def replay(stages: _Stages, seed: int) -> Result:
    """One schedule again, alone."""
    block, index = divmod(seed, BLOCK)
    stage = stages.of(_kind(block))
    without = rehearse(stage, Schedule(random_scenes(stage.kind, block), (), block))
    at, copy = 1 + index // COPIES, index % COPIES
    if at > len(without.journal):
        return Result(without.schedule, without.verdict, 0)
    faults = faults_from(at, without.journal[at - 1][0], seed=block, copy=copy)
    again = rehearse(stage, Schedule(without.schedule.scenes, faults, block))
    return Result(again.schedule, again.verdict, again.n_faults)


class _Stages(ExitStack):
    """The stages of both kinds, set up when they are needed."""

    def __init__(self, n_parties: int) -> None:
        super().__init__()
        self._n_parties = n_parties
        self._stages: dict[str, Stage] = {}

    def of(self, kind: str) -> Stage:
        if kind not in self._stages:
            self._stages[kind] = self.enter_context(Stage(kind, self._n_parties))
        return self._stages[kind]


def _kind(block: int) -> str:
    return Random(f"kind {block}").choice(["horizontal", "vertical", "vertical", "vertical"])  # noqa: S311


def _numbered(stages: _Stages, seed: int, schedules: int) -> Iterator[tuple[int, Result]]:
    """Schedules with their seeds from one on, block by block."""
    (block, index), left = divmod(seed, BLOCK), schedules
    while left:
        results = random_faults(stages.of(_kind(block)), block, since=index, most=left)
        yield from enumerate(results, start=block * BLOCK + index)
        left -= len(results)
        block, index = block + 1, 0
