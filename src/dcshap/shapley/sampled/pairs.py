"""Which pairs of complementary coalitions to evaluate.

Single players come first and whole, so that additive games are identified. All other sizes then get the same number
of pairs, which is what their leverage in the regression for Shapley values asks for (arXiv 2410.01917), until a size
is exhausted and leaves its share to the others. No pair comes twice.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from dcshap._typing import BoolArray, FloatArray, IntArray

__all__ = ["PairSampler", "n_pairs_of"]


def n_pairs_of(n_players: int) -> int:
    """How many pairs of coalitions there are, that of none and all aside."""
    return (1 << (n_players - 1)) - 1


class PairSampler:
    """Draws pairs without replacement, as many as are wanted in all; each draw adds to those before.

    Parameters
    ----------
    n_players : int
        At least 2.
    rng : numpy.random.Generator
    """

    def __init__(self, n_players: int, rng: np.random.Generator) -> None:
        self._n_players = n_players
        self._strata = [_Stratum(n_players, size, rng) for size in range(1, n_players // 2 + 1)]

    @property
    def n_drawn(self) -> int:
        """How many pairs have been drawn so far."""
        return sum(stratum.n_drawn for stratum in self._strata)

    def draw_up_to(self, n_pairs: int) -> BoolArray:
        """New pairs, by one coalition of each, so that there are `n_pairs` in all; shape (n_new, n_players)."""
        return self.take(self.offer(n_pairs - self.n_drawn))

    def offer(self, n_new: int) -> BoolArray:
        """Pairs that could be drawn next, in the proportions in which they would be; as many as there are."""
        counts, room, offered = self._allocation(self.n_drawn + n_new), n_new, []
        for stratum, count in zip(self._strata, counts, strict=True):
            # Rounding may have given a size one more in an earlier round than it is due now.
            new = min(max(int(count) - stratum.n_drawn, 0), room)
            offered.append(stratum.offer(new))
            room -= new
        return np.concatenate(offered)

    def take(self, coalitions: BoolArray) -> BoolArray:
        """Count some of the pairs that were offered as drawn."""
        sizes = coalitions.sum(axis=1)
        for stratum in self._strata:
            stratum.take(coalitions[sizes == stratum.size])
        return coalitions

    def _allocation(self, n_pairs: int) -> IntArray:
        """How many pairs of each size make `n_pairs`."""
        capacity = np.array([min(stratum.capacity, n_pairs) for stratum in self._strata], dtype=np.float64)
        share = np.ones(len(capacity))
        if self._n_players % 2 == 0:
            share[-1] = 0.5  # its pairs have both their coalitions in this one size
        singles = min(capacity[0], n_pairs)
        rest = _fill(capacity[1:], share[1:], n_pairs - singles)
        return np.concatenate([[singles], rest]).astype(np.int64)


def _fill(capacity: FloatArray, share: FloatArray, total: float) -> FloatArray:
    """Whole numbers in proportion to `share`, below `capacity`, that sum to `total` or to what there is."""
    amounts = np.zeros(len(capacity))
    open_ = np.ones(len(capacity), dtype=bool)
    while open_.any():
        level = (total - amounts[~open_].sum()) / share[open_].sum()
        amounts[open_] = level * share[open_]
        full = open_ & (amounts >= capacity)
        if not full.any():
            break
        amounts[full] = capacity[full]
        open_ &= ~full
    whole = np.floor(amounts + 1e-9)
    missing = round(min(total, capacity.sum()) - whole.sum())
    whole[np.argsort(whole - amounts, kind="stable")[:missing]] += 1
    return whole


class _Stratum:
    """The pairs whose smaller coalition has a given size."""

    def __init__(self, n_players: int, size: int, rng: np.random.Generator) -> None:
        self._n_players, self.size, self._rng = n_players, size, rng
        self._halved = 2 * size == n_players
        self.capacity = comb(n_players, size) // (2 if self._halved else 1)
        self._seen: set[bytes] = set()

    @property
    def n_drawn(self) -> int:
        return len(self._seen)

    def offer(self, count: int) -> BoolArray:
        """`count` different coalitions of this size that were not drawn before."""
        if count == 0:
            return np.empty((0, self._n_players), dtype=bool)
        known = set(self._seen)
        # Where a good part is wanted, rejecting what has been seen would take too long.
        if 3 * (self.n_drawn + count) > self.capacity:
            return _new(self._rng.permutation(self._all()), count, known)
        found = [np.empty((0, self._n_players), dtype=bool)]
        while (missing := count - sum(map(len, found))) > 0:
            found.append(_new(self._some(2 * missing), missing, known))
        return np.concatenate(found)

    def take(self, coalitions: BoolArray) -> None:
        """Count coalitions as drawn."""
        self._seen.update(key.tobytes() for key in np.packbits(coalitions, axis=1))

    def _some(self, count: int) -> BoolArray:
        order = self._rng.random((count, self._n_players)).argsort(axis=1)
        coalitions = order < self.size
        if self._halved:
            coalitions[~coalitions[:, 0]] ^= True  # a pair goes by its coalition with the first player
        return coalitions

    def _all(self) -> BoolArray:
        members = np.array(list(combinations(range(self._n_players), self.size))[: self.capacity])
        coalitions = np.zeros((self.capacity, self._n_players), dtype=bool)
        np.put_along_axis(coalitions, members, True, axis=1)
        return coalitions


def _new(coalitions: BoolArray, count: int, known: set[bytes]) -> BoolArray:
    """The first `count` that are not known yet, or as many as there are; they are known from now on."""
    chosen: list[int] = []
    for row, key in enumerate(np.packbits(coalitions, axis=1)):
        if len(chosen) == count:
            break
        if key.tobytes() not in known:
            known.add(key.tobytes())
            chosen.append(row)
    return coalitions[chosen]
