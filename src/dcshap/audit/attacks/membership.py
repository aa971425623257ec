"""Was this record among those that were trained with, or summed? Asked of the model that left, and of released sums.

A model: the reference-model attack (Carlini and others, "Membership Inference Attacks From First Principles", 2022).
Models like it are trained on random halves of the rows; a record's confidence under the model that was attacked is
held against its confidence under those that were trained without it.

Sums: a record leans towards the mean of a sum that it is in (Homer and others, 2008; Dwork and others, 2015).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from dcshap._typing import Array, BoolArray, FloatArray

__all__ = ["found_at", "found_by_model", "found_by_moments"]

FALSE_ALARMS = 0.01
N_MODELS = 16  # as few as the paper tries
SURE = 1e-4  # chances nearer to 0 or 1 are not told apart
MOST_ROWS = 2000  # more rows are remembered less: the attack is then weaker
MOST_COORDINATES = 40  # whose products are summed; a few hundred numbers suffice to tell members


def found_at(members: FloatArray, others: FloatArray) -> float:
    """The share of members whose score is above that of all but 1% of the others."""
    if not len(members) or not len(others):
        return float("nan")
    cut = np.quantile(others, 1.0 - FALSE_ALARMS, method="higher")
    return float(np.mean(members > cut))


def found_by_model(model: Any, points: FloatArray, labels: Array, *, seed: int = 0) -> float:
    """How many members are found at 1% of false alarms, of models like `model` on rows (n, d) and labels (n,).

    Every model is attacked in turn, with the others as references.
    """
    rng = np.random.default_rng(seed)
    at = rng.permutation(len(points))[:MOST_ROWS]
    # Scaled alike, since only the data matter here, and some models take long on rows of very different scales.
    points, labels = (points[at] - points.mean(axis=0)) / np.maximum(points.std(axis=0), 1e-300), labels[at]
    inside = _halves(len(points), rng)
    confidence = np.stack([_confidence(clone(model), points, labels, chosen) for chosen in inside])
    members, others = [], []
    for target in range(N_MODELS):
        references = np.arange(N_MODELS) != target
        within, without = (_usual(confidence, side & references[:, None]) for side in (inside, ~inside))
        # The likelihood of either side, each normal about its mean with one spread for all rows.
        score = (confidence[target] - without) ** 2 - (confidence[target] - within) ** 2
        members.append(score[inside[target]])
        others.append(score[~inside[target]])
    return found_at(np.concatenate(members), np.concatenate(others))


def _usual(confidence: FloatArray, chosen: BoolArray) -> FloatArray:
    """Mean confidence (n,) over the chosen models of each row (n_models, n)."""
    return np.asarray(np.where(chosen, confidence, 0.0).sum(axis=0) / np.maximum(chosen.sum(axis=0), 1))


def _halves(n: int, rng: np.random.Generator) -> BoolArray:
    """Which rows (N_MODELS, n) each model is trained with: each row with half of the models."""
    order = np.argsort(rng.random((N_MODELS, n)), axis=0)
    return np.asarray(order < N_MODELS // 2)


def _confidence(model: Any, points: FloatArray, labels: Array, chosen: BoolArray) -> FloatArray:
    """The logit of each row's own label (n,), or minus the squared error, of a model trained with the chosen rows."""
    if len(np.unique(labels[chosen])) < 2:
        return np.zeros(len(labels))
    with warnings.catch_warnings(), threadpool_limits(1):  # small fits are slower with several threads
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(points[chosen], labels[chosen])
    if not is_classifier(model):
        return np.asarray(-((np.asarray(model.predict(points), dtype=np.float64) - labels) ** 2))
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(points) == labels, dtype=np.float64)
    at = np.searchsorted(model.classes_, labels)
    at = np.minimum(at, len(model.classes_) - 1)
    known = model.classes_[at] == labels
    chance = np.clip(model.predict_proba(points)[np.arange(len(labels)), at], SURE, 1 - SURE)
    return np.asarray(np.where(known, np.log(chance / (1.0 - chance)), np.log(SURE)))


def found_by_moments(encoded: FloatArray, *, seed: int = 0) -> float:
    """The share of members that the sums and products over them give away, at 1% of false alarms.

    Rows (n, p) are cut in thirds: members, whose sums are known; others; and what the attacker knows of the population.
    """
    rng = np.random.default_rng(seed)
    rows = encoded[rng.permutation(len(encoded))[: 3 * MOST_ROWS]]
    if rows.shape[1] > MOST_COORDINATES:
        rows = rows[:, rng.permutation(rows.shape[1])[:MOST_COORDINATES]]
    members, others, public = np.array_split(_with_products(rows), 3)
    if len(public) < 3:
        return float("nan")
    center, spread = public.mean(axis=0), public.std(axis=0)
    kept = spread > 1e-9 * max(float(spread.max()), 1e-300)
    direction = ((members.mean(axis=0) - center) / np.where(kept, spread, 1.0) ** 2) * kept
    return found_at((members - center) @ direction, (others - center) @ direction)


def _with_products(rows: FloatArray) -> FloatArray:
    upper = np.triu_indices(rows.shape[1])
    return np.concatenate([rows, rows[:, upper[0]] * rows[:, upper[1]]], axis=1)
