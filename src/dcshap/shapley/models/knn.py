"""Games of nearest-neighbour models, with the model's own answers at a fraction of their cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from dcshap._typing import FloatArray, IntArray
from dcshap.shapley.game.games import Evaluator, Points, Span
from dcshap.shapley.game.model import Predict, answers
from dcshap.shapley.models.knn_kernel import TILE, Nominated, Tiles, nominate_each, tiles_of
from dcshap.shapley.models.knn_tree import Tree, kd_tree, neighbors
from dcshap.shapley.models.knn_votes import (
    ASK,
    SETTLED,
    UNSURE,
    Answered,
    Asked,
    Blocks,
    Rule,
    Voters,
    canvass,
    tally,
    tally_directly,
)

__all__ = ["NeighborsEvaluator", "neighbors_evaluator"]

# The two halves of this many players have tables that stay in the processor's cache.
_MAX_LOW = 12
# Candidates beyond the k that are wanted, so that the k-th is seldom the last that is known.
_SPARE = 3
# Low precision is given up for a block when it leaves more than this share of coalitions unsure.
_MAX_UNSURE = 0.1
_POINTS: WeakKeyDictionary[Any, tuple[Any, TrainingPoints]] = WeakKeyDictionary()
_UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2


class _Way(NamedTuple):
    """How candidates are found: in which precision, and how many beyond the k that are wanted."""

    precision: type[np.floating[Any]]
    n_spare: int


_COARSE = _Way(np.float32, _SPARE)
# Many candidates for those of whom few were not enough: in tables of categories, many rows are equally far.
_FINE = _Way(np.float64, 60)


@dataclass(frozen=True)
class TrainingPoints:
    """A model's distinct training points."""

    voters: Voters  # the points as the model has them, in the order of the tiles
    # The same less their mean, which makes sums smaller and so their rounding: in single and in double precision.
    tiles: dict[type[np.floating[Any]], Tiles]
    tree: Tree | None  # the model's own, if what it does with ties is known
    row_labels: IntArray  # (N,), of the rows as they were
    mean: FloatArray  # (d,)
    radius: float  # the largest norm of a point
    centred_radius: float  # the same less the mean


class _Solved(NamedTuple):
    """Answers for coalitions, and their `places`, with the coordinates last."""

    answered: Answered
    places: FloatArray


