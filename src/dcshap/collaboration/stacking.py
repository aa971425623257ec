"""Points of all parties in one table, in an order that depends on the points alone.

A model whose fit or whose ties depend on the order of rows then comes out the same whoever sends first and in whatever
order, and the rows that an instance-based model contains do not stand party by party.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dcshap._disk import reserve
from dcshap._typing import Array, FloatArray

__all__ = ["KEY_WIDTH", "parts_of", "side_by_side", "stack"]

IN_MEMORY = 1 << 28  # bytes of a table; a larger one lies in a file, where there is a place for it
ROWS = 1 << 16  # of a large table that are looked at together
KEY_WIDTH = 4  # coordinates in which points hardly ever agree unless they are equal

Hashes = npt.NDArray[np.uint64]


def stack(
    keys: Iterable[FloatArray],
    chunks: Iterable[FloatArray],
    labels: Array,
    weights: FloatArray | None = None,
    *,
    folder: Path | None = None,
) -> tuple[FloatArray, Array, FloatArray | None]:
    """Points (n, d), labels (n,) and their weights (n,), where they have any, in their common order.

    Points are ordered by a hash, so that neighbours in the table are none in space: models that learn or validate in
    parts expect rows in no particular order.

    Parameters
    ----------
    keys : iterable of arrays of shape (n_i, k)
        The first coordinates of the points, all of which are needed before the first point finds its place.
    chunks : iterable of arrays of shape (n_i, d)
        The points, some at a time: there is never room for them in two orders.
    labels, weights : array of shape (n,)
    folder : path, optional
        Where a table lies that is too large for memory.
    """
    hashes = np.concatenate([_hashes(chunk) for chunk in keys])
    order = np.argsort(hashes)
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    points: FloatArray | None = None
    start = 0
    for chunk in chunks:
        points = _room(len(hashes), chunk.shape[1], folder) if points is None else points
        points[position[start : start + len(chunk)]] = chunk
        start += len(chunk)
    stacked, labels = (np.empty((0, 0)) if points is None else points), labels[order]
    weights = None if weights is None else weights[order]
    _settle_ties(stacked, labels, weights, hashes[order])
    return stacked, labels, weights


def _room(n_rows: int, n_columns: int, folder: Path | None) -> FloatArray:
    """An empty table: in memory, or, where it is large and there is a folder for it, in a file."""
    size = 8 * n_rows * n_columns
    if folder is None or size <= IN_MEMORY:
        return np.empty((n_rows, n_columns))
    path = folder / "points"
    reserve(path, size)
    return np.asarray(np.memmap(path, dtype=np.float64, mode="r+", shape=(n_rows, n_columns)))


def parts_of(rows: FloatArray) -> Iterator[FloatArray]:
    """A table (n, d), some rows at a time; at least once."""
    for start in range(0, max(len(rows), 1), ROWS):
        yield rows[start : start + ROWS]


def side_by_side(tables: Sequence[FloatArray]) -> Iterator[FloatArray]:
    """Tables of the same n rows side by side (n, d), some rows at a time, each a copy."""
    for parts in zip(*map(parts_of, tables), strict=True):
        yield np.concatenate(parts, axis=1)


def _hashes(points: FloatArray) -> Hashes:
    multipliers = np.random.default_rng(0).integers(2**64, size=points.shape[1], dtype=np.uint64) | np.uint64(1)
    hashes: Hashes = np.ascontiguousarray(points).view(np.uint64) @ multipliers
    return hashes


def _settle_ties(points: FloatArray, labels: Array, weights: FloatArray | None, hashes: Hashes) -> None:
    """Order, in place, points of one hash by their coordinates, and equal points by their labels."""
    equal = np.flatnonzero(hashes[1:] == hashes[:-1])
    tied = np.union1d(equal, equal + 1)
    _, classes = np.unique(labels[tied], return_inverse=True)
    settled = tied[np.lexsort((classes, *points[tied].T, hashes[tied]))]
    points[tied], labels[tied] = points[settled], labels[settled]
    if weights is not None:
        weights[tied] = weights[settled]
