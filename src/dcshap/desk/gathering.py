"""What several threads wait for, done by one of them for all: a transaction of the database, a call of the engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["Gathering"]

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


@dataclass
class _Waiting(Generic[Asked, Answer]):
    asked: Asked
    answers: tuple[Answer, ...] = ()  # one, once there is an answer
    error: BaseException | None = None
    woken: threading.Event = field(default_factory=threading.Event)  # answered, or the next to do the work

    @property
    def ended(self) -> bool:
        return bool(self.answers) or self.error is not None


class Gathering(Generic[Asked, Answer]):
    """Does one thing at a time; what is asked for meanwhile is done together, next.

    Parameters
    ----------
    work : callable
        Answers what was asked, in the same order. Where it fails, it fails for all who asked.
    """

    def __init__(self, work: Callable[[Sequence[Asked]], Sequence[Answer]]) -> None:
        self._work = work
        self._gate, self._busy = threading.Lock(), False
        self._pending: list[_Waiting[Asked, Answer]] = []

    def ask(self, asked: Asked) -> Answer:
        """The answer, once there is one."""
        mine: _Waiting[Asked, Answer] = _Waiting(asked)
        with self._gate:
            self._pending.append(mine)
            waits, self._busy = self._busy, True
        if waits:
            mine.woken.wait()
        if not mine.ended:
            with self._gate:
                batch, self._pending = self._pending, []
            self._answer(batch)
            self._hand_over(batch)
        if mine.error is not None:
            raise mine.error
        return mine.answers[0]

    def _hand_over(self, answered: Sequence[_Waiting[Asked, Answer]]) -> None:
        """Wake those who were answered, and the first of those who came since: who does the work for all of them."""
        with self._gate:
            following = self._pending[:1]
            self._busy = bool(following)
        for each in (*following, *answered):
            each.woken.set()

    def _answer(self, batch: Sequence[_Waiting[Asked, Answer]]) -> None:
        try:
            answers = self._work([each.asked for each in batch])
        except BaseException as error:  # raised by everybody who waits for it
            for each in batch:
                each.error = error
            return
        for each, answer in zip(batch, answers, strict=True):
            each.answers = (answer,)
