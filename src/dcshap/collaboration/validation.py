"""How good a model is on points that it has not seen: a copy of it is trained without some, and asked about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import train_test_split

from dcshap._typing import Array, FloatArray
from dcshap.collaboration.analyst import Analyst

__all__ = ["Validation", "validate", "validate_analyst"]

_SHARE = 0.2  # of the points, which the copy does not see
_MOST, _LEAST = 20_000, 20  # points that are looked at, and with fewer than which nothing is said


@dataclass(frozen=True)
class Validation:
    """How good a model is on points that it has not seen."""

    measure: str  # "accuracy" or "R²"
    value: float
    chance: float  # what it is for whoever always says the most frequent class, or the mean
    points: int  # how many it was asked about


def validate(model: Any, points: FloatArray, labels: Array, weights: FloatArray | None = None) -> Validation | None:
    """Train a copy of an estimator without a fifth of the points (n, d), and ask it about them.

    None where there are too few points, or where a class has too few to be in both parts.
    """
    classifier = is_classifier(model)
    counts = np.unique(labels, return_counts=True)[1] if classifier else np.array([len(labels)])
    if len(labels) < _LEAST or counts.min() < 2 / _SHARE:
        return None
    rows = np.random.default_rng(0).permutation(len(labels))[:_MOST]
    seen, unseen = train_test_split(
        rows, test_size=_SHARE, random_state=0, stratify=labels[rows] if classifier else None
    )
    given = {} if weights is None else {"sample_weight": weights[seen]}
    copy = clone(model).fit(points[seen], labels[seen], **given)
    value = float(copy.score(points[unseen], labels[unseen]))
    chance = float(np.unique(labels[unseen], return_counts=True)[1].max() / len(unseen)) if classifier else 0.0
    return Validation("accuracy" if classifier else "R²", value, chance, len(unseen))


def validate_analyst(analyst: Analyst) -> Validation | None:
    """How good the model is that an analyst has just trained, on what parties have sent; None once that was dropped."""
    held = list(analyst.held_.items())
    if not held:
        return None
    draw = np.random.default_rng(0).permutation
    if analyst.alignments_:  # rows of all parties, one below the other
        share = min(1.0, _MOST / sum(len(rows) for _, (rows, *_) in held))
        drawn = [draw(len(rows))[: int(np.ceil(share * len(rows)))] for _, (rows, *_) in held]
        pairs = list(zip(held, drawn, strict=True))
        points = np.concatenate([analyst.alignments_[name].transform(rows[at]) for (name, (rows, *_)), at in pairs])
        labels = np.concatenate([y[at] for (_, (_, y, _)), at in pairs])
    else:  # columns of the same records, side by side
        at = draw(len(held[0][1][1]))[:_MOST]
        points = np.concatenate([rows[at] for _, (rows, *_) in held], axis=1)
        labels = held[0][1][1][at]
    try:
        return validate(analyst.model, points, labels)
    except (ValueError, ArithmeticError):
        return None  # what can be trained on all rows cannot always be on some; that is no reason to refuse it
