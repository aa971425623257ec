"""How much of what a column means to a party's own model survives in the party's representation.

The party's own model is Fisher's discriminant, or ridge regression, of its own moments: weights β over coordinates X.
What the representation `Z = X @ W` can still say of it is its projection: weights `W γ` with γ from least squares. A
column matters by the variance of what it adds to the model; of that, the part survives that it adds to the projection.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from dcshap._typing import FloatArray
from dcshap.collaboration.moments import Moments
from dcshap.collaboration.newton import RIDGE

__all__ = ["lost_columns"]

# Measured, see docs/method.md.
MATTERS = 0.1  # of what all columns add to the party's own model
ABOVE_CHANCE = 10  # times what a column that has nothing to do with the target adds on average
SURVIVES = 0.1  # of what the column adds to it
ROWS_PER_COORDINATE = 10  # with fewer rows it is chance what matters to the party's own model
READABLE = 0.2  # of the column's variance: one that others stand in for is not lost


def lost_columns(moments: Moments, blocks: Sequence[slice], weights: FloatArray, names: Sequence[str]) -> list[str]:
    """The columns that matter to a party's own model and of which hardly anything survives.

    Given the moments of the party's own rows, each column's coordinates (`blocks`), and the reduction's weights (p, d).
    """
    moments = moments.present()
    covariance = moments.covariance
    if moments.n_rows < ROWS_PER_COORDINATE * len(covariance):
        return []
    penalty = RIDGE * (4.0 if moments.classes else 1.0) / moments.n_rows
    own = _solved(covariance + penalty * np.eye(len(covariance)), moments.association.T)  # β (p, K)
    shared = weights.T @ covariance  # of Z and X
    read = _solved(shared @ weights, shared)  # X from Z
    projected = weights @ (read @ own)
    added, kept = (np.array([np.sum(own[b] * (covariance[b, b] @ w[b])) for b in blocks]) for w in (own, projected))
    variance, readable = (np.array([np.trace(each[b, b]) for b in blocks]) for each in (covariance, shared.T @ read))
    n_directions = len(moments.responses) - 1
    chance = n_directions * np.array([b.stop - b.start for b in blocks]) / moments.n_rows
    matters = added > np.maximum(MATTERS * added.sum(), ABOVE_CHANCE * chance)
    lost = matters & (kept < SURVIVES * added) & (readable < READABLE * variance)
    return [name for name, is_lost in zip(names, lost, strict=True) if is_lost]


def _solved(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Least squares, for matrices that may have no inverse."""
    return np.asarray(scipy.linalg.lstsq(matrix, right, cond=1e-10)[0])
