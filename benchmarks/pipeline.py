"""The supervised common span from end to end, in one process: totals, basis, noise, rotation, alignment, model.

The parties' parts are those that roles will play; nothing here is secret or sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score

from dcshap._typing import Array, FloatArray
from dcshap.collaboration.alignment import Alignment, align
from dcshap.collaboration.anchor import Anchor
from dcshap.collaboration.bends import Bends, Held
from dcshap.collaboration.mechanism import MomentPrivacy
from dcshap.collaboration.moments import Moments, class_responses
from dcshap.collaboration.newton import Logits
from dcshap.collaboration.noise import frozen_noise, noise_scale, record_digests
from dcshap.collaboration.reduction import LinearReduction, _rotation
from dcshap.collaboration.span import CommonSpan, auto_components, common_span
from dcshap.schema import Category, Schema
from dcshap.schema.encoding import straight_coordinates

__all__ = ["Pipeline", "auc", "exposure", "placements", "shapley_values", "truth"]


@dataclass
class Pipeline:
    """Settings of a run; `fit` gives points of the common space for every party's rows."""

    schema: Schema
    n_components: int | str = "auto"
    rounds: int = 3
    bending: bool = True
    noise: float = 0.2
    epsilon: float | None = None
    seed: int = 0

    def fit(self, parts: Sequence[FloatArray], labels: Sequence[Array]) -> Pipeline:
        """Play all parties, with codes (n_i, M) and labels (n_i,)."""
        self.anchor = Anchor.draw(self.schema, kind="gaussian", n_rows=2000, seed=self.seed)
        encoded = [self.anchor.encoder.encode(part) for part in parts]
        self.span = self._span(encoded, labels)
        d = self.span.weights.shape[1]
        rotations = [_rotation(d, private_seed=i) for i in range(len(parts))]
        self.reductions = [LinearReduction(self.span.weights @ R, self.span.offset @ R) for R in rotations]
        anchors = [reduction.transform(self.anchor.rows) for reduction in self.reductions]
        self.alignments: list[Alignment] = align(anchors, kind="orthogonal")
        own = [R.transform(E) for R, E in zip(self.reductions, encoded, strict=True)]
        self.scales = [noise_scale(Z, fraction=self.noise, at_least=self.span.rms) for Z in own]
        sent = [self.sent(i, part) for i, part in enumerate(parts)]
        self.points = np.concatenate([G.transform(rows) for G, rows in zip(self.alignments, sent, strict=True)])
        self.labels = np.concatenate(labels)
        return self

    def _span(self, encoded: Sequence[FloatArray], labels: Sequence[Array]) -> CommonSpan:
        classes = np.unique(np.concatenate(labels))
        responses = [class_responses(y, classes) for y in labels]
        K, p = len(classes), encoded[0].shape[1]
        privacy = None
        if self.epsilon:
            privacy = MomentPrivacy(self.epsilon, len(encoded), len(self.schema), K, p, classes=True)
        rows = [privacy.bounded(E) for E in encoded] if privacy else list(encoded)
        flats = [Moments.of([E], R, classes=True).flat() for E, R in zip(rows, responses, strict=True)]
        if privacy:
            rng = np.random.default_rng(self.seed)
            flats = [privacy.noised(flat, rng) for flat in flats]
        total = Moments.from_flat(np.sum(flats, axis=0), n_responses=K, n_coordinates=p, classes=True)
        logits, bends, floor = None, None, 0.0
        d = auto_components(len(self.schema), K - 1) if self.n_components == "auto" else int(self.n_components)
        names = self.anchor.encoder.coordinate_names
        if privacy:
            total, floor = privacy.restored(total), privacy.floor(total.n_rows)
        elif self.rounds:
            logits = Logits.first(total)
            for _ in range(self.rounds):
                parts = [logits.contribution([E], R) for E, R in zip(rows, responses, strict=True)]
                logits = logits.updated(np.sum(parts, axis=0))
            room = d - (K - 1) if self.bending else 0
            bends = self._bends(Bends(logits, straight_coordinates(self.schema), names, room), rows, responses)
        weights = None if logits is None else logits.weights
        return common_span(total, names=names, n_components=d, seed=self.seed, logits=weights, bends=bends, floor=floor)

    def _bends(self, bends: Bends, rows: Sequence[FloatArray], responses: Sequence[FloatArray]) -> FloatArray:
        held = [Held([E], R) for E, R in zip(rows, responses, strict=True)]
        total = np.sum([bends.curvature(each) for each in held], axis=0)
        return bends.directions(total, np.sum([bends.checks(each, total) for each in held], axis=0))

    def sent(self, party: int, codes: FloatArray) -> FloatArray:
        """What a party sends for its rows."""
        rows = self.reductions[party].transform(self.anchor.encoder.encode(codes))
        digests = record_digests(codes, private_seed=party)
        return np.asarray(rows + frozen_noise(digests, self.scales[party], private_seed=party, map_name="span"))

    def transform(self, codes: FloatArray, party: int = 0) -> FloatArray:
        """Exact points of the common space, as a party computes them for itself."""
        return self.alignments[party].transform(self.reductions[party].transform(self.anchor.encoder.encode(codes)))

    def train(self, model: Any) -> Any:
        """A model of the noisy points."""
        return clone(model).fit(self.points, self.labels)


