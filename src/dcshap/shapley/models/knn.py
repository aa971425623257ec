"""Games of nearest-neighbour models, with the model's own answers at a fraction of their cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from dcshap._typing import BoolArray, FloatArray, IntArray
from dcshap.shapley.game.games import Evaluator, Points, Span
from dcshap.shapley.game.model import Predict, answers
from dcshap.shapley.models.knn_kernel import TILE, Nominated, Sums, Tiles, nominate, nominate_each
from dcshap.shapley.models.knn_votes import ASK, UNSURE, Answered, Asked, Rule, Voters, tally, tally_directly

__all__ = ["NeighborsEvaluator", "neighbors_evaluator"]

# The two halves of this many players have tables that stay in the processor's cache.
_MAX_LOW = 12
# Candidates beyond the k that are wanted, so that the k-th is seldom the last that is known.
_SPARE = 3
# Below this many coalitions, calling the model is cheaper than scanning the training points.
_FEW = 8
# Low precision is given up for a block when it leaves more than this share of coalitions unsure.
_MAX_UNSURE = 0.02
_POINTS: WeakKeyDictionary[Any, tuple[Any, TrainingPoints]] = WeakKeyDictionary()
_UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2


@dataclass(frozen=True)
class TrainingPoints:
    """A model's distinct training points."""

    voters: Voters  # the points as the model has them, in the order of the tiles
    tiles: Tiles  # the same less their mean, which makes sums smaller and so their rounding
    mean: FloatArray  # (d,)
    radius: float  # the largest norm of a point
    centred_radius: float  # the same less the mean


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
        # One base after the other, where there are several reference rows; ties of all are asked about in one call.
        bases = [points] if points.n_rows == 1 else [points.of_base(row) for row in range(points.n_rows)]
        solved = [[[self._of_span(base, span) for base in bases] for span in group] for group in groups]
        self._ask([each for group in solved for span in group for each in span])
        return [np.stack([_mean([each[0] for each in span]) for span in group], axis=1) for group in solved]

    @property
    def of_rows(self) -> Callable[[FloatArray], FloatArray] | None:
        """From any points (n, d) to values (n, n_outputs); a model that uses brute force is as fast itself."""
        return None if self.by_brute_force else self._of_rows

    def _of_rows(self, rows: FloatArray) -> FloatArray:
        t = self.training
        places = np.ascontiguousarray(rows, dtype=np.float64)
        answered = Answered(np.empty((len(places), t.voters.votes.shape[1])), np.empty(len(places), dtype=np.int8))
        centred = places - t.mean
        shape = (len(places), min(self.rule.n_neighbors + _SPARE, len(t.voters.points)))
        nominated = Nominated(np.empty(shape), np.empty(shape, np.int32))
        nominate_each(t.tiles, centred, nominated)
        # A key is a squared distance itself, of points that were moved by the mean: d + 3 roundings of either term.
        largest = (t.centred_radius + np.linalg.norm(centred, axis=1).max(initial=0.0)) ** 2
        margin = 4 * (places.shape[1] + 3) * _UNIT_ROUNDOFF * float(largest)
        asked = Asked(places, np.zeros(len(places)), self._noise(places), margin)
        tally(asked, nominated, t.voters, self.rule, answered)
        self._settle(asked, answered)
        self._ask([(answered.values, answered.states == ASK, places)])
        return answered.values

    def _ask(self, solved: Sequence[tuple[FloatArray, BoolArray, FloatArray]]) -> None:
        """Fill in, with one call of the model, the values that only it knows."""
        together = np.concatenate([places[to_ask] for _, to_ask, places in solved])
        if len(together) == 0:
            return
        # Records that share values of some columns meet in the same points.
        first, belongs = _distinct(together)
        answered = answers(self.predict, together[first]).values[belongs]
        n_asked = [int(to_ask.sum()) for _, to_ask, _ in solved]
        for (values, to_ask, _), mine in zip(solved, np.split(answered, np.cumsum(n_asked)[:-1]), strict=True):
            values[to_ask] = mine

    def _of_span(self, points: Points, span: Span) -> tuple[FloatArray, BoolArray, FloatArray]:
        """Values, whether the model is to be asked for them, and points, of a span's coalitions."""
        if len(span) <= _FEW:
            few: FloatArray = points.of_span(span)
            n_outputs = self.training.voters.votes.shape[1]
            return np.empty((len(few), n_outputs)), np.ones(len(few), dtype=bool), few
        places: FloatArray = points.of_span(replace(span, proper=False))
        (base,), (offsets,) = points.additive([span])
        n_low = min(span.n_low, _MAX_LOW)
        blocks = []
        for at in range(0, len(places), 1 << n_low):
            high = ((span.start + at) >> np.arange(n_low, len(offsets))) & 1 == 1
            start = base - self.training.mean + offsets[n_low:][high].sum(axis=0)
            blocks.append(self._of_block(places[at : at + (1 << n_low)], start, offsets[:n_low], slack=points.slack))
        values = np.concatenate([each.values for each in blocks])
        states = np.concatenate([each.states for each in blocks])
        kept = slice(None) if (proper := span.kept()) is None else proper
        return values[kept], states[kept] == ASK, places[kept]

    def _of_block(self, places: FloatArray, base: FloatArray, offsets: FloatArray, *, slack: float) -> Answered:
        """Answers for all sums of a base and a subset of offsets, which are `places` less the mean."""
        t = self.training
        centred = places - t.mean
        sums = Sums(base, offsets, np.einsum("ij,ij->i", centred, centred))
        order = np.argsort(((t.tiles.centres - (base + offsets.sum(axis=0) / 2)) ** 2).sum(axis=1))
        shape = (len(places), min(self.rule.n_neighbors + _SPARE, len(t.voters.points)))
        answered = Answered(np.empty((len(places), t.voters.votes.shape[1])), np.empty(len(places), dtype=np.int8))
        asked = Asked(places, sums.squares, self._noise(places), 0.0)
        largest = self._largest(sums)
        answered.states[:] = UNSURE
        for precision in (np.float32, np.float64):
            if largest > float(np.finfo(precision).max) / 2:
                continue  # sums would overflow
            nominated = Nominated(np.empty(shape, precision), np.empty(shape, np.int32))
            nominate(t.tiles, order, sums, nominated)
            margin = _margin(sums, largest, slack=slack, unit_roundoff=float(np.finfo(precision).eps) / 2)
            tally(asked._replace(margin=margin), nominated, t.voters, self.rule, answered)
            if np.mean(answered.states == UNSURE) <= _MAX_UNSURE:
                break
        self._settle(asked, answered)
        return answered

    def _settle(self, asked: Asked, answered: Answered) -> None:
        """Measure all distances of the coalitions whose candidates were not enough."""
        unsure = answered.states == UNSURE
        if not unsure.any():
            return
        rest = Asked(asked.places[unsure], asked.squares[unsure], asked.noise[unsure], 0.0)
        mine = Answered(answered.values[unsure], answered.states[unsure])
        tally_directly(rest, self.training.voters, self.rule, mine)
        answered.values[unsure], answered.states[unsure] = mine

    def _largest(self, sums: Sums) -> float:
        """What the magnitudes of all terms of a squared distance add up to at most."""
        length = float(np.linalg.norm(sums.base) + np.linalg.norm(sums.offsets, axis=1).sum())
        return (self.training.centred_radius + length) ** 2

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


