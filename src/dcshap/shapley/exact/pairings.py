"""Shapley–Taylor interactions of pairs, from the values of all coalitions."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from dcshap._typing import FloatArray
from dcshap.shapley.game.coalitions import membership
from dcshap.shapley.game.games import Games

__all__ = ["pair_interactions"]


def pair_interactions(games: Games, sample: int, n_outputs: int, batch_size: int) -> FloatArray:
    """Interactions of all pairs of a sample's players, shape (n_pairs, K), in the order of `numpy.triu_indices`."""
    m = games.n_players
    step = max(1, batch_size // games.points.n_rows)
    parts = [games.coalition_values(sample, membership(m, at, min(at + step, 1 << m))) for at in range(0, 1 << m, step)]
    values = np.concatenate(parts)
    # Axis 0 is the highest player: its bit changes last.
    cube = values.reshape(*(2,) * m, n_outputs)
    sizes = np.bitwise_count(np.arange(1 << (m - 2), dtype=np.uint64)).astype(np.int64)
    weights = np.array([2.0 / (m * comb(m - 1, size)) for size in range(m - 1)])[sizes]
    return np.stack([weights @ _discrete_derivative(cube, m, pair) for pair in combinations(range(m), 2)])


def _discrete_derivative(cube: FloatArray, m: int, pair: tuple[int, int]) -> FloatArray:
    """What a pair adds together beyond what each adds, to every coalition of the others, shape (2^(m−2), K)."""
    both = np.moveaxis(cube, [m - 1 - pair[0], m - 1 - pair[1]], [0, 1])
    return np.asarray((both[1, 1] - both[0, 1] - both[1, 0] + both[0, 0]).reshape(-1, cube.shape[-1]))
