"""Alignments: the maps `G_i` from each party's representation to the common space, found from the anchor alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg

from dcshap._typing import FloatArray
from dcshap.exceptions import InputError

__all__ = ["Alignment", "AlignmentKind", "align"]

AlignmentKind = Literal["affine", "svd", "orthogonal"]
GRID_STEPS = 2.0**20  # grid steps per unit of spread in the common space


@dataclass(frozen=True)
class Alignment:
    """`G(x) = x @ weights + intercept`, rounded to a grid.

    The grid is far finer than any model cares about and far coarser than the noise of floating-point sums. Without
    it, equal rows of two parties would come out unequal in the last digit, and whoever ranks distances (k nearest
    neighbours) would break the tie differently at every party.

    Attributes
    ----------
    weights : array of shape (m, d)
    intercept : array of shape (d,)
    resolution : float
        The grid's step, a power of two.
    """

    weights: FloatArray
    intercept: FloatArray
    resolution: float

    def transform(self, representation: FloatArray) -> FloatArray:
        """Map a representation (n, m) to points of the common space (n, d)."""
        points: FloatArray = representation @ self.weights
        points += self.intercept
        return to_grid(points, self.resolution)


def to_grid(points: FloatArray, resolution: float) -> FloatArray:
    """Round points to multiples of the resolution, in place. A power of two divides and multiplies exactly."""
    points /= resolution
    np.rint(points, out=points)
    points *= resolution
    points += 0.0  # no negative zeros
    return points


def align(anchors: Sequence[FloatArray], *, kind: AlignmentKind = "affine") -> list[Alignment]:
    """Find every party's alignment from the representations of the anchor.

    With `[A_1 … A_c] = U Σ Vᵀ`:

    - `"svd"`, the paper's: `Z = U[:, :d]`, `G_i = pinv(A_i) @ Z`;
    - `"affine"`: the A_i centred, `Z = U[:, :d] * Σ[:d]`, and an intercept, without which a party whose reduction is
      centred elsewhere would be shifted in the common space;
    - `"orthogonal"`: `U Σ Vᵀ = A_iᵀ A_1`, `G_i = U Vᵀ`; exact where all reductions span the same space.

    Parameters
    ----------
    anchors : sequence of arrays of shape (n_anchor, m_i)
        `A_i = F_i(anchor)`, party by party. The common space has as many dimensions as the smallest of them.
    """
    if kind not in ("affine", "svd", "orthogonal"):
        raise InputError(f"`alignment` must be 'affine', 'svd' or 'orthogonal'. Got {kind!r}.")
    if kind == "orthogonal":
        weights, intercepts = _orthogonal(anchors), [np.zeros(anchors[0].shape[1])] * len(anchors)
    else:
        weights, intercepts = _least_squares(anchors, centred=kind == "affine")
    spread = np.sqrt(np.mean((anchors[0] @ weights[0] + intercepts[0]) ** 2))
    resolution = float(2.0 ** np.floor(np.log2(spread)) / GRID_STEPS)
    return [Alignment(w, b, resolution) for w, b in zip(weights, intercepts, strict=True)]


def _least_squares(anchors: Sequence[FloatArray], *, centred: bool) -> tuple[list[FloatArray], list[FloatArray]]:
    means = [A.mean(axis=0) if centred else np.zeros(A.shape[1]) for A in anchors]
    shifted = [A - mean for A, mean in zip(anchors, means, strict=True)]
    U, sigma, _ = np.linalg.svd(np.concatenate(shifted, axis=1), full_matrices=False)
    d = min(A.shape[1] for A in anchors)
    Z = U[:, :d] * _signs(U[:, :d])
    if centred:
        Z = Z * sigma[:d]
    weights: list[FloatArray] = [scipy.linalg.lstsq(A, Z)[0] for A in shifted]
    return weights, [-mean @ G for mean, G in zip(means, weights, strict=True)]


def _orthogonal(anchors: Sequence[FloatArray]) -> list[FloatArray]:
    shapes = {A.shape[1] for A in anchors}
    if len(shapes) > 1:
        raise InputError(
            f"`alignment='orthogonal'` needs representations of the same number of dimensions. Got {sorted(shapes)}. "
            f"Use alignment='affine'."
        )
    factors = [np.linalg.svd(A.T @ anchors[0], full_matrices=False) for A in anchors]
    return [U @ Vt for U, _, Vt in factors]


def _signs(U: FloatArray) -> FloatArray:
    """+1 or −1 per singular vector (n, d), so that its sign does not depend on how the decomposition was computed.

    The sign is that of a weighted sum; unequal weights, because a Gaussian anchor holds every row and its negative.
    """
    return np.where((1.0 / np.arange(1, len(U) + 1)) @ U < 0, -1.0, 1.0)
