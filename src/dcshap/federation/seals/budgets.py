"""What each requester was charged, and which records each recipient was told of: an index of the ledger."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["Budgets"]


@dataclass
class _Account:
    """What one requester was charged: when, and how much in all up to then."""

    whens: list[str] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)
    requests: set[str] = field(default_factory=set)

    def add(self, request: str, units: int, when: str) -> None:
        """Note what a request was charged."""
        self.requests.add(request)
        at = bisect_right(self.whens, when)  # at the end, unless the clock was turned back
        self.whens.insert(at, when)
        self.totals.insert(at, self.totals[at - 1] if at else 0)
        for later in range(at, len(self.totals)):
            self.totals[later] += units

    def since(self, when: str) -> int:
        """Units that were charged from a moment on."""
        at = bisect_left(self.whens, when)
        return (self.totals[-1] if self.totals else 0) - (self.totals[at - 1] if at else 0)


class Budgets:
    """The accounts of all requesters and recipients."""

    def __init__(self) -> None:
        self._accounts: dict[str, _Account] = {}
        self._told: dict[str, set[str]] = {}

    def charge(self, requester: str, request: str, *, units: int, when: str) -> None:
        """Note what a request was charged."""
        self._accounts.setdefault(requester, _Account()).add(request, units, when)

    def charged(self, requester: str, request: str) -> bool:
        """Whether a request was charged before."""
        return request in self._accounts.get(requester, _Account()).requests

    def used(self, requester: str, *, since: str) -> int:
        """Units that a requester was charged since a moment."""
        return self._accounts.get(requester, _Account()).since(since)

    def tell(self, recipient: str, records: Iterable[str]) -> None:
        """Note records that a recipient is told of."""
        self._told.setdefault(recipient, set()).update(records)

    def untold(self, recipient: str, records: Iterable[str]) -> tuple[int, int]:
        """How many records a recipient was told of, and how many of some would be new to it."""
        told = self._told.get(recipient, set())
        return len(told), len(set(records) - told)
