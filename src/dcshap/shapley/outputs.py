"""Which output of a model is shown by default: the same in pictures, tables, files and sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcshap._typing import FloatArray, IntArray
from dcshap.exceptions import InputError

__all__ = ["chosen_outputs", "sum_to_one"]


def chosen_outputs(predictions: FloatArray, names: Sequence[str], output: str | int | None = None) -> IntArray:
    """The position (n,) of the output to show of each sample, given predictions (n,) or (n, K).

    The named one, or the one at a position; by default of two classes the second, which is the positive one, and of
    more the one that is predicted.
    """
    n = len(predictions)
    if output is None:
        if len(names) <= 2:
            return np.full(n, len(names) - 1)
        # Rounded: parties whose predictions differ in the last digits choose the same.
        return np.asarray(np.argmax(np.round(predictions, 9), axis=1), dtype=np.int64)
    if isinstance(output, str) and output in names:
        return np.full(n, list(names).index(output))
    if isinstance(output, int | np.integer) and not isinstance(output, bool) and 0 <= output < len(names):
        return np.full(n, int(output))
    raise InputError(f"`output` must be one of {list(names)}, or a position below {len(names)}. Got {output!r}.")


def sum_to_one(predictions: FloatArray) -> bool:
    """Whether predictions (n, K) are probabilities of classes."""
    return predictions.ndim == 2 and bool((np.abs(predictions.sum(axis=1) - 1.0) <= 1e-5).all())