@dataclass(frozen=True)
class NeighborsEvaluator(Evaluator):
    """Evaluates games of a k-nearest-neighbours model; where the model's pick among ties matters, asks it."""

    predict: Predict
    training: TrainingPoints
    rule: Rule
    ranks_exactly: bool
    by_brute_force: bool

    @property
    def in_threads(self) -> bool:
        """The kernel releases the interpreter's lock, and so do scikit-learn's trees."""
        return True

    def __call__(self, points: Points, groups: Sequence[Sequence[Span]], /) -> list[FloatArray]:
        """Values of groups of spans, shapes (len(span), n_spans, n_outputs)."""
        # One base after the other, where there are several reference rows; what is left of all is settled in one call.
        bases = [points] if points.n_rows == 1 else [points.of_base(row) for row in range(points.n_rows)]
        solved = [[self._of_group(base, group) for base in bases] for group in groups]
        everything = [each for group in solved for each in group]
        self._fill_in(UNSURE, everything)
        self._fill_in(ASK, everything)
        return [_mean([each.answered.values for each in group]).swapaxes(0, 1) for group in solved]

    @property
    def of_rows(self) -> Callable[[FloatArray], FloatArray] | None:
        """From any points (n, d) to values (n, n_outputs); a model that uses brute force is as fast itself."""
        return None if self.by_brute_force else self._of_rows

    def _of_rows(self, rows: FloatArray) -> FloatArray:
        places = np.ascontiguousarray(rows, dtype=np.float64)
        solved = _Solved(self._settled(places, self._noise(places), ways=(_COARSE, _FINE)), places)
        self._fill_in(ASK, [solved])
        return solved.answered.values

    def _fill_in(self, state: int, solved: Sequence[_Solved]) -> None:
        """Settle the coalitions of one state, all with one search or, where the model's pick matters, one question."""
        which = [each.answered.states == state for each in solved]
        together = np.concatenate([each.places[mine] for each, mine in zip(solved, which, strict=True)])
        if len(together) == 0:
            return
        if state == ASK:
            found = Answered(self._picked(together), np.full(len(together), SETTLED, dtype=np.int8))
        else:
            found = self._settled(together, self._noise(together), ways=(_FINE,))
        start = 0
        for each, mine in zip(solved, which, strict=True):
            part = slice(start, start := start + int(mine.sum()))
            each.answered.values[mine], each.answered.states[mine] = found.values[part], found.states[part]

    def _picked(self, places: FloatArray) -> FloatArray:
        t = self.training
        first, belongs = _distinct(places)  # records that share values of some columns meet in the same points
        if t.tree is None or self.rule.by_distance:
            return answers(self.predict, places[first]).values[belongs]
        labels = t.row_labels[neighbors(t.tree, places[first], self.rule.n_neighbors)]
        return np.asarray(t.voters.label_votes[labels].sum(axis=1) / self.rule.n_neighbors)[belongs]

    def _of_group(self, points: Points, spans: Sequence[Span]) -> _Solved:
        """Answers, as far as few candidates settle them, and points, of the coalitions of spans."""
        bases, offsets = sums = points.additive(spans)
        places = points.of_spans(spans, sums)
        n_spans, n_unions, d = offsets.shape
        n_low = min(spans[0].n_low, _MAX_LOW)
        firsts = np.arange(spans[0].start, spans[0].stop, 1 << n_low)
        high = (firsts[:, None] >> np.arange(n_low, n_unions)) & 1
        starts = (bases - self.training.mean)[:, None] + high.astype(np.float64) @ offsets[:, n_low:]
        low = np.broadcast_to(offsets[:, None, :n_low], (n_spans, len(firsts), n_low, d))
        vectors = np.concatenate([low, starts[:, :, None]], axis=2).reshape(-1, n_low + 1, d)
        answered = self._of_blocks(vectors, places.reshape(len(vectors), 1 << n_low, d), slack=points.slack)
        values, states = answered.values.reshape(*places.shape[:2], -1), answered.states.reshape(places.shape[:2])
        kept = slice(None) if (proper := spans[0].kept()) is None else proper
        return _Solved(Answered(values[:, kept], states[:, kept]), places[:, kept])

    def _of_blocks(self, vectors: FloatArray, places: FloatArray, *, slack: float) -> Answered:
        """Answers for `places` (B, 2**m, d), sums of subsets of vectors (B, m + 1, d), whose last is always in."""
        t = self.training
        shape = places.shape[:2]
        answered = Answered(np.empty((*shape, t.voters.votes.shape[1])), np.full(shape, UNSURE, dtype=np.int8))
        noise = self._noise(places.reshape(-1, places.shape[2])).reshape(shape)
        largest = (t.centred_radius + np.linalg.norm(vectors, axis=2).sum(axis=1)) ** 2
        n_slots = min(self.rule.n_neighbors + _SPARE, len(t.voters.points))
        for precision, tiles in t.tiles.items():
            unsure = (answered.states == UNSURE).mean(axis=1) > _MAX_UNSURE
            left = unsure & (largest <= float(np.finfo(precision).max) / 2)  # others overflow
            if not left.any():
                continue
            part = slice(None) if left.all() else left  # the whole need not be copied
            margins = _margins(vectors.shape[1:], largest, slack=slack, precision=precision)
            blocks = Blocks(-2.0 * vectors[part], places[part], noise[part], margins[part], t.mean, n_slots)
            mine = Answered(answered.values[part], answered.states[part])
            canvass(blocks, tiles, t.voters, self.rule, mine)
            answered.values[part], answered.states[part] = mine
        return answered

    def _settled(self, places: FloatArray, noise: FloatArray, *, ways: Sequence[_Way]) -> Answered:
        """Answers for any places (C, d), in one way after the other and at last by the distances to all points."""
        shape = (len(places), self.training.voters.votes.shape[1])
        answered = Answered(np.empty(shape), np.full(len(places), UNSURE, dtype=np.int8))
        for way in (*ways, None):
            unsure = np.flatnonzero(answered.states == UNSURE)
            if len(unsure) == 0:
                break
            mine = Answered(answered.values[unsure], answered.states[unsure])
            self._search(places[unsure], noise[unsure], mine, way)
            answered.values[unsure], answered.states[unsure] = mine
        return answered

    def _search(self, places: FloatArray, noise: FloatArray, answered: Answered, way: _Way | None) -> None:
        """Answer for any places (C, d), as far as the candidates settle it."""
        t = self.training
        centred = places - t.mean
        squares = np.einsum("ij,ij->i", centred, centred)
        largest = (t.centred_radius + np.sqrt(squares.max())) ** 2
        if way is None or self.rule.n_neighbors + way.n_spare >= len(t.voters.points):
            tally_directly(Asked(places, squares, noise, 0.0), t.voters, self.rule, answered)
        elif largest <= float(np.finfo(way.precision).max) / 2:  # otherwise sums would overflow
            shape = (len(places), self.rule.n_neighbors + way.n_spare)
            nominated = Nominated(np.empty(shape, way.precision), np.empty(shape, np.int32))
            nominate_each(t.tiles[way.precision], centred, squares, nominated)
            margin = _margins((1, places.shape[1]), largest, slack=0.0, precision=way.precision)
            tally(Asked(places, squares, noise, float(margin)), nominated, t.voters, self.rule, answered)

    def _noise(self, places: FloatArray) -> FloatArray:
        """How near two squared distances must be for the model to rank them either way, beside the relative noise.

        A kd-tree sums squared differences as we do, and the bounds of its nodes round the same way: it has none.
        Brute force subtracts sums of the size of squared norms, d products each, and a ball tree's bounds are rounded
        radii.
        """
        if self.ranks_exactly:
            return np.zeros(len(places))
        sizes = (np.linalg.norm(places, axis=1) + self.training.radius) ** 2
        return np.asarray(8 * (places.shape[1] + 4) * _UNIT_ROUNDOFF * sizes)


