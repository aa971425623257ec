"""Owen values of games with more coalitions than can be evaluated, from random orders of arrival.

Blocks arrive one after the other, the members of each without interruption; what a member adds, averaged over such
orders, is its Owen value. Orders are drawn in pairs, one the reverse of the other, which cancels what pairs of players
do together. Every order adds up to the whole, so that values are efficient however few there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dcshap._typing import BoolArray, FloatArray, IntArray
from dcshap.exceptions import InputError
from dcshap.shapley.game.games import Game
from dcshap.shapley.sampled.sampling import RELATIVE_TOLERANCE, Sampled

__all__ = ["minimum_owen_evals", "sampled_owen_values"]

MIN_PAIRS = 4  # of orders: fewer say nothing about their own spread
FIRST_PAIRS = 8  # before standard errors are first compared with `tol`

Blocks = Sequence[Sequence[tuple[int, ...]]]  # units, which come and go as one, in blocks


def minimum_owen_evals(n_units: int) -> int:
    """The least `max_evals` that `sampled_owen_values` takes."""
    return 2 * MIN_PAIRS * (n_units - 1) + 2


def sampled_owen_values(
    game: Game, blocks: Blocks, *, max_evals: int, tol: float | None = None, rng: np.random.Generator
) -> Sampled:
    """Estimate the Owen values of units, in the order of the blocks.

    Parameters
    ----------
    game : Game
    blocks : sequence of sequences of tuples of int
        For every block its units, each the players (positions in the game) that come and go as one.
    max_evals : int
        How many coalitions may be evaluated, at least `minimum_owen_evals(n_units)`.
    tol : float, optional
        Stop as soon as no standard error is above this. None uses all of `max_evals`.
    rng : numpy.random.Generator
    """
    n_units = sum(map(len, blocks))
    if max_evals < minimum_owen_evals(n_units):
        raise InputError(
            f"`max_evals` must be at least {minimum_owen_evals(n_units)} to sample Owen values of {n_units} players. "
            f"Got {max_evals}."
        )
    ends = game(np.stack([np.zeros(game.n_players, dtype=bool), np.ones(game.n_players, dtype=bool)]))
    means = np.empty((0, n_units, game.n_outputs))
    most = (max_evals - 2) // (2 * max(n_units - 1, 1))
    for n_pairs in _rounds(most, tol):
        new = _pair_means(game, blocks, ends, n_pairs - len(means), rng)
        means = np.concatenate([means, new])
        errors = means.std(axis=0, ddof=1) / np.sqrt(len(means))
        if tol is not None and errors.max() <= tol:
            break
    values = means.mean(axis=0)
    limit = RELATIVE_TOLERANCE * np.abs(values).max(axis=0) if tol is None else tol
    return Sampled(values, errors, bool((errors <= limit).all()), 2 + 2 * len(means) * (n_units - 1))


def _rounds(most: int, tol: float | None) -> Iterator[int]:
    """How many pairs of orders each round has in all: doubled until there are no more."""
    if tol is not None:
        n_pairs = FIRST_PAIRS
        while n_pairs < most:
            yield n_pairs
            n_pairs *= 2
    yield most


def _pair_means(game: Game, blocks: Blocks, ends: FloatArray, n_pairs: int, rng: np.random.Generator) -> FloatArray:
    """What every unit adds, averaged over an order and its reverse, shape (n_pairs, n_units, n_outputs)."""
    one_way = _orders([len(block) for block in blocks], n_pairs, rng)
    orders = np.stack([one_way, one_way[:, ::-1]], axis=1).reshape(-1, one_way.shape[1])
    units = _members([unit for block in blocks for unit in block], game.n_players)
    # Who is there after each arrival but the last, when all are.
    arrived = np.logical_or.accumulate(units[orders], axis=1)[:, :-1]
    between = game(arrived.reshape(-1, game.n_players)).reshape(*arrived.shape[:2], -1)
    shape = (len(orders), 1, game.n_outputs)
    path = np.concatenate([np.broadcast_to(ends[0], shape), between, np.broadcast_to(ends[1], shape)], axis=1)
    added = np.empty((len(orders), len(units), game.n_outputs))
    np.put_along_axis(added, orders[:, :, None], np.diff(path, axis=1), axis=1)
    return np.asarray(added.reshape(n_pairs, 2, *added.shape[1:]).mean(axis=1))


def _orders(sizes: Sequence[int], n_orders: int, rng: np.random.Generator) -> IntArray:
    """Orders of all units in which no block is interrupted, shape (n_orders, n_units)."""
    of_block = np.repeat(np.arange(len(sizes)), sizes)
    turns = rng.random((n_orders, len(sizes))).argsort(axis=1).argsort(axis=1)  # when each block comes
    return np.asarray(np.argsort(turns[:, of_block] + rng.random((n_orders, len(of_block))), axis=1))


def _members(units: Sequence[tuple[int, ...]], n_players: int) -> BoolArray:
    inside = np.zeros((len(units), n_players), dtype=bool)
    for at, unit in enumerate(units):
        inside[at, list(unit)] = True
    return inside
