"""From candidates to a nearest-neighbour model's answers, compiled.

`canvass` finds the candidates of many games, one after the other. `tally` measures the candidates' distances anew, as
scikit-learn's trees do, and says so where they do not settle the model's answer beyond doubt.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from dcshap._typing import Array, FloatArray
from dcshap.shapley.models.knn_kernel import Nominated, Sums, Tiles, insert, nominate, room_for_gaps, squared_distance

__all__ = [
    "ASK",
    "SETTLED",
    "UNSURE",
    "Answered",
    "Asked",
    "Blocks",
    "Rule",
    "Voters",
    "canvass",
    "tally",
    "tally_directly",
]

SETTLED, UNSURE, ASK = 0, 1, 2


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


class Blocks(NamedTuple):
    """B games of m players each.

    `vectors` (B, m + 1, d), -2 times what each player adds, and the base less the origin (d,); `places` (B, 2**m, d),
    exactly as the model would see them; `noise` (B, 2**m) and `margins` (B,), as in `Asked`; `n_slots`, how many
    candidates each coalition has.
    """

    vectors: FloatArray
    places: FloatArray
    noise: FloatArray
    margins: FloatArray
    origin: FloatArray
    n_slots: int


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
def canvass(blocks: Blocks, tiles: Tiles, voters: Voters, rule: Rule, answered: Answered) -> None:
    """The answers (B, 2**m, K) to all coalitions of the games, where candidates found with the tiles settle them."""
    n_coalitions, d = blocks.places.shape[1:]
    shape, dtype = (n_coalitions, blocks.n_slots), tiles.points.dtype
    nominated = Nominated(np.empty(shape, dtype), np.empty(shape, np.int32))
    vectors, places = np.empty(blocks.vectors.shape[1:], dtype), np.empty((d, n_coalitions), dtype)
    squares, rounded = np.empty(n_coalitions), np.empty(n_coalitions, dtype)
    gaps = room_for_gaps(tiles, n_coalitions)
    for b in range(len(blocks.places)):
        vectors[:] = blocks.vectors[b]
        squares[:] = 0.0
        for j in range(d):
            centred = blocks.places[b, :, j] - blocks.origin[j]
            places[j] = centred
            squares += centred * centred
        rounded[:] = squares
        nominate(tiles, Sums(vectors, places, rounded, gaps), nominated)
        asked = Asked(blocks.places[b], squares, blocks.noise[b], blocks.margins[b])
        tally(asked, nominated, voters, rule, Answered(answered.values[b], answered.states[b]))


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
            insert(distances, candidates, squared_distance(asked.places[c], voters.points[where[c, n]]), where[c, n])
        beyond = np.inf if all_nominated else keys[c, n_slots - 1] + asked.squares[c] - asked.margin
        ranked = _Ranked(distances, candidates, beyond)
        answered.states[c] = _decide(ranked, asked.noise[c], voters, rule, answered.values[c])


@njit(cache=True, nogil=True)
def tally_directly(asked: Asked, voters: Voters, rule: Rule, answered: Answered) -> None:
    """The same from the distances to all training points, for coalitions that candidates left unsure."""
    distances = np.empty(len(voters.points))
    for c in range(len(asked.places)):
        for n in range(len(distances)):
            distances[n] = squared_distance(asked.places[c], voters.points[n])
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
