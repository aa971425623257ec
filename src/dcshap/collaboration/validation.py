"""How good a model is on points that it has not seen: a copy of it is trained without some, and asked about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import train_test_split

from dcshap._typing import Array, FloatArray

__all__ = ["Validation", "validate"]

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
