"""Answers to check against, written from the definitions and sharing nothing with what they check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, combinations, permutations, product
from math import comb

import numpy as np

from dcshap._typing import FloatArray

Value = Callable[[frozenset[int]], FloatArray]


def masked_game(predict, x, reference) -> Value:
    """A sample's game: the model's answer with the sample's cells in the coalition."""
    players = range(len(reference))
    coalitions = [frozenset(c) for size in range(len(reference) + 1) for c in combinations(players, size)]
    rows = np.array([[x[i] if i in c else reference[i] for i in players] for c in coalitions])
    answers = np.asarray(predict(rows), dtype=float).reshape(len(rows), -1)
    return dict(zip(coalitions, answers, strict=True)).__getitem__


def shapley_by_permutations(value: Value, n_players: int) -> FloatArray:
    """The mean of everyone's contribution over all orders of arrival."""
    return _mean_contributions(value, n_players, permutations(range(n_players)))


def owen_by_permutations(value: Value, blocks: Sequence[Sequence[int]]) -> FloatArray:
    """The same over the orders in which no block is interrupted."""
    orders = (
        tuple(chain.from_iterable(inner))
        for outer in permutations(blocks)
        for inner in product(*(permutations(block) for block in outer))
    )
    return _mean_contributions(value, sum(map(len, blocks)), orders)


def _mean_contributions(value, n_players, orders) -> FloatArray:
    empty = value(frozenset())
    total = np.zeros((n_players, empty.size))
    n_orders = 0
    for order in orders:
        before = empty
        present: frozenset[int] = frozenset()
        for player in order:
            present = present | {player}
            after = value(present)
            total[player] += after - before
            before = after
        n_orders += 1
    return total / n_orders


def algorithm_1(value: Value, n_players: int) -> FloatArray:
    """Algorithm 1 of the paper: weighted regression of coalitions' values on membership, both ends constrained.

    The printed weights divide by zero for the empty and the grand coalition, so those two hold as equations: the
    intercept is the empty coalition's value, and the last player takes what the others leave of the grand one's.
    """
    players = range(n_players)
    proper = [frozenset(c) for size in range(1, n_players) for c in combinations(players, size)]
    if not proper:
        return np.atleast_2d(value(frozenset(players)) - value(frozenset()))
    z = np.array([[i in c for i in players] for c in proper], dtype=float)
    sizes = z.sum(axis=1).astype(int)
    weights = np.array([(n_players - 1) / (comb(n_players, s) * s * (n_players - s)) for s in sizes])
    base = value(frozenset())
    whole = value(frozenset(players)) - base
    gains = np.array([value(c) - base for c in proper])
    root = np.sqrt(weights)[:, None]
    design, target = z[:, :-1] - z[:, -1:], gains - z[:, -1:] * whole
    first = np.linalg.lstsq(root * design, root * target, rcond=None)[0]
    return np.vstack([first, whole - first.sum(axis=0)])
