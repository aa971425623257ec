"""How many records each requester was told of, over time: an index of the ledger, asked in logarithmic time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

__all__ = ["Budgets"]


@dataclass
class _Account:
    """What one requester was told: when, and how many records in all up to then."""

    whens: list[str] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)
    requests: dict[str, int] = field(default_factory=dict)
    begun: dict[str, str] = field(default_factory=dict)

    def add(self, request: str, n_records: int, when: str) -> None:
        """Count a request's records once: its messages tell of the same ones, and count from the first on."""
        before = self.requests.get(request, 0)
        if n_records <= before:
            return
        when = self.begun.setdefault(request, when)
        self.requests[request] = n_records
        at = bisect_right(self.whens, when)  # at the end, unless the clock was turned back
        self.whens.insert(at, when)
        self.totals.insert(at, self.totals[at - 1] if at else 0)
        for later in range(at, len(self.totals)):
            self.totals[later] += n_records - before

    def since(self, when: str) -> int:
        """Records that were told of from a moment on."""
        at = bisect_left(self.whens, when)
        return (self.totals[-1] if self.totals else 0) - (self.totals[at - 1] if at else 0)


class Budgets:
    """The accounts of all requesters."""

    def __init__(self) -> None:
        self._accounts: dict[str, _Account] = {}
        self._said: set[tuple[str, str, str, str]] = set()

    def count(self, requester: str, request: str, said: tuple[str, str], *, n_records: int, when: str) -> None:
        """Note a message (its kind and recipient) for a request."""
        self._said.add((requester, request, *said))
        self._accounts.setdefault(requester, _Account()).add(request, n_records, when)

    def answered(self, requester: str, request: str, said: tuple[str, str]) -> bool:
        """Whether a message was sent for a request before."""
        return (requester, request, *said) in self._said

    def used(self, requester: str, *, since: str, but: str) -> int:
        """Records that a requester was told of since a moment, without those of one request."""
        account = self._accounts.get(requester, _Account())
        own = account.requests.get(but, 0) if account.begun.get(but, "") >= since else 0
        return account.since(since) - own
