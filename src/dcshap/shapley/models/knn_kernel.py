"""Nearest neighbours of all coalitions' points at once, compiled.

For points `z(S) = z_0 + Σ_{i∈S} d_i` and training points `t_n`, up to a term that is the same for all n::

    ‖z(S) - t_n‖² = a_n + Σ_{i∈S} b_in,   a_n = ‖t_n‖² - 2 z_0·t_n,   b_in = -2 d_i·t_n

The players are split in two halves. For a tile of training points each half's sums are tabulated, and then one
addition and one comparison tell whether a training point may be among a coalition's nearest. Tiles are compact, so
most are ruled out whole: no point of a box is nearer than the box. Every coalition first looks into the tile whose box
is nearest to it, so that few of the others are left.

This first pass, `nominate`, may be in low precision; `dcshap.shapley.models.knn_votes` measures the candidates anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from dcshap._typing import Array, FloatArray

__all__ = [
    "TILE",
    "Nominated",
    "Sums",
    "Tiles",
    "insert",
    "nominate",
    "nominate_each",
    "room_for_gaps",
    "squared_distance",
    "tiles_of",
]

TILE = 64
MAX_GAPS = 1 << 22  # so many numbers are kept
CHUNK = 256  # places that are looked up together


class Tiles(NamedTuple):
    """N training points in T tiles, `TILE` after `TILE` of them, all less a common origin, in one precision.

    `points` (T, d, TILE), a tile's points side by side so that vector instructions take several at once, and `norms`
    (T, TILE) squared, infinite beyond the last point; `low` and `high` (T, d), the corners of the tiles' boxes.
    """

    points: Array
    norms: Array
    low: Array
    high: Array


def tiles_of(points: FloatArray) -> Tiles:
    """Tiles of points (N, d) in the order of `points`, in double precision."""
    starts = np.arange(0, len(points), TILE)
    padded = np.zeros((len(starts) * TILE, points.shape[1]))
    padded[: len(points)] = points
    norms = np.full(len(padded), np.inf)
    norms[: len(points)] = np.einsum("ij,ij->i", points, points)
    return Tiles(
        points=np.ascontiguousarray(padded.reshape(len(starts), TILE, -1).swapaxes(1, 2)),
        norms=norms.reshape(-1, TILE),
        low=np.minimum.reduceat(points, starts),
        high=np.maximum.reduceat(points, starts),
    )


class Sums(NamedTuple):
    """Coalitions' points, less the same origin, in the precision of the tiles.

    `vectors` (m + 1, d), -2 times what each player adds, and the base; `places` (d, 2**m), where coalitions are, and
    `squares` (2**m,), their squared norms; `gaps`, room for their squared distances to the tiles' boxes.
    """

    vectors: Array
    places: Array
    squares: Array
    gaps: Array


class Nominated(NamedTuple):
    """The c smallest sums `a_n + Σ b_in` of each coalition, ascending: `keys` (2**m, c), and `where` they are from.

    There are no more slots than training points.
    """

    keys: Array
    where: Array


class _Tables(NamedTuple):
    """Room for what is computed tile after tile: `products` (m + 1, TILE), and sums of the players of each half."""

    products: Array
    low: Array
    high: Array


@njit(cache=True, nogil=True)
def squared_distance(left: FloatArray, right: FloatArray) -> float:
    """The squared distance, term by term in the order of the coordinates."""
    total = 0.0
    for j in range(len(left)):
        gap = left[j] - right[j]
        total += gap * gap
    return total


@njit(cache=True, nogil=True, inline="always")
def _tabulate(tiles: Tiles, tile: int, vectors: Array, tables: _Tables) -> None:
    """Fill the two halves' tables of sums, one column per point of a tile; `high` holds `a_n` as well."""
    products, low, high = tables
    n_offsets = len(vectors) - 1
    n_low = n_offsets // 2
    products[:] = 0.0
    for j in range(vectors.shape[1]):
        for i in range(len(vectors)):
            for n in range(TILE):
                products[i, n] += vectors[i, j] * tiles.points[tile, j, n]
    for n in range(TILE):
        low[0, n] = 0.0
        high[0, n] = tiles.norms[tile, n] + products[n_offsets, n]
    for i in range(n_offsets):
        table = low if i < n_low else high
        half = 1 << (i if i < n_low else i - n_low)
        for c in range(half):
            for n in range(TILE):
                table[half + c, n] = table[c, n] + products[i, n]


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


