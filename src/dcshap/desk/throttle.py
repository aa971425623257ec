"""Limits on how often something may be tried."""

from __future__ import annotations

import threading
import time
from collections import deque

__all__ = ["Throttle"]

MOST_KEYS = 10_000


class Throttle:
    """Allows so many tries per key within a sliding span of seconds.

    Parameters
    ----------
    limit : int
    seconds : float
    """

    def __init__(self, limit: int, seconds: float) -> None:
        self._limit, self._seconds = limit, seconds
        self._tries: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def wait(self, key: str) -> float:
        """Count a try; the seconds to wait where there were too many, else 0."""
        at = time.monotonic()
        with self._lock:
            if len(self._tries) >= MOST_KEYS and key not in self._tries:
                self._forget(at)
            tries = self._tries.setdefault(key, deque())
            while tries and tries[0] <= at - self._seconds:
                tries.popleft()
            if len(tries) >= self._limit:
                return tries[0] + self._seconds - at
            tries.append(at)
            return 0.0

    def _forget(self, at: float) -> None:
        """Drop keys that have waited long enough; all of them rather than growing without bound."""
        recent = {key: tries for key, tries in self._tries.items() if tries and tries[-1] > at - self._seconds}
        self._tries = recent if len(recent) < MOST_KEYS else {}
