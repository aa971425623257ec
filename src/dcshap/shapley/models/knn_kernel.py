"""Nearest neighbours of all coalitions' points at once, compiled.

For points `z(S) = z_0 + Σ_{i∈S} d_i` and training points `t_n`, up to a term that is the same for all n::

    ‖z(S) - t_n‖² = a_n + Σ_{i∈S} b_in,   a_n = ‖t_n‖² - 2 z_0·t_n,   b_in = -2 d_i·t_n

The players are split in two halves. For a tile of training points each half's sums are tabulated, and then one
addition and one comparison tell whether a training point may be among a coalition's nearest. Tiles are compact, so
most are ruled out whole: no point of a ball is nearer than its centre less its radius.

This first pass, `nominate`, may be in low precision; `dcshap.shapley.models.knn_votes` measures the candidates anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from dcshap._typing import Array, FloatArray

__all__ = ["TILE", "Nominated", "Sums", "Tiles", "insert", "nominate", "nominate_each", "squared_distance"]

TILE = 64


class Tiles(NamedTuple):
    """N training points in T tiles, `TILE` after `TILE` of them, all less a common origin.

    `points` (T, d, TILE), a tile's points side by side so that vector instructions take several at once, and `norms`
    (T, TILE) squared, infinite beyond the last point; of the tiles `centres` (T, d), `centre_norms` (T, 1) squared,
    and `radii` (T,), how far a tile's points are from its centre at most.
    """

    points: FloatArray
    norms: FloatArray
    centres: FloatArray
    centre_norms: FloatArray
    radii: FloatArray


class Sums(NamedTuple):
    """Coalitions' points, less the same origin: `base` (d,), `offsets` (m, d), and `squares` (2**m,), squared norms."""

    base: FloatArray
    offsets: FloatArray
    squares: FloatArray


class Nominated(NamedTuple):
    """The c smallest sums `a_n + Σ b_in` of each coalition, ascending: `keys` (2**m, c), and `where` they are from.

    There are no more slots than training points.
    """

    keys: Array
    where: Array


@njit(cache=True, nogil=True)
def squared_distance(left: FloatArray, right: FloatArray) -> float:
    """The squared distance, term by term in the order of the coordinates."""
    total = 0.0
    for j in range(len(left)):
        gap = left[j] - right[j]
        total += gap * gap
    return total


@njit(cache=True, nogil=True)
def _products(vectors: FloatArray, points: FloatArray, out: FloatArray) -> None:
    """Inner products (m, n) of vectors (m, d) with points (d, n)."""
    out[:] = 0.0
    for i in range(vectors.shape[0]):
        for j in range(vectors.shape[1]):
            for n in range(out.shape[1]):
                out[i, n] += vectors[i, j] * points[j, n]


@njit(cache=True, nogil=True)
def _tabulate(norms: FloatArray, products: FloatArray, low: Array, high: Array) -> None:
    """Fill the two halves' tables of sums, one column per point; `high` holds `a_n` as well."""
    n_offsets = len(products) - 1
    n_low = n_offsets // 2
    for n in range(len(norms)):
        low[0, n] = 0.0
        high[0, n] = norms[n] + products[n_offsets, n]
    for i in range(n_offsets):
        table = low if i < n_low else high
        half = 1 << (i if i < n_low else i - n_low)
        for c in range(half):
            for n in range(len(norms)):
                table[half + c, n] = table[c, n] + products[i, n]


@njit(cache=True, nogil=True)
def _any_below(left: Array, right: Array, limit: float) -> bool:
    """Whether any sum is below the limit; without a branch, so that vector instructions do it."""
    found = False
    for n in range(TILE):
        found |= left[n] + right[n] < limit
    return found


@njit(cache=True, nogil=True)
def insert(keys: Array, where: Array, key: float, at: int) -> None:
    """Put a key in its place in a sorted list, whose last falls off."""
    p = len(keys) - 1
    while p > 0 and keys[p - 1] > key:
        keys[p] = keys[p - 1]
        where[p] = where[p - 1]
        p -= 1
    keys[p] = key
    where[p] = at


@njit(cache=True, nogil=True)
def nominate(tiles: Tiles, order: Array, sums: Sums, nominated: Nominated) -> None:
    """Find every coalition's smallest sums, visiting tiles in the given order, in the precision of `nominated.keys`."""
    keys, where = nominated
    n_low = len(sums.offsets) // 2
    n_high = len(sums.offsets) - n_low
    low, high = np.empty((1 << n_low, TILE), keys.dtype), np.empty((1 << n_high, TILE), keys.dtype)
    centre_low, centre_high = np.empty((1 << n_low, 1)), np.empty((1 << n_high, 1))
    vectors = -2.0 * np.concatenate((sums.offsets, sums.base.reshape(1, -1)))
    products, centre_products = np.empty((len(vectors), TILE)), tiles.centres @ vectors.T
    reach = np.full(len(keys), np.inf)
    keys[:] = np.inf
    last = keys.shape[1] - 1
    for tile in order:
        _tabulate(tiles.centre_norms[tile], centre_products[tile].reshape(-1, 1), centre_low, centre_high)
        tabulated = False
        for c in range(len(keys)):
            in_high, in_low = c >> n_low, c & ((1 << n_low) - 1)
            limit = reach[c] + tiles.radii[tile]
            if centre_high[in_high, 0] + centre_low[in_low, 0] + sums.squares[c] >= limit * limit:
                continue
            if not tabulated:
                _products(vectors, tiles.points[tile], products)
                _tabulate(tiles.norms[tile], products, low, high)
                tabulated = True
            if not _any_below(high[in_high], low[in_low], keys[c, last]):
                continue
            for n in range(TILE):
                key = high[in_high, n] + low[in_low, n]
                if key < keys[c, last]:
                    insert(keys[c], where[c], key, tile * TILE + n)
            reach[c] = np.sqrt(max(keys[c, last] + sums.squares[c], 0.0))


@njit(cache=True, nogil=True)
def nominate_each(tiles: Tiles, places: FloatArray, nominated: Nominated) -> None:
    """Find the nearest training points of any places (C, d), less the origin; keys are squared distances.

    For coalitions that are no subsets of few offsets, as in sampling: no sums to share, but the same tiles.
    """
    keys, where = nominated
    n_tiles, d = tiles.centres.shape
    nearest, distances = np.empty(n_tiles), np.empty(TILE)
    keys[:] = np.inf
    last = keys.shape[1] - 1
    for c in range(len(places)):
        for t in range(n_tiles):
            gap = np.sqrt(squared_distance(places[c], tiles.centres[t])) - tiles.radii[t]
            nearest[t] = gap * gap if gap > 0.0 else 0.0
        for t in np.argsort(nearest):
            if nearest[t] >= keys[c, last]:
                break
            distances[:] = 0.0
            for j in range(d):
                for n in range(TILE):
                    gap = places[c, j] - tiles.points[t, j, n]
                    distances[n] += gap * gap
            for n in range(TILE):
                if distances[n] < keys[c, last] and tiles.norms[t, n] < np.inf:
                    insert(keys[c], where[c], distances[n], t * TILE + n)
