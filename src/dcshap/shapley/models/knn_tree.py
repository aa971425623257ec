"""Which of equally near training rows scikit-learn's kd-tree takes, compiled.

The tree goes down to the nearer child first, and keeps the k nearest rows that it has met in a heap, which a row enters
only if it is nearer than the furthest. So the pick among ties follows from the order of the visits, which is repeated
here step by step, with the same sums in the same order. `kd_tree` compares the outcome with the model's own on some
points, and gives no tree if they differ; then the model is asked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dcshap._typing import FloatArray, IntArray

__all__ = ["Tree", "kd_tree", "neighbors"]

# The model is compared with on so many of its rows, and as many points half-way between two of them.
_N_CHECKED = 16
_LEVELS = 64


class Tree(NamedTuple):
    """A fitted kd-tree.

    `points` (N * d,), leaf after leaf, each coordinate of all its points together; `rows` (N,), which rows of the model
    they are; of the nodes, `starts` and `stops` (n,), which points are theirs, `leaves` (n,), whether they have no
    children, and `bounds` (n, 2, d).
    """

    points: FloatArray
    rows: IntArray
    starts: IntArray
    stops: IntArray
    leaves: IntArray
    bounds: FloatArray


class _Heap(NamedTuple):
    """The nearest rows met so far: squared distances `keys` (k,), the furthest first, and which rows were `found`."""

    keys: FloatArray
    found: IntArray


def kd_tree(model: Any) -> Tree | None:
    """The tree of a fitted model; `None` if it has none, or another pick than is computed here."""
    if model._fit_method != "kd_tree" or type(model._tree).__name__ not in ("KDTree", "KDTree64"):
        return None
    data, rows, nodes, bounds = map(np.asarray, model._tree.get_arrays())
    leaves = np.asarray(nodes["is_leaf"], dtype=np.int64)
    starts, stops = (np.asarray(nodes[name], dtype=np.int64) for name in ("idx_start", "idx_end"))
    rows = np.asarray(rows, dtype=np.int64)
    order = np.flatnonzero(leaves)[np.argsort(starts[leaves == 1])]
    points = np.concatenate([data[rows[starts[leaf] : stops[leaf]]].T.ravel() for leaf in order])
    tree = Tree(points, rows, starts, stops, leaves, np.ascontiguousarray(bounds.swapaxes(0, 1)))
    some = data[np.linspace(0, len(data) - 1, 2 * _N_CHECKED).astype(np.int64)]
    places = np.concatenate([some[::2], (some[::2] + some[1::2]) / 2])
    picked = neighbors(tree, places, model.n_neighbors)
    theirs = model.kneighbors(places, return_distance=False)
    return tree if np.array_equal(np.sort(picked, axis=1), np.sort(theirs, axis=1)) else None


@njit(cache=True, nogil=True)
def neighbors(tree: Tree, places: FloatArray, n_neighbors: int) -> IntArray:
    """The rows (C, k) that the tree finds for places (C, d), in no particular order."""
    found = np.empty((len(places), n_neighbors), np.int64)
    widest = (tree.stops - tree.starts)[tree.leaves == 1].max()
    distances, keys = np.empty(widest), np.empty(n_neighbors)
    pending, gaps = np.empty(_LEVELS, np.int64), np.empty(_LEVELS)
    for c in range(len(places)):
        place, mine = places[c], found[c]
        keys[:] = np.inf
        pending[0], gaps[0] = 0, _gap(tree, 0, place)
        n_pending = 1
        while n_pending > 0:
            n_pending -= 1
            node, gap = pending[n_pending], gaps[n_pending]
            if gap > keys[0]:
                continue
            if tree.leaves[node]:
                _look_into(tree, node, place, distances, _Heap(keys, mine))
                continue
            left, right = 2 * node + 1, 2 * node + 2
            to_left, to_right = _gap(tree, left, place), _gap(tree, right, place)
            if to_left <= to_right:  # the last is visited first
                left, right, to_left, to_right = right, left, to_right, to_left
            pending[n_pending], gaps[n_pending] = left, to_left
            pending[n_pending + 1], gaps[n_pending + 1] = right, to_right
            n_pending += 2
    return found


@njit(cache=True, nogil=True, inline="always")
def _gap(tree: Tree, node: int, place: FloatArray) -> float:
    """The squared distance to a node's box, rounded as scikit-learn does."""
    total = 0.0
    for j in range(len(place)):
        below, above = tree.bounds[node, 0, j] - place[j], place[j] - tree.bounds[node, 1, j]
        twice = (below + abs(below)) + (above + abs(above))
        total += (0.5 * twice) * (0.5 * twice)
    return total


@njit(cache=True, nogil=True, inline="always")
def _look_into(tree: Tree, node: int, place: FloatArray, distances: FloatArray, heap: _Heap) -> None:
    start, size = tree.starts[node], tree.stops[node] - tree.starts[node]
    distances[:size] = 0.0
    for j in range(len(place)):
        at = start * len(place) + j * size
        for n in range(size):
            gap = place[j] - tree.points[at + n]
            distances[n] += gap * gap
    for n in range(size):
        if distances[n] < heap.keys[0]:
            _replace_furthest(heap, distances[n], tree.rows[start + n])


@njit(cache=True, nogil=True)
def _replace_furthest(heap: _Heap, key: float, row: int) -> None:
    """Put a row in the place of the heap's furthest, and let it sink."""
    keys, found = heap
    at = 0
    while 2 * at + 1 < len(keys):
        child = 2 * at + 1
        if child + 1 < len(keys) and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= key:
            break
        keys[at], found[at] = keys[child], found[child]
        at = child
    keys[at], found[at] = key, row
