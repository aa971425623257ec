"""The paper's game: Adult's 12 columns, projected to a common space of 9 dimensions in which a model is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dcshap._typing import FloatArray, IntArray
from dcshap.datasets import load_adult

__all__ = ["RESOLUTION", "AdultGame", "adult_game"]

N_DIMENSIONS = 9
# Points are rounded to this grid, so that float noise does not break ties between equal rows.
RESOLUTION = 2.0**-30


@dataclass(frozen=True)
class AdultGame:
    """Rows in a common space, and the map there.

    Parameters
    ----------
    common : array of shape (32561, 9)
        All training rows in the common space.
    target : array of shape (32561,)
    samples : array of shape (n, 12)
        Rows to explain, columns label-encoded and scaled.
    reference : array of shape (12,)
        The median of a Gaussian anchor, or the median of the rows.
    mean, axes : arrays of shape (12,), (12, 9)
        A scaled row `x` is at `(x - mean) @ axes`.
    """

    common: FloatArray
    target: IntArray
    samples: FloatArray
    reference: FloatArray
    mean: FloatArray
    axes: FloatArray

    @property
    def base(self) -> FloatArray:
        """The reference's point, shape (9,)."""
        return np.asarray((self.reference - self.mean) @ self.axes)

    @property
    def offsets(self) -> FloatArray:
        """What each column adds to it, shape (n, 12, 9)."""
        return np.asarray((self.samples - self.reference)[:, :, None] * self.axes)

    def predict(self, model: Any, rows: FloatArray, *, resolution: float) -> FloatArray:
        """The model's probabilities for scaled rows: what a peer has to call."""
        points = (rows - self.mean) @ self.axes
        if resolution > 0:
            points = np.round(points / resolution) * resolution
        return np.asarray(model.predict_proba(points))


def adult_game(n_samples: int, *, typical: bool = False) -> AdultGame:
    """Scale columns by their range about its middle, find the leading subspace, draw samples.

    With a typical reference, the median of the rows, about half of a sample's columns equal it and are no players.
    """
    adult = load_adult("train")
    codes = [c.cat.codes if str(c.dtype) == "category" else c for _, c in adult.data.items()]
    rows = np.stack([np.asarray(c, dtype=float) for c in codes], axis=1)
    low, high = rows.min(axis=0), rows.max(axis=0)
    scaled = (rows - (low + high) / 2) / ((high - low) / np.sqrt(12))
    mean = scaled.mean(axis=0)
    axes = np.linalg.svd(scaled - mean, full_matrices=False)[2][:N_DIMENSIONS].T
    common = np.round((scaled - mean) @ axes / RESOLUTION) * RESOLUTION
    rng = np.random.default_rng(0)
    reference = np.median(rng.normal(size=(2000, rows.shape[1])), axis=0)
    if typical:
        reference = np.median(scaled, axis=0)
    samples = scaled[rng.choice(len(scaled), n_samples, replace=False)]
    return AdultGame(common, np.asarray(adult.target), samples, reference, mean, axes)
