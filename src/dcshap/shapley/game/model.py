"""A model as the games see it: rows in, a checked matrix of numbers out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcshap._typing import FloatArray
from dcshap.exceptions import ModelError

__all__ = ["Answers", "Predict", "answers"]

Predict = Callable[[Any], Any]


@dataclass(frozen=True)
class Answers:
    """A model's checked answers."""

    values: FloatArray  # (n, K)
    scalar: bool  # whether the model answered with one number a row, shape (n,), rather than with a row of them
    precision: float  # the spacing of the numbers that the model computes with, next to 1


def answers(predict: Predict, rows: Any) -> Answers:
    """What the model answers to rows, as a finite matrix with one row for each, or a `ModelError`."""
    try:
        raw = predict(rows)
    except Exception as error:  # a model may raise anything at all; it is kept as the cause
        raise ModelError(
            f"The model raised {type(error).__name__} on a batch of shape {np.shape(rows)}; its own error is above."
        ) from error
    values = np.asarray(raw)
    if values.dtype.kind not in "biuf":
        raise ModelError(
            f"The model must answer with numbers. Got dtype {values.dtype}. "
            "For a classifier, explain `predict_proba` or `decision_function`."
        )
    if values.ndim not in (1, 2) or len(values) != len(rows):
        raise ModelError(
            f"The model must answer n rows with shape (n,) or (n, outputs). "
            f"Got {values.shape} for a batch of shape {np.shape(rows)}."
        )
    precision = float(np.finfo(values.dtype).eps) if values.dtype.kind == "f" else 0.0
    matrix = values.reshape(len(values), -1).astype(np.float64, copy=False)
    _check_finite(matrix)
    return Answers(values=matrix, scalar=values.ndim == 1, precision=precision)


def _check_finite(matrix: FloatArray) -> None:
    # A sum is finite only if everything in it is (short of overflow): the common case costs one pass.
    if np.isfinite(matrix.sum()):
        return
    bad = int(np.sum(~np.isfinite(matrix).all(axis=1)))
    if bad:
        raise ModelError(
            f"The model must answer with finite numbers. Got NaN or infinity in {bad} of {len(matrix)} rows."
        )
