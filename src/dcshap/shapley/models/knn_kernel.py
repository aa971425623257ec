"""Nearest neighbours of all coalitions' points at once, compiled.

For points `z(S) = z_0 + Σ_{i∈S} d_i` and training points `t_n`, up to a term that is the same for all n::

    ‖z(S) - t_n‖² = a_n + Σ_{i∈S} b_in,   a_n = ‖t_n‖² - 2 z_0·t_n,   b_in = -2 d_i·t_n

The players are split in two halves. For a tile of training points each half's sums are tabulated, and then one
addition and one comparison tell whether a training point may be among a coalition's nearest. Tiles are compact, so
most are ruled out whole: no point of a ball is nearer than its centre less its radius.

That first pass, `nominate`, may be in low precision. `tally` measures the candidates' distances anew, as
scikit-learn's trees do, and says so where they do not settle the model's answer beyond doubt.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from dcshap._typing import Array, FloatArray

__all__ = [
    "ASK",
    "SETTLED",
    "TILE",
    "UNSURE",
    "Answered",
    "Asked",
    "Nominated",
    "Rule",
    "Sums",
    "Tiles",
    "Voters",
    "nominate",
    "nominate_each",
    "tally",
    "tally_directly",
]

TILE = 64

SETTLED, UNSURE, ASK = 0, 1, 2


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


class Voters(NamedTuple):
    """Distinct training points exactly as the model has them, and how they vote.

    `points` (N, d); `counts` (N,), how many training rows each stands for; `labels` (N,), the label that all those rows
    carry, -1 if they differ; `votes` (N, K), the sum of their votes; `label_votes` (L, K), the vote of one row with
    each label.
    """

    points: FloatArray
    counts: Array
    labels: Array
    votes: FloatArray
    label_votes: FloatArray


class Rule(NamedTuple):
    """The model's `n_neighbors`, whether votes are weighted `by_distance`, and `relative_noise`.

    Squared distances that differ by less than that share of them may be ranked either way by the model.
    """

    n_neighbors: int
    by_distance: bool
    relative_noise: float


class Asked(NamedTuple):
    """Coalitions' `places` (C, d), exactly as the model would see them, their squared norms, and doubts.

    `noise` (C,): squared distances that differ by less may be ranked either way by the model, beside `relative_noise`.
    `margin`: how far a nominated key, plus `squares`, may be from the squared distance it stands for.
    """

    places: FloatArray
    squares: FloatArray
    noise: FloatArray
    margin: float


class Answered(NamedTuple):
    """The answers `values` (C, K), and `states` (C,).

    `SETTLED`; `UNSURE`, candidates may be missing; `ASK`, the model alone knows which of several equally near rows it
    takes.
    """

    values: FloatArray
    states: Array


class _Ranked(NamedTuple):
    """Candidates in ascending squared distance; everybody else is `beyond`, at that squared distance or further."""

    distances: FloatArray
    candidates: Array
    beyond: float


@njit(cache=True, nogil=True)
def _distance(left: FloatArray, right: FloatArray) -> float:
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
def _insert(keys: Array, where: Array, key: float, at: int) -> None:
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
                    _insert(keys[c], where[c], key, tile * TILE + n)
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
            gap = np.sqrt(_distance(places[c], tiles.centres[t])) - tiles.radii[t]
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
                    _insert(keys[c], where[c], distances[n], t * TILE + n)


@njit(cache=True, nogil=True)
def tally(asked: Asked, nominated: Nominated, voters: Voters, rule: Rule, answered: Answered) -> None:
    """Turn nominated candidates into the model's answers, where they settle them."""
    keys, where = nominated
    n_slots = keys.shape[1]
    all_nominated = n_slots == len(voters.points)
    distances, candidates = np.empty(n_slots), np.empty(n_slots, np.int64)
    for c in range(len(keys)):
        distances[:] = np.inf
        for n in range(n_slots):
            _insert(distances, candidates, _distance(asked.places[c], voters.points[where[c, n]]), where[c, n])
        beyond = np.inf if all_nominated else keys[c, n_slots - 1] + asked.squares[c] - asked.margin
        ranked = _Ranked(distances, candidates, beyond)
        answered.states[c] = _decide(ranked, asked.noise[c], voters, rule, answered.values[c])


