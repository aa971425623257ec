"""Interactions that stand out of a game's odd part, so far that they are no part of a smooth whole.

A boosted tree's game is a sum of few products of signs, `Σ c_A Π_{i∈A} s_i`, and of nothing else. Given the process
that suits the evaluated pairs, a product of three signs stands out if its coefficient is far from what the process
allows for. Those that do are taken out together with all single players, as a trend with coefficients of its own; then
others are looked for in what is left. If nothing is left, the game is known.

Regression on few odd interactions, screened beforehand, is the idea of OddSHAP (arXiv 2602.01399), which has them from
boosted trees that imitate the game.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.linalg import cho_solve

from dcshap._typing import FloatArray, IntArray
from dcshap.shapley.sampled.odd_kernel import rounded

__all__ = ["Trend", "standing_out"]

# So many pairs for each player before anything may stand out, and for each coefficient of a trend.
PAIRS_PER_PLAYER, PAIRS_PER_COEFFICIENT = 4, 3
# A score is a squared coefficient over its variance. The largest of N that mean nothing is about 2 log N. The first has
# to be twice that, and others within a tenth of a round's largest: weaker ones may be shadows of strong ones.
FIRST_SCORE, NEXT_SCORE, OF_LARGEST = 4.0, 2.0, 0.1
MAX_SCREENED = 100  # players: those that matter most to the process
ROUNDS, FIRST_ROUND = 12, 8  # and how many at most are taken in the first of them; twice as many in each that follows
NOTHING_LEFT = 1e-7  # of the largest value; values are rounded to less than that before they are compared


@dataclass(frozen=True)
class Trend:
    """Products of signs that count by themselves: of every player, and of some sets of three."""

    n_players: int
    sets: IntArray  # (p, 3)

    @property
    def n_coefficients(self) -> int:
        """How many products there are."""
        return self.n_players + len(self.sets)

    def products(self, s: FloatArray) -> FloatArray:
        """Every product's sign, shape (n, n_coefficients), of coalitions as signs (n, m)."""
        return np.hstack([s, _products(s, self.sets)])

    def values(self) -> FloatArray:
        """Every product's Shapley values, shape (m, n_coefficients): members share twice the product equally."""
        values = np.zeros((self.n_players, self.n_coefficients))
        np.fill_diagonal(values, 2.0)
        values[self.sets, self.n_players + np.arange(len(self.sets))[:, None]] = 2.0 / 3.0
        return values

    def solution(self, s: FloatArray, odd: FloatArray, rounding: FloatArray) -> FloatArray | None:
        """Shapley values (m, n_outputs), if the game is nothing but this trend at all of at least twice as many pairs.

        Given pairs (n, m), half their differences (n, n_outputs), and what is rounding in these (n_outputs,).
        """
        products = self.products(s)
        coefficients = np.linalg.lstsq(products, odd, rcond=None)[0]
        misfit = np.abs(odd - products @ coefficients).max(axis=0)
        if len(s) < 2 * self.n_coefficients or (misfit > rounding).any():
            return None
        return np.asarray(self.values() @ coefficients)


