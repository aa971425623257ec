"""Limits on how often something may be tried."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import deque

__all__ = ["Throttle"]

MOST_KEYS = 10_000


class Throttle:
    """Allows so many tries per key within a sliding span of seconds.

    It remembers the keys that were tried last, up to `MOST_KEYS`.

    Parameters
    ----------
    limit : int
    seconds : float
    """

    def __init__(self, limit: int, seconds: float) -> None:
        self._limit, self._seconds = limit, seconds
        self._tries: dict[bytes, deque[float]] = {}
        self._lock = threading.Lock()

    def wait(self, key: str) -> float:
        """Count a try; the seconds to wait where there were too many, else 0."""
        at = time.monotonic()
        digest = hashlib.sha256(key.encode(errors="surrogatepass")).digest()  # what a visitor sends may be long
        with self._lock:
            # In the order of their last try, so that the one to forget stands first.
            tries = self._tries.pop(digest, deque())
            if len(self._tries) >= MOST_KEYS:
                del self._tries[next(iter(self._tries))]
            while tries and tries[0] <= at - self._seconds:
                tries.popleft()
            self._tries[digest] = tries
            if len(tries) >= self._limit:
                return tries[0] + self._seconds - at
            tries.append(at)
            return 0.0
