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
LANES = 32  # of so many numbers loops become vector instructions; of fewer they are written out one by one


class Tree(NamedTuple):
    """A fitted kd-tree.

    `points` (B, d, LANES), block after block of a leaf's points side by side, and `rows` (B, LANES), which rows of the
    model they are; the last block of a leaf is filled up with points at infinity. Of the nodes, `starts` and `stops`
    (n,), which blocks are theirs, `leaves` (n,), whether they have no children, and `bounds` (n, 2, d).
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
    data, order, nodes, bounds = map(np.asarray, model._tree.get_arrays())
    leaves = np.asarray(nodes["is_leaf"], dtype=np.int64)
    sizes = np.where(leaves == 1, nodes["idx_end"] - nodes["idx_start"], 0)
    n_blocks = -(-sizes // LANES)
    starts = np.cumsum(n_blocks) - n_blocks
    rows, points = np.full((n_blocks.sum(), LANES), -1), np.full((n_blocks.sum(), LANES, data.shape[1]), np.inf)
    for node in np.flatnonzero(leaves):
        mine = order[nodes["idx_start"][node] : nodes["idx_end"][node]]
        rows[starts[node] : starts[node] + n_blocks[node]].reshape(-1)[: len(mine)] = mine
    points[rows >= 0] = data[rows[rows >= 0]]
    points, bounds = np.ascontiguousarray(points.swapaxes(1, 2)), np.ascontiguousarray(bounds.swapaxes(0, 1))
    tree = Tree(points, rows, starts, starts + n_blocks, leaves, bounds)
    some = data[np.linspace(0, len(data) - 1, 2 * _N_CHECKED).astype(np.int64)]
    places = np.concatenate([some[::2], (some[::2] + some[1::2]) / 2])
    picked = neighbors(tree, places, model.n_neighbors)
    theirs = model.kneighbors(places, return_distance=False)
    return tree if np.array_equal(np.sort(picked, axis=1), np.sort(theirs, axis=1)) else None


@njit(cache=True, nogil=True)
def neighbors(tree: Tree, places: FloatArray, n_neighbors: int) -> IntArray:
    """The rows (C, k) that the tree finds for places (C, d), in no particular order."""
    found = np.empty((len(places), n_neighbors), np.int64)
    distances, keys = np.empty(LANES), np.empty(n_neighbors)
    pending, gaps = np.empty(_LEVELS, np.int64), np.empty(_LEVELS)
    for c in range(len(places)):
        place, mine = places[c], found[c]
        keys[:] = np.inf
        pending[0], gaps[0] = 0, 0.0  # whatever the gap is, no row is known that is nearer
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
            to_left, to_right = _gaps(tree, left, right, place)
            if to_left <= to_right:  # the last is visited first
                left, right, to_left, to_right = right, left, to_right, to_left
            pending[n_pending], gaps[n_pending] = left, to_left
            pending[n_pending + 1], gaps[n_pending + 1] = right, to_right
            n_pending += 2
    return found


@njit(cache=True, nogil=True, inline="always")
def _gaps(tree: Tree, left: int, right: int, place: FloatArray) -> tuple[float, float]:
    """The squared distances to two nodes' boxes, rounded as scikit-learn does; at once, as each waits for its sums."""
    to_left = to_right = 0.0
    for j in range(len(place)):
        to_left += _square_outside(tree.bounds[left, 0, j] - place[j], place[j] - tree.bounds[left, 1, j])
        to_right += _square_outside(tree.bounds[right, 0, j] - place[j], place[j] - tree.bounds[right, 1, j])
    return to_left, to_right


@njit(cache=True, nogil=True, inline="always")
def _square_outside(below: float, above: float) -> float:
    twice = (below + abs(below)) + (above + abs(above))
    return (0.5 * twice) * (0.5 * twice)


@njit(cache=True, nogil=True, inline="always")
def _look_into(tree: Tree, node: int, place: FloatArray, distances: FloatArray, heap: _Heap) -> None:
    for block in range(tree.starts[node], tree.stops[node]):
        _measure(tree.points, block, place, distances)
        least = np.inf
        for n in range(LANES):
            least = distances[n] if distances[n] < least else least
        if least < heap.keys[0]:
            for n in range(LANES):
                if distances[n] < heap.keys[0]:
                    _replace_furthest(heap, distances[n], tree.rows[block, n])


@njit(cache=True, nogil=True, inline="always")
def _measure(points: FloatArray, block: int, place: FloatArray, distances: FloatArray) -> None:
    """Squared distances to a block's points, in the order of the coordinates; by threes, to write them less often."""
    whole = len(place) // 3 * 3
    for n in range(LANES):
        distances[n] = 0.0
    for j in range(0, whole, 3):
        for n in range(LANES):
            x, y = place[j] - points[block, j, n], place[j + 1] - points[block, j + 1, n]
            z = place[j + 2] - points[block, j + 2, n]
            distances[n] = ((distances[n] + x * x) + y * y) + z * z
    for j in range(whole, len(place)):
        for n in range(LANES):
            gap = place[j] - points[block, j, n]
            distances[n] += gap * gap


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
