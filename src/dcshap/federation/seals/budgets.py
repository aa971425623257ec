"""What each requester was charged, and which records each recipient was told of: an index of the ledger."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from dcshap.federation.seals.hashes import HashSet

__all__ = ["Budgets"]


@dataclass
class _Account:
    """What one requester was charged: when, and how much in all up to then."""

    whens: array[float] = field(default_factory=lambda: array("d"))
    totals: array[int] = field(default_factory=lambda: array("q"))
    requests: HashSet = field(default_factory=HashSet)

    def add(self, request: str, units: int, when: float) -> None:
        """Note what a request was charged."""
        self.requests.add(request)
        at = bisect_right(self.whens, when)  # at the end, unless the clock was turned back
        self.whens.insert(at, when)
        self.totals.insert(at, self.totals[at - 1] if at else 0)
        for later in range(at, len(self.totals)):
            self.totals[later] += units

    def since(self, when: float) -> int:
        """Units that were charged from a moment on."""
        at = bisect_left(self.whens, when)
        return (self.totals[-1] if self.totals else 0) - (self.totals[at - 1] if at else 0)


class Budgets:
    """The accounts of all requesters and recipients. Moments are in seconds since 1970."""

    def __init__(self) -> None:
        self._accounts: dict[str, _Account] = {}
        self._told: dict[str, HashSet] = {}

    def charge(self, requester: str, request: str, *, units: int, when: float) -> None:
        """Note what a request was charged."""
        self._accounts.setdefault(requester, _Account()).add(request, units, when)

    def charged(self, requester: str, request: str) -> bool:
        """Whether a request was charged before."""
        return requester in self._accounts and request in self._accounts[requester].requests

    def used(self, requester: str, *, since: float) -> int:
        """Units that a requester was charged since a moment."""
        return self._accounts[requester].since(since) if requester in self._accounts else 0

    def tell(self, recipient: str, records: Iterable[str]) -> None:
        """Note records that a recipient is told of."""
        told = self._told.setdefault(recipient, HashSet())
        for record in records:
            told.add(record)

    def untold(self, recipient: str, records: Iterable[str]) -> tuple[int, int]:
        """How many records a recipient was told of, and how many of some would be new to it."""
        told = self._told.get(recipient, HashSet())
        return len(told), sum(record not in told for record in set(records))