@njit(cache=True, nogil=True, inline="always")
def _take_below(halves: tuple[Array, Array], rows: tuple[int, int], tile: int, nominated: Nominated, c: int) -> None:
    """Put the points of a tile into a place's list whose sums of two tables' rows are below the last of the list.

    The rows are given by their numbers: views of arrays take longer than what is done with them.
    """
    (left, right), (i, j), (keys, where) = halves, rows, nominated
    last = keys.shape[1] - 1
    found, limit = False, keys[c, last]
    for n in range(TILE):  # without a branch, so that vector instructions do it
        found |= left[i, n] + right[j, n] < limit
    if not found:
        return
    for n in range(TILE):
        key = left[i, n] + right[j, n]
        if key < keys[c, last]:
            p = last
            while p > 0 and keys[c, p - 1] > key:
                keys[c, p], where[c, p] = keys[c, p - 1], where[c, p - 1]
                p -= 1
            keys[c, p], where[c, p] = key, tile * TILE + n


@njit(cache=True, nogil=True, inline="always")
def _measure_box(tiles: Tiles, tile: int, places: Array, gaps: Array) -> None:
    """Squared distances (C,) of places (d, C) to a tile's box."""
    gaps[:] = 0.0
    nothing = gaps.dtype.type(0.0)
    for j in range(len(places)):
        low, high = tiles.low[tile, j], tiles.high[tile, j]
        for c in range(len(gaps)):
            below, above = low - places[j, c], places[j, c] - high
            gap = below if below > above else above
            gap = gap if gap > nothing else nothing
            gaps[c] += gap * gap


@njit(cache=True, nogil=True, fastmath={"contract"})
def _nearest_boxes(tiles: Tiles, places: Array, gaps: Array) -> Array:
    """For places (d, C), the tiles whose boxes are nearest."""
    n_places = places.shape[1]
    least, nearest = np.full(n_places, np.inf, places.dtype), np.zeros(n_places, np.int32)
    for tile in range(len(tiles.points)):
        mine = gaps[min(tile, len(gaps) - 1)]
        _measure_box(tiles, tile, places, mine)
        for c in range(n_places):
            nearer = mine[c] < least[c]
            least[c] = mine[c] if nearer else least[c]
            nearest[c] = tile if nearer else nearest[c]
    return nearest


@njit(cache=True, nogil=True, inline="always")
def _add_up(tiles: Tiles, tile: int, places: Array, c: int, sums: Array) -> None:
    """The sums (1, TILE) of one place with all points of a tile."""
    minus_two = sums.dtype.type(-2.0)
    for n in range(TILE):
        sums[0, n] = tiles.norms[tile, n]
    for j in range(len(places)):
        twice = minus_two * places[j, c]
        for n in range(TILE):
            sums[0, n] += twice * tiles.points[tile, j, n]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _look_into_first(tiles: Tiles, places: Array, gaps: Array, nominated: Nominated) -> Array:
    """Fill the lists of places (d, C) with the points of the nearest box each; which tiles these are."""
    keys, first = nominated.keys, _nearest_boxes(tiles, places, gaps)
    sums, nothing = np.empty((1, TILE), keys.dtype), np.zeros((1, TILE), keys.dtype)
    keys[:] = np.inf
    for c in range(len(keys)):
        _add_up(tiles, first[c], places, c, sums)
        _take_below((sums, nothing), (0, 0), first[c], nominated, c)
    return first


