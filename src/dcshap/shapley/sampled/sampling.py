"""Shapley values of games with more coalitions than can be evaluated."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from dcshap._typing import BoolArray, FloatArray
from dcshap.exceptions import InputError
from dcshap.shapley.game.games import Game
from dcshap.shapley.sampled.design import most_informative
from dcshap.shapley.sampled.gaussian_process import shapley_posterior
from dcshap.shapley.sampled.odd_kernel import nugget_weights, signs
from dcshap.shapley.sampled.pairs import PairSampler, n_pairs_of

__all__ = ["Sampled", "minimum_evals", "sampled_values"]

# Without a `tol`, values have converged when no standard error is above this part of the output's largest value.
RELATIVE_TOLERANCE = 0.05

# A game that differs from an additive one by no more than this part of its largest value is additive: less than
# this is rounding in the model.
ADDITIVE_TOLERANCE = 1e-12

# So many pairs for each player before a game may pass for additive without error, or for converged. Single players
# take one each: with hardly any others, a game of few different values may look additive by chance.
PAIRS_TO_JUDGE = 2

# Up to half of the pairs, and so many, are chosen by what the others leave unknown, each among so many candidates; if
# there are no more than so many in all. Choosing more of them costs more than it gains.
MAX_INFORMED, CANDIDATES, MAX_PAIRS_TO_INFORM = 256, 4, 1024

FIRST_ROUND = 8  # evaluations for each player, before standard errors are first compared with `tol`


@dataclass(frozen=True)
class Sampled:
    """Estimated Shapley values."""

    # (n_players, n_outputs), they sum to the difference between the grand coalition's value and the empty one's.
    values: FloatArray
    # (n_players, n_outputs), 0 where every coalition was evaluated, and for outputs that are additive in all that
    # were, or additive but for some interactions of three players, if there are at least four coalitions for each
    # player and for each interaction. With fewer than that, errors tend to be estimated too small.
    standard_errors: FloatArray
    # Whether every standard error is at most `tol`; or, without one, 5 % of its output's largest absolute value.
    # Never with fewer than four evaluations for each player, unless they are all there are.
    converged: bool
    n_evals: int  # how many coalitions were evaluated, the empty and the grand one included


def minimum_evals(n_players: int) -> int:
    """The least `max_evals` that `sampled_values` takes: single players in and out, and the two ends.

    >>> minimum_evals(20)
    42
    """
    return min(2 * n_players + 2, 1 << n_players)


def sampled_values(game: Game, *, max_evals: int, tol: float | None = None, rng: np.random.Generator) -> Sampled:
    """Estimate Shapley values from pairs of complementary coalitions, none of them twice.

    The first half of the pairs are drawn blindly, the others are those of which the first tell least
    (`dcshap.shapley.sampled.design`), unless there are too many to choose from.
    A Gaussian process is fitted to the odd part of the game; see `dcshap.shapley.sampled.gaussian_process`. Additive
    games are solved exactly, games with few interactions if these are found (`dcshap.shapley.sampled.trend`), and so is
    every game whose coalitions are all evaluated.

    Parameters
    ----------
    game : Game
        Outputs share coalitions and the kernel of the process.
    max_evals : int
        How many coalitions may be evaluated, at least `minimum_evals(n_players)`.
    tol : float or None, optional
        Stop as soon as no standard error is above this. None uses all of `max_evals`.
    rng : numpy.random.Generator

    Returns
    -------
    Sampled

    Raises
    ------
    InputError
        If `max_evals` is too small, or `tol` is not a positive number.
    """
    _check(game.n_players, max_evals, tol)
    observed, rounds = _Observed(game, rng), _rounds(game.n_players, max_evals, tol)
    informed = rounds[-1] <= MAX_PAIRS_TO_INFORM
    for n_pairs in rounds:
        observed.extend(n_pairs, informed=informed)
        values, errors = observed.estimate()
        if tol is not None and observed.enough_to_judge and errors.max() <= tol:
            break
    limit = RELATIVE_TOLERANCE * np.abs(values).max(axis=0) if tol is None else tol
    converged = observed.enough_to_judge and bool((errors <= limit).all())
    return Sampled(values, errors, converged, observed.n_evals)


def _check(n_players: int, max_evals: int, tol: float | None) -> None:
    least = minimum_evals(n_players)
    if max_evals < least:
        raise InputError(
            f"`max_evals` must be at least {least} to sample a game of {n_players} players. Got {max_evals}."
        )
    if tol is not None and not tol > 0:
        raise InputError(f"`tol` must be a positive number, or None to use all of `max_evals`. Got {tol}.")


def _rounds(n_players: int, max_evals: int, tol: float | None) -> list[int]:
    """How many pairs each round has in all: doubled until `max_evals` is used up."""
    last = min(max_evals // 2 - 1, n_pairs_of(n_players))
    rounds = []
    n_pairs = FIRST_ROUND * n_players // 2
    while tol is not None and n_pairs < last:
        rounds.append(n_pairs)
        n_pairs *= 2
    return [*rounds, last]


class _Observed:
    """The odd part of a game where it has been evaluated."""

    def __init__(self, game: Game, rng: np.random.Generator) -> None:
        self._game, self._rng = game, rng
        self._pairs = PairSampler(game.n_players, rng)
        self._signs = np.ones((1, game.n_players))
        self._blind = np.ones(1, dtype=bool)  # which pairs were drawn without regard to values
        self._odd = np.empty((0, game.n_outputs))
        self._largest = np.zeros(game.n_outputs)
        self._evaluate(np.ones((1, game.n_players), dtype=bool))

    @property
    def n_evals(self) -> int:
        return 2 * len(self._odd)

    @property
    def exhausted(self) -> bool:
        return self._pairs.n_drawn == n_pairs_of(self._game.n_players)

    @property
    def enough_to_judge(self) -> bool:
        """Whether the evaluations say something about their own errors."""
        return self.exhausted or self._pairs.n_drawn >= PAIRS_TO_JUDGE * self._game.n_players

    def extend(self, n_pairs: int, *, informed: bool) -> None:
        """Evaluate more pairs, until there are `n_pairs` beside that of none and all.

        Informed, about half of all pairs are chosen by what those before them leave unknown.
        """
        blind = n_pairs
        if informed:
            blind = max(n_pairs // 2, n_pairs - MAX_INFORMED, PAIRS_TO_JUDGE * self._game.n_players)
        if self._pairs.n_drawn < min(blind, n_pairs):
            self._take(self._pairs.draw_up_to(min(blind, n_pairs)), blind=True)
        if self._pairs.n_drawn < n_pairs:
            self._take(self._pairs.take(self._chosen(n_pairs - self._pairs.n_drawn)), blind=False)

    def _chosen(self, count: int) -> BoolArray:
        candidates = self._pairs.offer(min(CANDIDATES * count, n_pairs_of(self._game.n_players) - self._pairs.n_drawn))
        if len(candidates) <= count or self._additive()[1].all():
            return candidates[:count]
        with _one_thread():
            return candidates[most_informative(self._signs, self._odd, candidates, count)]

    def _take(self, coalitions: BoolArray, *, blind: bool) -> None:
        self._evaluate(coalitions)
        self._signs = np.concatenate([self._signs, signs(coalitions)])
        self._blind = np.concatenate([self._blind, np.full(len(coalitions), blind)])

    def _evaluate(self, coalitions: BoolArray) -> None:
        values = self._game(np.concatenate([coalitions, ~coalitions]))
        inside, outside = np.split(values, 2)
        self._odd = np.concatenate([self._odd, (inside - outside) / 2.0])
        self._largest = np.maximum(self._largest, np.abs(values).max(axis=0))

    def estimate(self) -> tuple[FloatArray, FloatArray]:
        """Shapley values and standard errors, both of shape (n_players, n_outputs)."""
        with _one_thread():
            values, errors = self._solve()
        missing = 2.0 * self._odd[0] - values.sum(axis=0)  # what rounding took from their sum
        return values + missing / len(values), errors

    def _solve(self) -> tuple[FloatArray, FloatArray]:
        if self.exhausted:
            values = nugget_weights(self._signs).T @ self._odd
            return values, np.zeros_like(values)
        values, additive = self._additive()
        errors = np.zeros_like(values)
        # Outputs without an odd part have no scale that errors could be estimated from.
        unsure = ~additive if self.enough_to_judge else self._odd.any(axis=0)
        if unsure.any():
            rounding = ADDITIVE_TOLERANCE * self._largest[unsure]
            posterior = shapley_posterior(
                self._signs, self._odd[:, unsure], self._rng, blind=self._blind, rounding=rounding
            )
            errors[:, unsure] = np.sqrt(np.maximum(posterior.variance, 0.0))
            values[:, unsure] = np.where(additive[unsure], values[:, unsure], posterior.mean)
        return values, errors

    def _additive(self) -> tuple[FloatArray, BoolArray]:
        """Values as if the game were additive, and for which outputs it is."""
        coefficients = np.asarray(np.linalg.lstsq(self._signs, self._odd, rcond=None)[0], dtype=np.float64)
        misfit = np.abs(self._odd - self._signs @ coefficients).max(axis=0)
        additive: BoolArray = misfit <= ADDITIVE_TOLERANCE * self._largest
        return 2.0 * coefficients, additive


def _one_thread() -> AbstractContextManager[Any]:
    """The number of threads must not change the last digits, and matrices this small gain nothing from them."""
    limited: AbstractContextManager[Any] = _thread_pools().limit(limits=1, user_api="blas")
    return limited


@lru_cache(maxsize=1)
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()
