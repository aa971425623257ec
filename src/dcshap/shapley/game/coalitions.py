"""Coalitions as integers, and the weights that turn their values into attributions.

Player `i` is in coalition `c` when bit `i` of `c` is set, so `0` is the empty coalition and `2**m - 1` the
grand one, and all coalitions of `m` players in order are `range(2**m)`.
"""

from __future__ import annotations

from functools import lru_cache
from math import factorial

import numpy as np

from dcshap._typing import BoolArray, FloatArray, IntArray

__all__ = ["doubled", "membership", "proper", "shapley_weights", "value_weights"]


def membership(n_players: int, start: int, stop: int) -> BoolArray:
    """Who is in the coalitions `start` to `stop`: one row each, one column per player."""
    # Algorithm 1, line 1: the power set S
    masks = np.arange(start, stop, dtype=np.int64)[:, None]
    return np.asarray((masks >> np.arange(n_players)) & 1 == 1, dtype=bool)


def doubled(base: FloatArray, offsets: FloatArray) -> FloatArray:
    """All sums (2**m, ...) of a base (...) and a subset of offsets (m, ...), in the order of the coalitions.

    Each player doubles what is there: the second half is the first, plus the player's offset.
    """
    points = np.empty((1 << len(offsets), *base.shape))
    points[0] = base
    for player, offset in enumerate(offsets):
        half = 1 << player
        np.add(points[:half], offset, out=points[half : 2 * half])
    return points


def shapley_weights(n_players: int) -> FloatArray:
    """`w_s = s! (m - s - 1)! / m!` for `s = 0 … m - 1`: how often a player meets a given coalition of size s."""
    m = n_players
    return np.array([factorial(s) * factorial(m - s - 1) / factorial(m) for s in range(m)])


def value_weights(n_players: int, n_blocks: int, start: int, stop: int) -> FloatArray:
    """The matrix that turns values of the coalitions `start` to `stop` into attributions.

    The lowest `n_players` bits of a coalition are players; the `n_blocks` above them are blocks that play as
    one. Without blocks this is the Shapley value; with them, the Owen value of the players, whose own block is
    one more than `n_blocks`, and then the Shapley value of each of the other blocks in the game between blocks.

    Returns
    -------
    array of shape (n_players + n_blocks, stop - start)
    """
    # The matrices of small games are wanted again for every sample; those of large games would fill memory.
    if stop - start <= 1 << 13 and n_players + n_blocks <= 13:
        return _small_value_weights(n_players, n_blocks, start, stop)
    return _value_weights(n_players, n_blocks, start, stop)


def _value_weights(n_players: int, n_blocks: int, start: int, stop: int) -> FloatArray:
    masks = np.arange(start, stop, dtype=np.int64)
    everyone = (1 << n_players) - 1
    own, others = masks & everyone, masks >> n_players
    players: FloatArray = _signed_weights(own, n_players) * shapley_weights(n_blocks + 1)[np.bitwise_count(others)]
    if n_blocks == 0:
        return players
    between = _signed_weights(2 * others + (own == everyone), n_blocks + 1)[1:]
    whole = (own == 0) | (own == everyone)  # between blocks, the players' own comes and goes as a whole
    return np.concatenate([players, np.where(whole, between, 0.0)])


def _signed_weights(masks: IntArray, n_players: int) -> FloatArray:
    """Signed weights, shape (n_players, n): +w(|S|−1) if i ∈ S, −w(|S|) otherwise."""
    weights, sizes = shapley_weights(n_players), np.bitwise_count(masks)
    inside, outside = np.append(0.0, weights)[sizes], -np.append(weights, 0.0)[sizes]
    bits = (masks >> np.arange(n_players)[:, None]) & 1 == 1
    return np.asarray(np.where(bits, inside, outside))


@lru_cache(maxsize=64)
def _small_value_weights(n_players: int, n_blocks: int, start: int, stop: int) -> FloatArray:
    weights = _value_weights(n_players, n_blocks, start, stop)
    weights.flags.writeable = False
    return weights


def proper(n_players: int, start: int, stop: int) -> BoolArray:
    """Which of the coalitions `start` to `stop` hold some but not all of the lowest `n_players` players."""
    everyone = (1 << n_players) - 1
    own: IntArray = np.arange(start, stop, dtype=np.int64) & everyone
    return np.asarray((own != 0) & (own != everyone), dtype=bool)
