"""Rehearsals: what is done, what goes wrong on the way, and whether everything held. Any of them can be replayed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from dcshap._typing import FloatArray
from dcshap.collaboration.messages import ANALYST, REQUESTER
from dcshap.exceptions import DcshapError
from dcshap.federation.rehearsal.contents import Contents
from dcshap.federation.rehearsal.play import PATIENCE, Play
from dcshap.federation.rehearsal.stage import BUDGET, OFFICER, RESUMED, WATCH, Stage
from dcshap.federation.rehearsal.verdict import Mail, Verdict, check_books, check_folders
from dcshap.protocol.faults import Fault, Killed

__all__ = ["Outcome", "Rehearsal", "Schedule", "rehearse"]

_BUDGETS = {OFFICER: BUDGET, WATCH: 10_000}
_LONG = 120.0  # seconds of the world's time that an action may take beside its faults


@dataclass(frozen=True)
class Schedule:
    """What is done, and what goes wrong."""

    scenes: tuple[str, ...]  # one after the other: "train", "resume", or a protocol for requests
    faults: tuple[Fault, ...] = ()
    seed: int = 0  # of everything that is left to chance


@dataclass(frozen=True)
class Outcome:
    """What became of a schedule."""

    schedule: Schedule
    verdict: Verdict
    n_faults: int  # the faults whose event came
    journal: list[tuple[str, str]]  # every event
    digest: str  # of everything that was on its way, to the byte
    said: list[str]  # what each scene ended with: nothing, or an error's words


class Rehearsal:
    """One schedule on its way."""

    def __init__(self, stage: Stage, schedule: Schedule, play: Play) -> None:
        self._stage, self._schedule, self._play = stage, schedule, play
        self._contents, self._mail = Contents(play.folder), Mail(play)
        self.recovered = ""
        self.verdict = Verdict()
        self.said: list[str] = []
        self.n_carried = 0  # how much was on its way before the checks
        self._begun = [0]  # the trainings that may count: the one before, and those begun since

    def look(self) -> Contents:
        """Take note of everything so far, so that copies need not; what the folder holds."""
        self._mail.read_on()
        self._contents.read(self._play.disk.changed)
        self._play.disk.changed.clear()
        return self._contents

    def run(self) -> None:
        """Do everything, and check."""
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
        self.n_carried = len(self._play.network.carried)
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
        elif scene == RESUMED:
            self._resumed(f"attempt-{name}")
        elif scene == "resume":
            play.resume(f"resume-{name}")
        else:
            served = self.number
            found = play.ask(scene, OFFICER, stage.records[:1])
            self._compare(found, served, scene)

    def _resumed(self, attempt: str) -> None:
        """Train in parts; where that fails, mend everything and resume it, which must not fail."""
        play, number = self._play, len(self._begun)
        run, model = self._stage.model(number)
        play.travel_in_parts()
        self._begun.append(number)
        try:
            play.train(run, model)
        except (DcshapError, Killed):
            play.world.settle()
            if run not in play.interrupted:  # it had not begun, or has ended
                raise
            try:
                play.train(attempt, model, resume=True)
            except DcshapError as error:
                self.verdict.lost.append(f"A training could not be resumed: {type(error).__name__}: {error}")
                raise
        self._begun = [number]

    @property
    def number(self) -> int:
        """The training that is served."""
        analyst = self._play.analyst
        return 0 if analyst is None else int(analyst.run.removeprefix("run-"))

    def _compare(self, found: FloatArray, number: int, scene: str) -> None:
        wanted = self._stage.expected(number, scene)
        if number not in self._begun:
            self.verdict.wrong.append(f"{scene} was answered from a training that should not count.")
        if found.shape != wanted.shape or not np.allclose(found, wanted, rtol=0, atol=1e-9):
            self.verdict.wrong.append(f"{scene} gave another answer than without faults.")

    def _check(self) -> None:
        check_books(self._play, self._mail, _BUDGETS, self.verdict)
        self._contents.read(self._play.disk.changed)
        digest = self._contents.digest()
        known = self._stage.recovered.get(digest)
        if known is not None and known in self._begun:
            return
        check_folders(self._play, self.verdict)
        for who in self._play.names:
            self._play.start(who)
        try:
            self._play.resume("after")
            self._compare(self._stage.answers(self._play, "resume"), self.number, "resume")
        except DcshapError as error:
            self.verdict.lost.append(f"What was trained does not answer: {type(error).__name__}: {error}")
        if not self.verdict:
            self._stage.recovered[digest] = self.number
            self.recovered = digest


def rehearse(stage: Stage, schedule: Schedule) -> Outcome:
    """Go through a schedule, and check what must hold."""
    with stage.play(schedule.seed, schedule.faults) as play:
        rehearsal = Rehearsal(stage, schedule, play)
        rehearsal.run()
        world = play.world
    digest = hashlib.sha256(b"".join(play.network.carried[: rehearsal.n_carried])).hexdigest()
    return Outcome(schedule, rehearsal.verdict, len(world.happened), world.journal, digest, rehearsal.said)