def standing_out(s: FloatArray, odd: FloatArray, factor: tuple[Any, bool], relevance: FloatArray) -> Trend | None:
    """The trend of a game, or None if no interaction stands out.

    Parameters
    ----------
    s : array of shape (n, m)
        One coalition of each pair as signs.
    odd : array of shape (n, n_outputs)
        Half the difference between the coalition's value and its complement's; no output may be 0 throughout.
    factor : Cholesky factor of the process's covariance (n, n)
    relevance : array of shape (m,)
        How much players matter to the process.
    """
    n, m = s.shape
    if n < PAIRS_PER_PLAYER * m or m < 3:
        return None
    odd = rounded(odd)
    screened = _triples(np.sort(np.argsort(-relevance, kind="stable")[:MAX_SCREENED]))
    regression = _Regression.of(s, odd, factor)
    trend = Trend(m, np.empty((0, 3), dtype=np.int64))
    limit = FIRST_SCORE * np.log(len(screened))
    for round_ in range(ROUNDS):
        room = min(FIRST_ROUND << round_, n // PAIRS_PER_COEFFICIENT - trend.n_coefficients)
        if room <= 0 or regression.nothing_left(odd):
            break
        sets, products, solved, scores = regression.most_prominent(s, screened, room)
        kept = (scores > limit) & (scores >= OF_LARGEST * scores.max())
        if not kept.any():
            break
        trend = Trend(m, np.concatenate([trend.sets, sets[kept]]))
        regression = regression.with_products(products[:, kept], solved[:, kept], odd)
        limit = NEXT_SCORE * np.log(len(screened))
    return trend if len(trend.sets) else None


@dataclass(frozen=True)
class _Regression:
    """A regression on products (n, p) with the process's covariance for an error."""

    factor: tuple[Any, bool]
    products: FloatArray  # (n, p)
    solved: FloatArray  # (n, p), the same under the inverse covariance
    information: FloatArray  # (p, p)
    coefficients: FloatArray  # (p, n_outputs)
    rest: FloatArray  # (n, n_outputs), what is not explained, under the inverse covariance
    scale: FloatArray  # (n_outputs,), the process's variance

    @classmethod
    def of(cls, products: FloatArray, odd: FloatArray, factor: tuple[Any, bool]) -> _Regression:
        return cls._given(factor, products, cho_solve(factor, products), odd)

    @classmethod
    def _given(cls, factor: tuple[Any, bool], products: FloatArray, solved: FloatArray, odd: FloatArray) -> _Regression:
        information = products.T @ solved
        coefficients = np.asarray(np.linalg.solve(information, solved.T @ odd), dtype=np.float64)
        rest = cho_solve(factor, odd - products @ coefficients)
        scale = np.einsum("nk,nk->k", odd, rest) / (len(odd) - products.shape[1])
        return cls(factor, products, solved, information, coefficients, rest, scale)

    def with_products(self, products: FloatArray, solved: FloatArray, odd: FloatArray) -> _Regression:
        return self._given(self.factor, np.hstack([self.products, products]), np.hstack([self.solved, solved]), odd)

    def nothing_left(self, odd: FloatArray) -> bool:
        left = np.abs(odd - self.products @ self.coefficients).max(axis=0)
        return bool((left <= NOTHING_LEFT * np.abs(odd).max(axis=0)).all())

    def most_prominent(
        self, s: FloatArray, screened: IntArray, count: int
    ) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
        """Some of the sets (c, 3), their products and these under the inverse covariance (n, c), and scores (c,)."""
        sizes = sum(_inner(s, screened, rest) ** 2 / scale for rest, scale in zip(self.rest.T, self.scale, strict=True))
        sizes = sizes / len(self.scale)
        top = np.argsort(-sizes, kind="stable")[:count]
        products = _products(s, screened[top])
        solved = cho_solve(self.factor, products)
        shared = self.products.T @ solved
        own = np.einsum("nc,nc->c", products, solved)
        variance = own - np.einsum("pc,pc->c", shared, np.linalg.solve(self.information, shared))
        # A product that the others give as well has nothing of its own.
        scores = np.where(variance > 1e-6 * own, sizes[top] / np.maximum(variance, 1e-6 * own), 0.0)
        return screened[top], products, solved, scores


def _triples(players: IntArray) -> IntArray:
    """All sets of three (N, 3), in ascending order."""
    return np.array(list(combinations(players.tolist(), 3)), dtype=np.int64)


def _products(s: FloatArray, sets: IntArray) -> FloatArray:
    """Products of three signs each, shape (n, p)."""
    return np.asarray(s[:, sets[:, 0]] * s[:, sets[:, 1]] * s[:, sets[:, 2]])


def _inner(s: FloatArray, sets: IntArray, weights: FloatArray) -> FloatArray:
    """The sum of each set's product of signs times weights (n,), shape (N,), for all sets of three of some players."""
    inner = np.empty(len(sets))
    for first in np.unique(sets[:, 0]).tolist():
        mine = sets[:, 0] == first
        both = (s * (s[:, first] * weights)[:, None]).T @ s
        inner[mine] = both[sets[mine, 1], sets[mine, 2]]
    return inner
