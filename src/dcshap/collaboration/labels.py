"""Labels of any type, as arrays that can travel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import has_fit_parameter

from dcshap._tables import as_array
from dcshap._typing import Array, FloatArray
from dcshap.exceptions import InputError
from dcshap.schema.kinds import alike
from dcshap.schema.knots import robust_range

__all__ = [
    "MANY_NUMBERS",
    "as_labels",
    "as_weights",
    "common_weights",
    "goodness",
    "has_fractions",
    "require_trainable",
    "target_name",
    "target_values",
]

MAX_CLASSES = 100
MANY_NUMBERS = 20  # different labels that are more likely numbers than classes


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


def has_fractions(y: Any) -> bool:
    """Whether labels are numbers of which some are not whole."""
    labels = as_array(y)
    return labels.dtype.kind == "f" and bool(np.any(labels[np.isfinite(labels)] % 1))


def target_name(y: Any) -> str | None:
    """What the column of labels is called, where it has a name."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name else None


def as_weights(sample_weight: Any, *, n_labels: int, model: Any = None) -> FloatArray:
    """How much each label counts (n,); empty where all count alike.

    Parameters
    ----------
    sample_weight : array of shape (n,) or None
    n_labels : int
    model : estimator, optional
        What is to be trained with them, which must take them.
    """
    if sample_weight is None:
        return np.zeros(0)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_labels,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise InputError(
            f"`sample_weight` must hold {n_labels} finite numbers of 0 or more, one for each label, not all 0. Got "
            f"shape {weights.shape}, {int(np.sum(~(weights >= 0)))} of them missing or negative."
        )
    if model is not None and not has_fit_parameter(model, "sample_weight"):
        raise InputError(f"{type(model).__name__} takes no `sample_weight`: leave it out, or use another model.")
    return weights


def common_weights(parts: Sequence[tuple[FloatArray | None, int]]) -> FloatArray | None:
    """The weights (n,) of all parties' labels, given each one's, and how many labels it has; None without any."""
    given = [weights if weights is not None and len(weights) else None for weights, _ in parts]
    if all(weights is None for weights in given):
        return None
    each = zip(given, parts, strict=True)
    return np.concatenate([np.ones(n_labels) if weights is None else weights for weights, (_, n_labels) in each])


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
    if classifier and kinds == {"text"}:
        _require_one_spelling([set(part.tolist()) for part in labels])
    if classifier and len(np.unique(together)) < 2:
        raise InputError("Labels must have at least two classes over all parties. Got one: there is nothing to learn.")
    return together


def _require_one_spelling(classes: list[set[str]]) -> None:
    """Refuse classes of which parties have different spellings; one that has both means two classes."""
    groups = [group for group in alike(set().union(*classes)) if all(len(part & set(group)) < 2 for part in classes)]
    if groups:
        spellings = sum(map(len, groups))
        raise InputError(
            f"All parties must spell a class alike. {len(groups)} classes have {spellings} spellings, which differ in "
            f"capitals or blanks: change the labels at some parties."
        )


def goodness(model: Any, y: Any, predicted: Array) -> float:
    """Accuracy of a classifier's predictions, R² of a regressor's."""
    labels = as_labels(y)
    if len(labels) != len(predicted):
        raise InputError(f"There must be one label per row. Got {len(predicted)} rows and {len(labels)} labels.")
    return float((accuracy_score if is_classifier(model) else r2_score)(labels, predicted))