def _margin(sums: Sums, largest: float, *, slack: float, unit_roundoff: float) -> float:
    """How far a key and `squares` may be from the squared distance that they stand for.

    A key is a sum of m + 1 terms whose magnitudes add up to `largest` at most. Rounding each term, and each of the m
    additions, errs by a unit roundoff of it at most; three more cover what is done in double precision. Moving a point
    by `moved` changes its squared norm, and a squared distance r², by up to `2 r moved + moved²`.
    """
    m, d = sums.offsets.shape
    moved = slack * np.sqrt(d)
    return float((2 * m + 4) * unit_roundoff * largest + 4 * moved * np.sqrt(largest) + 2 * moved**2)


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
    tiles = _tiles(points - mean)
    voters = Voters(
        points=points,
        counts=np.bincount(belongs),
        labels=_common(labels, belongs, len(points)),
        votes=np.stack([np.bincount(belongs, weights=column) for column in votes.T], axis=1),
        label_votes=label_votes,
    )
    return TrainingPoints(
        voters=voters,
        tiles=tiles,
        mean=mean,
        radius=float(np.linalg.norm(points, axis=1).max()),
        centred_radius=float(np.linalg.norm(points - mean, axis=1).max()),
    )


def _distinct(rows: FloatArray) -> tuple[IntArray, IntArray]:
    """Where each distinct row is met first, and which of these every row is."""
    as_bytes = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, belongs = np.unique(as_bytes, return_index=True, return_inverse=True)
    return first, belongs.ravel()


def _tiles(points: FloatArray) -> Tiles:
    starts = np.arange(0, len(points), TILE)
    centres = np.stack([points[at : at + TILE].mean(axis=0) for at in starts])
    gaps = np.linalg.norm(points - np.repeat(centres, TILE, axis=0)[: len(points)], axis=1)
    padded = np.zeros((len(starts) * TILE, points.shape[1]))
    padded[: len(points)] = points
    norms = np.full(len(padded), np.inf)
    norms[: len(points)] = np.einsum("ij,ij->i", points, points)
    return Tiles(
        points=np.ascontiguousarray(padded.reshape(len(starts), TILE, -1).swapaxes(1, 2)),
        norms=norms.reshape(-1, TILE),
        centres=centres,
        centre_norms=np.einsum("ij,ij->i", centres, centres)[:, None],
        radii=np.maximum.reduceat(gaps, starts),
    )


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
