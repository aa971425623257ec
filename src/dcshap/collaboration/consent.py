"""Which models carry training rows with them, and so may leave the analyst only if every party agrees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from scipy.spatial import cKDTree
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.impute import KNNImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.neighbors import BallTree, KDTree, KernelDensity
from sklearn.neighbors._base import NeighborsBase
from sklearn.semi_supervised._label_propagation import BaseLabelPropagation
from sklearn.svm._base import BaseLibSVM

from dcshap._typing import FloatArray
from dcshap.exceptions import PrivacyError

__all__ = ["carries_rows", "refuse", "require_consent"]

_INSTANCE_BASED = (
    NeighborsBase,
    BaseLibSVM,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelRidge,
    BaseLabelPropagation,
    # Parts that may stand in a pipeline behind a scaler, where their rows are no longer the training rows themselves.
    KernelPCA,
    Nystroem,
    KNNImputer,
    KernelDensity,
    KDTree,
    BallTree,
    cKDTree,
)


def require_consent(model: Any, refusing: list[str], rows: FloatArray | None = None) -> None:
    """Refuse a model that carries training rows (n, d), fitted or not, where some party has not agreed to it."""
    if refusing and carries_rows(model, rows):
        refuse(model, refusing)


def refuse(model: Any, refusing: list[str]) -> NoReturn:
    """Say that a model cannot leave the analyst, and what would help."""
    raise PrivacyError(
        f"{type(model).__name__} contains training rows, so every party must agree that it leaves the analyst. "
        f"Not agreed: {refusing}. Set instance_models=True at these parties, or use a parametric model "
        f"(logistic regression, trees, neural network)."
    )


def carries_rows(model: Any, rows: FloatArray | None = None) -> bool:
    """Whether an estimator, or any part of it, is instance-based or holds one of the training rows (n, d)."""
    parts = list(_parts(model, seen=set()))
    if any(isinstance(part, _INSTANCE_BASED) for part in parts):
        return True
    arrays = [part for part in parts if isinstance(part, np.ndarray) and part.dtype.kind == "f" and part.ndim in (1, 2)]
    return rows is not None and _hold_one_of([a for a in arrays if a.shape[-1] == rows.shape[1]], rows)


def _hold_one_of(arrays: list[FloatArray], rows: FloatArray) -> bool:
    """Whether one of the rows (n, d) stands in one of the arrays (k, d) or (d,), to single precision."""
    if not arrays:
        return False
    known = {row.tobytes() for row in np.ascontiguousarray(rows, dtype=np.float32)}
    held = (row for array in arrays for row in np.atleast_2d(np.ascontiguousarray(array, dtype=np.float32)))
    return any(row.tobytes() in known for row in held)


def _parts(value: Any, seen: set[int]) -> Iterator[Any]:
    if id(value) in seen or isinstance(value, str | bytes | int | float | bool | type(None)):
        return
    seen.add(id(value))
    yield value
    if isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, list | tuple | set):
        inner = list(value)
    elif isinstance(value, np.ndarray):
        inner = list(value.ravel()) if value.dtype == object else []
    else:
        inner = list(getattr(value, "__dict__", {}).values())
    for part in inner:
        yield from _parts(part, seen)
