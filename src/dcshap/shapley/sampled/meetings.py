"""Shapley–Taylor interactions of pairs from random orders of arrival.

Of an order, a pair's interaction is what the two add together beyond what each adds, to those who came before both. One
order gives all pairs at the price of one evaluation for each pair, and an order's interactions and single effects add
up to the whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcshap._typing import FloatArray, IntArray
from dcshap.exceptions import InputError
from dcshap.shapley.game.games import Game

__all__ = ["SampledInteractions", "minimum_meeting_evals", "sampled_interactions"]

MIN_ORDERS = 4  # fewer say nothing about their own spread


@dataclass(frozen=True)
class SampledInteractions:
    """Estimates and standard errors of all pairs (n_pairs, K), in the order of `numpy.triu_indices`."""

    values: FloatArray
    standard_errors: FloatArray
    n_evals: int


def evals_per_order(n_players: int) -> int:
    """After each arrival, everybody who is still out is tried."""
    return n_players * (n_players + 1) // 2


def minimum_meeting_evals(n_players: int) -> int:
    """The least `max_evals` that `sampled_interactions` takes."""
    return MIN_ORDERS * evals_per_order(n_players) + 1


def sampled_interactions(game: Game, *, max_evals: int, rng: np.random.Generator) -> SampledInteractions:
    """Estimate all pairs' interactions from as many orders as `max_evals` allows."""
    m = game.n_players
    if max_evals < minimum_meeting_evals(m):
        raise InputError(
            f"`max_evals` must be at least {minimum_meeting_evals(m)} to sample interactions of {m} players. "
            f"Got {max_evals}."
        )
    n_orders = (max_evals - 1) // evals_per_order(m)
    found = np.stack([_of_order(game, rng.permutation(m)) for _ in range(n_orders)])
    spread = found.std(axis=0, ddof=1) / np.sqrt(n_orders)
    return SampledInteractions(found.mean(axis=0), spread, 1 + n_orders * evals_per_order(m))


def _of_order(game: Game, order: IntArray) -> FloatArray:
    """All pairs' interactions (n_pairs, K) in one order."""
    m = len(order)
    # After `a` arrivals, with each of those who are still out: the next of them first.
    tried = [(a, b) for a in range(m) for b in range(a, m)]
    coalitions = np.zeros((len(tried) + 1, m), dtype=bool)
    for row, (a, b) in enumerate(tried, start=1):
        coalitions[row, order[:a]] = True
        coalitions[row, order[b]] = True
    values = game(coalitions)
    with_one = np.full((m + 1, m, game.n_outputs), np.nan)
    for row, (a, b) in enumerate(tried, start=1):
        with_one[a, b] = values[row]
    before = np.concatenate([values[:1], with_one[np.arange(m), np.arange(m)]])  # after 0, 1, … arrivals
    interactions = np.zeros((m, m, game.n_outputs))
    for a in range(m - 1):
        later = np.arange(a + 1, m)
        # v(T ∪ ij) − v(T ∪ i) − v(T ∪ j) + v(T), T having a members, i the next and j one of those after it
        interactions[order[a], order[later]] = with_one[a + 1, later] - before[a + 1] - with_one[a, later] + before[a]
    both = interactions + interactions.swapaxes(0, 1)
    return np.asarray(both[np.triu_indices(m, 1)])
