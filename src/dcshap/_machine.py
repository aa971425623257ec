"""What the package takes from the machine that it runs on: time, randomness and threads.

Roles and sites ask here and nowhere else, so that a rehearsal can put a machine of its own in place: a clock that it
turns, random numbers from a seed, one thread.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

__all__ = ["Machine", "at_once", "monotonic", "new_identifier", "now", "random_bits", "random_bytes", "using_machine"]

Item = TypeVar("Item")
Found = TypeVar("Found")


class Machine:
    """The real machine."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some moment; never turned back."""
        return time.perf_counter()

    def random_bytes(self, n: int) -> bytes:
        """Bytes that nobody can guess."""
        return secrets.token_bytes(n)

    def at_once(self, function: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
        """What a function gives for each item, all at the same time; in the items' order."""
        each = list(items)
        if len(each) < 2:
            return [function(item) for item in each]
        with ThreadPoolExecutor(max_workers=len(each)) as threads:
            return list(threads.map(function, each))


_current = Machine()


@contextmanager
def using_machine(machine: Machine) -> Iterator[None]:
    """Put another machine in place of the real one, for the whole process."""
    global _current  # noqa: PLW0603 - one machine at a time, for all threads
    before, _current = _current, machine
    try:
        yield
    finally:
        _current = before


def now() -> float:
    """Seconds since 1970."""
    return _current.now()


def monotonic() -> float:
    """Seconds since some moment; never turned back."""
    return _current.monotonic()


def random_bytes(n: int) -> bytes:
    """Bytes that nobody can guess."""
    return _current.random_bytes(n)


def random_bits(n: int) -> int:
    """A number of n bits that nobody can guess."""
    return int.from_bytes(random_bytes((n + 7) // 8), "big") >> (-n % 8)


def new_identifier() -> str:
    """32 hexadecimal digits, unlike all others."""
    return random_bytes(16).hex()


def at_once(function: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
    """What a function gives for each item, all at the same time; in the items' order."""
    return _current.at_once(function, items)
