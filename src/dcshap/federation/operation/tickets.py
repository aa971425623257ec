"""Requests that are answered later: whoever asks gets a ticket at once, and comes back for the answer.

The engine's server holds a lock while it waits for a run, so that one slow answer would keep everybody else waiting.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from dcshap.exceptions import DcshapError, FederationError

__all__ = ["Tickets"]

AT_ONCE = 8  # requests that are answered at the same time, where nothing else is said
_KEPT = 60.0  # seconds, from when it was asked for, that an answer waits to be fetched
_WAITING = 1000  # requests that may wait


class Tickets:
    """Answers up to a set number of requests at the same time; the rest wait in order.

    Parameters
    ----------
    at_once : int
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._threads = ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="answering")
        self._lock = threading.Lock()
        self._open: dict[str, tuple[float, Future[Any]]] = {}
        self.answered = 0
        self.failed = 0

    def take(self, ticket: str, work: Callable[[], Any]) -> None:
        """Have work done as soon as there is room for it; the same ticket again changes nothing.

        Parameters
        ----------
        ticket : str
            Unlike that of every other request; its result is fetched by it.
        work : callable
        """
        with self._lock:
            self._drop_old()
            if ticket in self._open:
                return
            if sum(not waiting.done() for _, waiting in self._open.values()) >= _WAITING:
                raise FederationError(f"{_WAITING} requests are waiting already. Ask again later.")
            self._open[ticket] = (time.monotonic(), self._threads.submit(self._counted, work))

    def _counted(self, work: Callable[[], Any]) -> Any:
        try:
            found = work()
        except DcshapError:
            with self._lock:
                self.failed += 1
            raise
        with self._lock:
            self.answered += 1
        return found

    def result(self, ticket: str) -> Any:
        """What the work gave; None while it is not done. What it raised is raised here."""
        with self._lock:
            if ticket not in self._open:
                raise FederationError(f"An answer is kept for {_KEPT:g} s. There is none for this ticket.")
            _, work = self._open[ticket]
        return work.result() if work.done() else None

    def waiting(self) -> int:
        """How many requests are being answered, or wait."""
        with self._lock:
            return sum(not work.done() for _, work in self._open.values())

    def close(self) -> None:
        """Begin nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _drop_old(self) -> None:
        until = time.monotonic() - _KEPT
        self._open = {key: each for key, each in self._open.items() if each[0] > until or not each[1].done()}
