"""Steps before a model in a pipeline that keep what players add: affine maps, and random Fourier features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcshap._typing import FloatArray

__all__ = ["Affine", "affine_step", "cosine_features"]


@dataclass(frozen=True)
class Affine:
    """`x @ weights + shift`: weights (d, h), shift (h,)."""

    weights: FloatArray
    shift: FloatArray

    @classmethod
    def identity(cls, width: int) -> Affine:
        """The map that leaves rows as they are."""
        return cls(np.eye(width), np.zeros(width))

    @property
    def diagonal(self) -> FloatArray | None:
        """The factor of each column, if every column is mapped by itself."""
        found = np.diagonal(self.weights)
        square = self.weights.shape[0] == self.weights.shape[1]
        return np.array(found) if square and np.count_nonzero(self.weights) == np.count_nonzero(found) else None

    def then(self, weights: FloatArray, shift: FloatArray) -> Affine:
        """The map that does this one and then another."""
        return Affine(self.weights @ weights, self.shift @ weights + shift)

    def then_scaled(self, scale: Any, shift: Any) -> Affine:
        """The map that does this one and then scales and shifts every column."""
        return Affine(self.weights * scale, self.shift * scale + shift)


def affine_step(step: Any, before: Affine) -> Affine | None:
    """A fitted transformer after an affine map, if it is affine as well; None if it is not known to be."""
    if step is None or step == "passthrough":
        return before
    known = _KNOWN.get(type(step).__name__)
    if known is not None:
        return known(step, before)
    if callable(getattr(step, "get_support", None)):
        kept = np.flatnonzero(step.get_support())
        return Affine(before.weights[:, kept], before.shift[kept])
    return None


def _scaler(step: Any, before: Affine) -> Affine:
    centre = step.center_ if hasattr(step, "center_") else step.mean_
    scale = 1.0 if step.scale_ is None else 1.0 / step.scale_
    return before.then_scaled(scale, 0.0 if centre is None else -centre * scale)


def _min_max_scaler(step: Any, before: Affine) -> Affine | None:
    return None if step.clip else before.then_scaled(step.scale_, step.min_)


def _max_abs_scaler(step: Any, before: Affine) -> Affine:
    return before.then_scaled(1.0 / step.scale_, 0.0)


def _components(step: Any, before: Affine) -> Affine:
    weights = np.asarray(step.components_, dtype=np.float64).T
    if getattr(step, "whiten", False):
        weights = weights / np.sqrt(step.explained_variance_)
    mean = getattr(step, "mean_", None)
    return before.then(weights, np.zeros(weights.shape[1]) if mean is None else -mean @ weights)


def cosine_features(step: Any, before: Affine) -> tuple[FloatArray, FloatArray, float] | None:
    """`amplitude · cos(x @ weights + intercept)`, if the step makes such features."""
    if type(step).__name__ != "RBFSampler":
        return None
    weights = np.asarray(step.random_weights_, dtype=np.float64)
    full = before.then(weights, np.asarray(step.random_offset_, dtype=np.float64))
    return full.weights, full.shift, float(np.sqrt(2.0 / weights.shape[1]))


_KNOWN: dict[str, Callable[[Any, Affine], Affine | None]] = {
    "StandardScaler": _scaler,
    "RobustScaler": _scaler,
    "MinMaxScaler": _min_max_scaler,
    "MaxAbsScaler": _max_abs_scaler,
    "PCA": _components,
    "IncrementalPCA": _components,
    "TruncatedSVD": _components,
}