def _mean(values: Sequence[FloatArray]) -> FloatArray:
    return values[0] if len(values) == 1 else np.asarray(np.mean(values, axis=0))


def _margins(
    shape: tuple[int, ...], largest: FloatArray, *, slack: float, precision: type[np.floating[Any]]
) -> FloatArray:
    """How far (B,) a key and its square may be from the squared distance that they stand for.

    A key is a squared norm and m inner products of d numbers, whose magnitudes add up to `largest` at most; rounding
    everything to the precision, d + m + 5 unit roundoffs of that at most. The squared distance to a box, of which d
    differences of rounded numbers are squared and added, errs by 2d + 8 of them at most. Moving a point by `moved`
    changes its squared norm, and a squared distance r², by up to `2 r moved + moved²`.
    """
    m, d = shape
    moved, unit_roundoff = slack * np.sqrt(d), float(np.finfo(precision).eps) / 2
    return np.asarray((2 * m + 2 * d + 16) * unit_roundoff * largest + 4 * moved * np.sqrt(largest) + 2 * moved**2)


def neighbors_evaluator(predict: Predict, points: Points) -> NeighborsEvaluator | None:
    """An evaluator for the method of a fitted Euclidean k-nearest-neighbours model; `None` if it is not one."""
    model: Any = getattr(predict, "__self__", None)
    name = getattr(predict, "__name__", "")
    if (type(model), name) not in {(KNeighborsClassifier, "predict_proba"), (KNeighborsRegressor, "predict")}:
        return None
    if not _is_euclidean(model) or not (points.are_sums or points.are_sums_of_each_row):
        return None
    # Each of d + 1 roundings errs by a unit roundoff, in two distances, of the model's and of ours.
    relative_noise = 4 * (points.width + 2) * _UNIT_ROUNDOFF
    return NeighborsEvaluator(
        predict=predict,
        training=_remembered(model),
        rule=Rule(model.n_neighbors, model.weights == "distance", relative_noise),
        ranks_exactly=model._fit_method == "kd_tree",
        by_brute_force=model._fit_method == "brute",
    )