@njit(cache=True, nogil=True, inline="always")
def _find_near(gaps: Array, limits: Array, first: Array, tile: int, near: Array) -> int:
    """Write down which places have to look into a tile; how many they are. Without a branch."""
    n_near, found = 0, False
    for c in range(len(limits)):
        found |= gaps[c] < limits[c]
    if found:
        for c in range(len(limits)):
            near[n_near] = c
            n_near += (gaps[c] < limits[c]) & (first[c] != tile)
    return n_near


@njit(cache=True, nogil=True)
def room_for_gaps(tiles: Tiles, n_places: int) -> Array:
    """For the boxes of all tiles if that is not too much; else for one, and all are measured again when wanted."""
    n_tiles = len(tiles.points)
    return np.empty((n_tiles if n_tiles * n_places <= MAX_GAPS else 1, n_places), tiles.points.dtype)


@njit(cache=True, nogil=True, fastmath={"contract"})
def nominate(tiles: Tiles, sums: Sums, nominated: Nominated) -> None:
    """Find every coalition's smallest sums, in the precision of the tiles."""
    keys = nominated.keys
    n_coalitions, last, dtype = len(keys), keys.shape[1] - 1, keys.dtype
    n_low = (len(sums.vectors) - 1) // 2
    n_high = len(sums.vectors) - 1 - n_low
    low, high = np.empty((1 << n_low, TILE), dtype), np.empty((1 << n_high, TILE), dtype)
    tables = _Tables(np.empty((len(sums.vectors), TILE), dtype), low, high)
    gaps = sums.gaps
    first = _look_into_first(tiles, sums.places, gaps, nominated)
    limits = keys[:, last] + sums.squares
    near = np.empty(n_coalitions + 1, np.int64)
    for tile in range(len(tiles.points)):
        mine = gaps[min(tile, len(gaps) - 1)]
        if len(gaps) == 1:
            _measure_box(tiles, tile, sums.places, mine)
        n_near = _find_near(mine, limits, first, tile, near)
        if n_near == 0:
            continue
        _tabulate(tiles, tile, sums.vectors, tables)
        for at in range(n_near):
            c = near[at]
            _take_below((high, low), (c >> n_low, c & ((1 << n_low) - 1)), tile, nominated, c)
            limits[c] = keys[c, last] + sums.squares[c]


@njit(cache=True, nogil=True)
def nominate_each(tiles: Tiles, places: FloatArray, squares: FloatArray, nominated: Nominated) -> None:
    """The same for any places (C, d), less the origin, with their squared norms (C,).

    For coalitions that are no subsets of few offsets, as in sampling: no sums to share, but the same tiles.
    """
    dtype = nominated.keys.dtype
    gaps = room_for_gaps(tiles, min(CHUNK, len(places)))
    for start in range(0, len(places), CHUNK):
        part = slice(start, min(start + CHUNK, len(places)))
        n_places = part.stop - part.start
        mine, mine_squares = np.empty((places.shape[1], n_places), dtype), np.empty(n_places, dtype)
        mine[:], mine_squares[:] = places[part].T, squares[part]
        sums = Sums(mine[:0], mine, mine_squares, gaps[:, :n_places])
        _nominate_chunk(tiles, sums, Nominated(nominated.keys[part], nominated.where[part]))


@njit(cache=True, nogil=True, fastmath={"contract"})
def _nominate_chunk(tiles: Tiles, chunk: Sums, nominated: Nominated) -> None:
    keys, (_, places, squares, gaps) = nominated.keys, chunk
    last = keys.shape[1] - 1
    first = _look_into_first(tiles, places, gaps, nominated)
    limits, sums = keys[:, last] + squares, np.empty((1, TILE), keys.dtype)
    near, nothing = np.empty(len(keys) + 1, np.int64), np.zeros((1, TILE), keys.dtype)
    for tile in range(len(tiles.points)):
        mine = gaps[min(tile, len(gaps) - 1)]
        if len(gaps) == 1:
            _measure_box(tiles, tile, places, mine)
        for at in range(_find_near(mine, limits, first, tile, near)):
            c = near[at]
            _add_up(tiles, tile, places, c, sums)
            _take_below((sums, nothing), (0, 0), tile, nominated, c)
            limits[c] = keys[c, last] + squares[c]
