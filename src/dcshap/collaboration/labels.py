"""Labels of any type, as arrays that can travel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score

from dcshap._tables import as_array
from dcshap._typing import Array
from dcshap.exceptions import InputError
from dcshap.schema.knots import robust_range

__all__ = ["as_labels", "goodness", "require_trainable", "target_values"]

MAX_CLASSES = 100


def as_labels(y: Any) -> Array:
    """Labels (n,) as numbers, booleans or text; anything else cannot leave a party."""
    labels = as_array(y)
    if labels.ndim != 1:
        raise InputError(f"Labels must have one dimension. Got shape {labels.shape}.")
    missing = int(np.sum(pd.isna(labels)))
    if missing:
        raise InputError(f"Labels must not be missing. {missing} of {len(labels)} are: drop these rows.")
    if labels.dtype.kind not in "biufUO":
        raise InputError(f"Labels must be numbers, booleans or text. Got the type {labels.dtype}.")
    if labels.dtype.kind == "O":
        kinds = sorted({type(label).__name__ for label in labels})
        if len(kinds) > 1:
            raise InputError(f"Labels must be all of one type. Got {kinds}.")
        labels = np.array(labels.tolist())
        if labels.dtype.kind not in "biufU":
            raise InputError(f"Labels must be numbers, booleans or text. Got the type {kinds[0]}.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError(f"Labels must be finite. {int(np.sum(~np.isfinite(labels)))} are not.")
    return labels


def target_values(labels: Array, *, classes: bool, party: str | None = None) -> Array:
    """What labels (n,) can be, for a supervised span: their classes (K,), or the robust range (2,) of numbers."""
    if not classes:
        if labels.dtype.kind not in "biuf":
            raise InputError("A regressor predicts numbers. The labels are none.")
        return np.array(robust_range(np.asarray(labels, dtype=np.float64)))
    found = np.unique(labels)
    if len(found) > MAX_CLASSES:
        raise InputError(
            f"A target must have at most {MAX_CLASSES} classes. {'Got' if party is None else f'Party {party!r} has'} "
            f"{len(found)}. Is it a number? Then use a regressor."
        )
    return found


def require_trainable(labels: list[Array], *, classifier: bool) -> Array:
    """All parties' labels as one array, of one kind, with at least two classes where a classifier is to learn them."""
    kinds = {"text" if part.dtype.kind == "U" else "truth" if part.dtype.kind == "b" else "number" for part in labels}
    if len(kinds) > 1:
        raise InputError(f"All parties' labels must be of one kind. Got {sorted(kinds)}.")
    together = np.concatenate(labels)
    if classifier and len(np.unique(together)) < 2:
        raise InputError("Labels must have at least two classes over all parties. Got one: there is nothing to learn.")
    return together


def goodness(model: Any, y: Any, predicted: Array) -> float:
    """Accuracy of a classifier's predictions, R² of a regressor's."""
    labels = as_labels(y)
    if len(labels) != len(predicted):
        raise InputError(f"There must be one label per row. Got {len(predicted)} rows and {len(labels)} labels.")
    return float((accuracy_score if is_classifier(model) else r2_score)(labels, predicted))