def _is_euclidean(model: Any) -> bool:
    rows = getattr(model, "_fit_X", None)
    if not isinstance(rows, np.ndarray) or model.effective_metric_ != "euclidean":
        return False
    if isinstance(model, KNeighborsClassifier) and model.outputs_2d_:
        return False
    if model._fit_method == "brute":
        # Its distances are those of sums with cancellation: near zero their inverses mean little, and cannot be had
        # in another way. In single precision even the ranks are coarse.
        return bool(model.weights == "uniform" and rows.dtype == np.float64)
    return model._fit_method in ("kd_tree", "ball_tree") and model.weights in ("uniform", "distance")


def _remembered(model: Any) -> TrainingPoints:
    """The model's training points; sorted into tiles once for as long as it lives and is not fitted again."""
    rows, points = _POINTS.get(model, (None, None))
    if points is None or rows is not model._fit_X:
        points = _training_points(model)
        _POINTS[model] = (model._fit_X, points)
    return points


def _training_points(model: Any) -> TrainingPoints:
    rows = np.ascontiguousarray(model._fit_X, dtype=np.float64)
    votes, labels, label_votes = _votes(model)
    first, belongs = _distinct(rows)
    order = _tiled(rows[first])
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    belongs = place[belongs]
    points = np.ascontiguousarray(rows[first[order]])
    mean = points.mean(axis=0)
    tiles = tiles_of(points - mean)
    with np.errstate(over="ignore"):  # infinite where single precision does not reach; then it is not used
        coarse = Tiles(*(each.astype(np.float32) for each in tiles))
    voters = Voters(
        points=points,
        counts=np.bincount(belongs),
        labels=_common(labels, belongs, len(points)),
        votes=np.stack([np.bincount(belongs, weights=column) for column in votes.T], axis=1),
        label_votes=label_votes,
    )
    return TrainingPoints(
        voters=voters,
        tree=kd_tree(model),
        row_labels=labels,
        tiles={np.float32: coarse, np.float64: tiles},
        mean=mean,
        radius=float(np.linalg.norm(points, axis=1).max()),
        centred_radius=float(np.linalg.norm(points - mean, axis=1).max()),
    )


def _distinct(rows: FloatArray) -> tuple[IntArray, IntArray]:
    """Where each distinct row is met first, and which of these every row is."""
    as_bytes = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, belongs = np.unique(as_bytes, return_index=True, return_inverse=True)
    return first, belongs.ravel()


def _votes(model: Any) -> tuple[FloatArray, IntArray, FloatArray]:
    """Every training row's vote, its label, and the vote of each label."""
    if isinstance(model, KNeighborsClassifier):
        label_votes = np.eye(len(model.classes_))
        labels = np.asarray(model._y, dtype=np.int64).ravel()
    else:
        targets = np.asarray(model._y, dtype=np.float64).reshape(len(model._y), -1)
        label_votes, labels = np.unique(targets, axis=0, return_inverse=True)
        labels = labels.ravel().astype(np.int64)
    return label_votes[labels], labels, label_votes


def _common(labels: IntArray, belongs: IntArray, n_points: int) -> IntArray:
    """The label that all rows of a distinct point carry, -1 where they differ."""
    least = np.full(n_points, np.iinfo(np.int64).max)
    most = np.full(n_points, -1)
    np.minimum.at(least, belongs, labels)
    np.maximum.at(most, belongs, labels)
    return np.where(least == most, least, -1)


def _tiled(points: FloatArray) -> IntArray:
    """An order in which every `TILE` points that follow each other are close: halves along the widest side."""
    tiles: list[IntArray] = []
    pending = [np.arange(len(points))]
    while pending:
        members = pending.pop()
        if len(members) <= TILE:
            tiles.append(members)
            continue
        mine = points[members]
        widest = int(np.argmax(np.ptp(mine, axis=0)))
        n_tiles = -(-len(members) // TILE)
        n_left = n_tiles // 2 * TILE
        ranked = np.argpartition(mine[:, widest], n_left)
        pending += [members[ranked[n_left:]], members[ranked[:n_left]]]
    return np.concatenate(tiles)
