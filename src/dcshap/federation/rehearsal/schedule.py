"""Rehearsals: what is done, what goes wrong on the way, and whether everything held. Any of them can be replayed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from dcshap._typing import FloatArray
from dcshap.collaboration.messages import ANALYST, REQUESTER
from dcshap.exceptions import DcshapError
from dcshap.federation.rehearsal.play import PATIENCE, Play
from dcshap.federation.rehearsal.stage import BUDGET, OFFICER, SCENES, WATCH, Stage
from dcshap.federation.rehearsal.verdict import Verdict, check_books, check_folders, digest_of
from dcshap.protocol.faults import FAULTS, Fault, Killed

__all__ = ["Outcome", "Schedule", "every_fault", "random_schedule", "rehearse"]

_BUDGETS = {OFFICER: BUDGET, WATCH: 10_000}
_LONG = 120.0  # seconds of the world's time that an action may take beside its faults


@dataclass(frozen=True)
class Schedule:
    """What is done, and what goes wrong.

    Attributes
    ----------
    scenes : tuple of str
        One after the other: "train", "resume", or a protocol for requests.
    faults : tuple of Fault
    seed : int
        Of everything that is left to chance.
    """

    scenes: tuple[str, ...]
    faults: tuple[Fault, ...] = ()
    seed: int = 0


@dataclass(frozen=True)
class Outcome:
    """What became of a schedule.

    Attributes
    ----------
    schedule : Schedule
    verdict : Verdict
    n_faults : int
        The faults whose event came.
    journal : list of (str, str)
        Every event.
    digest : str
        Of everything that was on its way, to the byte.
    said : list of str
        What each scene ended with: nothing, or an error's words.
    """

    schedule: Schedule
    verdict: Verdict
    n_faults: int
    journal: list[tuple[str, str]]
    digest: str
    said: list[str]


class _Rehearsal:
    """One schedule on its way."""

    def __init__(self, stage: Stage, schedule: Schedule, play: Play) -> None:
        self._stage, self._schedule, self._play = stage, schedule, play
        self.verdict = Verdict()
        self.said: list[str] = []
        self._begun = [0]  # the trainings that may count: the one before, and those begun since
        self._served = 0

    def run(self) -> None:
        world = self._play.world
        if self._schedule.scenes[0] not in ("train", "resume") and self._stage.kind == "vertical":
            self._play.resume("before")
        world.counting = True
        for at, scene in enumerate(self._schedule.scenes):
            began, before = world.time, len(world.happened)
            self.said.append(self._attempt(scene, f"{at}"))
            if world.time - began > _LONG + PATIENCE * (1 + len(world.happened) - before):
                self.verdict.hung.append(f"{scene} took {world.time - began:.0f} s.")
        world.settle()
        self._play.network.settle()
        self._check()

    def _attempt(self, scene: str, name: str) -> str:
        try:
            self._act(scene, name)
        except Killed as error:
            return f"{error.who} was killed"
        except DcshapError as error:
            return f"{type(error).__name__}: {error}"
        except Exception as error:
            self.verdict.hung.append(f"{scene} ended without words: {type(error).__name__}: {error}")
        return ""

    def _act(self, scene: str, name: str) -> None:
        play, stage = self._play, self._stage
        for who in (ANALYST, REQUESTER):  # whoever is to act has started, or been started
            play.world.start_again(who)
        if scene == "train":
            number = len(self._begun)
            self._begun.append(number)
            play.train(*stage.model(number))
            self._begun = [number]
            self._served = number
        elif scene == "resume":
            play.resume(f"resume-{name}")
            self._served = self._number()
        else:
            served = self._number()
            found = play.ask(scene, OFFICER, stage.records[:1])
            self._compare(found, served, scene)

    def _number(self) -> int:
        analyst = self._play.analyst
        return 0 if analyst is None else int(analyst.run.removeprefix("run-"))

    def _compare(self, found: FloatArray, number: int, scene: str) -> None:
        wanted = self._stage.expected(number, scene)
        if number not in self._begun:
            self.verdict.wrong.append(f"{scene} was answered from a training that should not count.")
        if found.shape != wanted.shape or not np.allclose(found, wanted, rtol=0, atol=1e-9):
            self.verdict.wrong.append(f"{scene} gave another answer than without faults.")

    def _check(self) -> None:
        check_books(self._play, _BUDGETS, self.verdict)
        digest = digest_of(self._play.folder)
        known = self._stage.recovered.get(digest)
        if known is not None and known in self._begun:
            return
        check_folders(self._play, self.verdict)
        for who in self._play.names:
            self._play.start(who)
        try:
            self._play.resume("after")
            number = self._number()
            self._compare(self._stage.answers(self._play, "resume"), number, "resume")
        except DcshapError as error:
            self.verdict.lost.append(f"What was trained does not answer: {type(error).__name__}: {error}")
        if not self.verdict:
            self._stage.recovered[digest] = number


def rehearse(stage: Stage, schedule: Schedule) -> Outcome:
    """Go through a schedule, and check what must hold."""
    with stage.play(schedule.seed, schedule.faults) as play:
        rehearsal = _Rehearsal(stage, schedule, play)
        rehearsal.run()
        world = play.world
        digest = hashlib.sha256(b"".join(play.network.carried)).hexdigest()
    return Outcome(schedule, rehearsal.verdict, len(world.happened), world.journal, digest, rehearsal.said)


def every_fault(stage: Stage, scene: str, seed: int = 0) -> Iterator[Schedule]:
    """Each fault at each event of a scene, one at a time."""
    without = rehearse(stage, Schedule((scene,), (), seed))
    for at, (kind, _) in enumerate(without.journal, start=1):
        for number, fault in enumerate(FAULTS[kind]):
            yield Schedule((scene,), (Fault(at, fault, how=101 * at + 37 * number),), seed)


def random_schedule(kind: str, seed: int) -> Schedule:
    """Some scenes and some faults, by chance."""
    chance = Random(seed)  # noqa: S311 - to be replayed
    scenes = tuple(chance.choices(SCENES[kind], weights=_weights(kind), k=chance.randint(1, 3)))
    kinds = sorted({fault for found in FAULTS.values() for fault in found})
    span = 170 * scenes.count("train") + 20 * len(scenes)
    n_faults = min(1 + int(chance.expovariate(0.5)), 8)
    faults = [Fault(chance.randint(1, span), chance.choice(kinds), chance.getrandbits(16)) for _ in range(n_faults)]
    return Schedule(scenes, tuple(faults), seed)


def _weights(kind: str) -> Sequence[int]:
    return [1, 2] if kind == "horizontal" else [1, 2, 4, 4, 4, 4]