@njit(cache=True, nogil=True)
def tally_directly(asked: Asked, voters: Voters, rule: Rule, answered: Answered) -> None:
    """The same from the distances to all training points, for coalitions that candidates left unsure."""
    distances = np.empty(len(voters.points))
    for c in range(len(asked.places)):
        for n in range(len(distances)):
            distances[n] = _distance(asked.places[c], voters.points[n])
        order = np.argsort(distances)
        ranked = _Ranked(distances[order], order, np.inf)
        answered.states[c] = _decide(ranked, asked.noise[c], voters, rule, answered.values[c])


@njit(cache=True, nogil=True)
def _decide(ranked: _Ranked, noise: float, voters: Voters, rule: Rule, out: FloatArray) -> int:
    """One coalition's answer, if the candidates settle it.

    The boundary is the candidate that completes the `n_neighbors` rows. Candidates clearly nearer than it are in the
    model's neighbourhood, those clearly further are not, and those about as near may be in or out. If there are more
    rows of these than places, the answer still does not depend on the pick where all carry one label and, if that
    matters, are equally far.
    """
    boundary = _boundary(ranked.candidates, voters.counts, rule.n_neighbors)
    if boundary == len(ranked.candidates):
        return UNSURE
    furthest = ranked.distances[boundary]
    tolerance = noise + rule.relative_noise * furthest
    if ranked.beyond <= furthest + tolerance:
        return UNSURE
    first, stop = boundary, boundary + 1
    while first > 0 and ranked.distances[first - 1] >= furthest - tolerance:
        first -= 1
    while stop < len(ranked.candidates) and ranked.distances[stop] <= furthest + tolerance:
        stop += 1
    n_wanted = rule.n_neighbors - _n_rows(ranked.candidates[:first], voters.counts)
    tied = ranked.candidates[first:stop]
    far_apart = ranked.distances[stop - 1] - ranked.distances[first] > rule.relative_noise * furthest
    if _n_rows(tied, voters.counts) == n_wanted:
        _weigh(ranked, (stop, 0), voters, rule, out)
    elif _one_label(tied, voters.labels) and not (rule.by_distance and far_apart):
        _weigh(ranked, (first, n_wanted), voters, rule, out)
    else:
        return ASK
    return SETTLED


@njit(cache=True, nogil=True)
def _boundary(candidates: Array, counts: Array, n_neighbors: int) -> int:
    n_rows = 0
    for p in range(len(candidates)):
        n_rows += counts[candidates[p]]
        if n_rows >= n_neighbors:
            return p
    return len(candidates)


@njit(cache=True, nogil=True)
def _n_rows(candidates: Array, counts: Array) -> int:
    total = 0
    for p in range(len(candidates)):
        total += counts[candidates[p]]
    return total


@njit(cache=True, nogil=True)
def _one_label(candidates: Array, labels: Array) -> bool:
    for p in range(len(candidates)):
        if labels[candidates[p]] < 0 or labels[candidates[p]] != labels[candidates[0]]:
            return False
    return True


@njit(cache=True, nogil=True)
def _weigh(ranked: _Ranked, share: tuple[int, int], voters: Voters, rule: Rule, out: FloatArray) -> None:
    """The weighted mean of votes: all rows of the first `share[0]` candidates, and `share[1]` rows of the next."""
    n_whole, n_partly = share
    exact_hit = rule.by_distance and ranked.distances[0] == 0.0
    total = 0.0
    out[:] = 0.0
    for p in range(n_whole):
        voter = ranked.candidates[p]
        weight = _weight(ranked.distances[p], rule.by_distance, exact_hit)
        total += weight * voters.counts[voter]
        out += weight * voters.votes[voter]
    if n_partly > 0:
        label = voters.labels[ranked.candidates[n_whole]]
        weight = _weight(ranked.distances[n_whole], rule.by_distance, exact_hit) * n_partly
        total += weight
        out += weight * voters.label_votes[label]
    out /= total


@njit(cache=True, nogil=True)
def _weight(distance: float, by_distance: bool, exact_hit: bool) -> float:
    if not by_distance:
        return 1.0
    if exact_hit:  # rows at no distance vote, and they alone
        return 1.0 if distance == 0.0 else 0.0
    return 1.0 / float(np.sqrt(distance))
