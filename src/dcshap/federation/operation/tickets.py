"""Requests that take longer: whoever asks gets a ticket after a moment, and comes back for the answer.

The ticket is the hash of a key that only the asker knows, and shows when it comes back: whoever learns the ticket, or
the request's identifier, fetches nothing by it.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass
from typing import Any

from dcshap.exceptions import FederationError

__all__ = ["Tickets", "ticket_of"]

AT_ONCE = 8  # requests that are answered at the same time, where nothing else is said
_KEPT = 60.0  # seconds that an answer waits to be fetched
_FETCHED = 5.0  # seconds that it can be fetched again: whoever fetches it may not have got it
_WAITING = 1000  # requests that may wait
_PATIENT = 16  # who is kept waiting for an answer instead of coming back; each takes one of the engine's threads


def ticket_of(key: str) -> str:
    """The ticket whose answer is fetched by a key."""
    return hashlib.sha256(key.encode()).hexdigest()


@dataclass
class _Request:
    work: Future[Any]
    until: float = float("inf")  # when it is forgotten


class Tickets:
    """Answers up to a set number of requests at the same time; the rest wait in order."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._threads = ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="answering")
        self._lock = threading.Lock()
        self._patient = threading.Semaphore(_PATIENT)
        self._requests: dict[str, _Request] = {}
        self.answered = 0
        self.failed = 0

    def take(self, ticket: str, work: Callable[[], Any]) -> None:
        """Have work done as soon as there is room for it; the same ticket again changes nothing."""
        with self._lock:
            now = time.monotonic()
            self._requests = {key: each for key, each in self._requests.items() if each.until > now}
            if ticket in self._requests:
                return
            if sum(not each.work.done() for each in self._requests.values()) >= _WAITING:
                raise FederationError(f"{_WAITING} requests are waiting already. Ask again later.")
            self._requests[ticket] = _Request(self._threads.submit(self._counted, ticket, work))

    def _counted(self, ticket: str, work: Callable[[], Any]) -> Any:
        failed = True
        try:
            found = work()
            failed = False
        finally:
            with self._lock:
                self.answered, self.failed = self.answered + 1, self.failed + failed
                self._requests[ticket].until = time.monotonic() + _KEPT
        return found

    def result(self, ticket: str, *, wait: float = 0.0) -> Any:
        """What the work gave; None while it is not done. What it raised is raised here.

        Where it is not done, the caller is kept for `wait` seconds, as long as few others are.
        """
        with self._lock:
            if ticket not in self._requests:
                raise FederationError(f"An answer is kept for {_KEPT:g} s. There is none for this ticket.")
            request = self._requests[ticket]
        if wait and not request.work.done() and self._patient.acquire(blocking=False):
            try:
                wait_for([request.work], timeout=wait)
            finally:
                self._patient.release()
        if not request.work.done():
            return None
        with self._lock:
            request.until = min(request.until, time.monotonic() + _FETCHED)
        return request.work.result()

    def waiting(self) -> int:
        """How many requests are being answered, or wait."""
        with self._lock:
            return sum(not each.work.done() for each in self._requests.values())

    def close(self) -> None:
        """Begin nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