def auc(model: Any, points: FloatArray, y: Array) -> float:
    """Area under the curve; one against rest where there are more than two classes."""
    chances = np.zeros((len(y), int(y.max()) + 1))
    chances[:, np.asarray(model.classes_, dtype=int)] = model.predict_proba(points)
    present = np.unique(y)
    if len(present) < 2:
        return float("nan")
    if chances.shape[1] == 2:
        return float(roc_auc_score(y, chances[:, 1]))
    return float(np.mean([roc_auc_score(y == c, chances[:, c]) for c in present]))


def placements(model: Any, points: FloatArray, y: Array) -> FloatArray:
    """For each row of two classes, the share of the other class's rows that it is ranked rightly against.

    The area under the curve is their mean over either class, and its variance over tables follows from theirs (DeLong
    1988).
    """
    scores = model.predict_proba(points)[:, 1]
    found = np.empty(len(y))
    for own, sign in ((y == 1, 1.0), (y == 0, -1.0)):
        others = np.sort(sign * scores[~own])
        below = [np.searchsorted(others, sign * scores[own], side=side) for side in ("left", "right")]
        found[own] = np.mean(below, axis=0) / len(others)
    return found


def exposure(schema: Schema, codes: FloatArray, representation: FloatArray) -> FloatArray:
    """How much of each column (M,) someone reads by linear regression who knows the first half of the rows.

    Numbers: R². Categories: the share of rows beyond the commonest category's that is read right.
    """
    half = len(codes) // 2
    known, unknown = slice(half), slice(half, None)
    read = np.empty(len(schema))
    for j, column in enumerate(schema.columns):
        if isinstance(column, Category):
            indicators = np.eye(len(column.categories))[codes[:, j].astype(int)]
            model = LinearRegression().fit(representation[known], indicators[known])
            right = np.mean(model.predict(representation[unknown]).argmax(axis=1) == codes[unknown, j])
            mode = indicators[unknown].mean(axis=0).max()
            read[j] = (right - mode) / max(1 - mode, 1e-9)
        else:
            values = np.clip(codes[:, j], column.low, column.high)
            model = LinearRegression().fit(representation[known], values[known])
            read[j] = model.score(representation[unknown], values[unknown])
    return np.clip(read, 0.0, 1.0)


def shapley_values(
    score: Any, encode: Any, rows: FloatArray, reference: FloatArray, *, permutations: int = 64, seed: int = 0
) -> FloatArray:
    """Shapley values (n, M) of `score(encode(codes))` by permutations and their reverses, the same for every model."""
    n, M = rows.shape
    rng = np.random.default_rng(seed)
    values = np.zeros((n, M))
    orders = [rng.permutation(M) for _ in range(permutations // 2)]
    for order in [*orders, *(o[::-1] for o in orders)]:
        current = np.repeat(reference[None], n, axis=0)
        path = [current.copy()]
        for j in order:
            current[:, j] = rows[:, j]
            path.append(current.copy())
        scores = score(encode(np.concatenate(path))).reshape(M + 1, n)
        values[:, order] += np.diff(scores, axis=0).T
    return values / permutations


def truth(values: FloatArray, true: FloatArray) -> dict[str, float]:
    """Relative error, mean rank correlation per row, and share of wrong signs among attributions over .02."""
    ranks = [
        scipy.stats.spearmanr(a, b).statistic for a, b in zip(values, true, strict=True) if np.ptp(a) and np.ptp(b)
    ]
    large = np.abs(true) > 0.02
    return {
        "error": float(np.linalg.norm(values - true) / np.linalg.norm(true)),
        "rank": float(np.nanmean(ranks)),
        "signs": float(np.mean(np.sign(values[large]) != np.sign(true[large]))) if large.any() else 0.0,
    }
