"""Alignments: the maps `G_i` from each party's representation to the common space, found from the anchor alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg

from dcshap._typing import FloatArray
from dcshap.exceptions import InputError
from dcshap.schema.encoding import CHUNK

__all__ = ["Alignment", "AlignmentKind", "align"]

AlignmentKind = Literal["affine", "svd", "orthogonal"]
# How strongly directions that not all parties share are damped, per pair of parties: with four hospitals the exponent
# of two would cost the one that records most columns its accuracy. 0 is plain least squares; the higher, the closer
# the parties' explanations, and from 8 on small data sets of two lose accuracy (docs/method.md has the figures).
DAMPING = 6
GRID_STEPS = 2.0**20  # grid steps per unit of spread in the common space


@dataclass(frozen=True)
class Alignment:
    """`G(x) = x @ weights + intercept`, rounded to a grid.

    The grid is far finer than any model cares about and far coarser than the noise of floating-point sums. Without
    it, equal rows of two parties would come out unequal in the last digit, and whoever ranks distances (k nearest
    neighbours) would break the tie differently at every party.
    """

    weights: FloatArray  # (m, d)
    intercept: FloatArray  # (d,)
    # The grid's step, a power of two; or 0 for models that need no grid (`dcshap.collaboration.continuity`).
    resolution: float

    def transform(self, representation: FloatArray) -> FloatArray:
        """Map a representation (n, m) to points of the common space (n, d)."""
        points: FloatArray = representation @ self.weights
        points += self.intercept
        return to_grid(points, self.resolution)

    def leading(self, n: int) -> Alignment:
        """The map to the first n coordinates of the common space."""
        return Alignment(np.ascontiguousarray(self.weights[:, :n]), self.intercept[:n], self.resolution)

    def chunks(self, representation: FloatArray) -> Iterator[FloatArray]:
        """The points of a representation (n, m), some rows at a time; few enough for the processor's cache."""
        for start in range(0, len(representation), CHUNK):
            yield self.transform(representation[start : start + CHUNK])


def to_grid(points: FloatArray, resolution: float) -> FloatArray:
    """Round points to multiples of the resolution, in place; a resolution of 0 leaves them as they are.

    A power of two divides and multiplies exactly.
    """
    if resolution == 0.0:
        return points
    points /= resolution
    np.rint(points, out=points)
    points *= resolution
    points += 0.0  # no negative zeros
    return points


def grid_step(parts: Iterable[FloatArray]) -> float:
    """The step of the grid for points (n, d), given some at a time: a small fraction of their spread."""
    total, size = 0.0, 0
    for points in parts:
        total, size = total + float(np.sum(points**2)), size + points.size
    spread = np.sqrt(total / max(size, 1))
    if not spread > 0:
        raise InputError("Representations must vary. All of them are zero: check the reduction and the data.")
    return float(2.0 ** np.floor(np.log2(spread)) / GRID_STEPS)


def align(anchors: Sequence[FloatArray], *, kind: AlignmentKind = "affine") -> list[Alignment]:
    """Find every party's alignment from the representations of the anchor.

    With `[A_1 … A_c] = U Σ Vᵀ`:

    - `"svd"`, the paper's: `Z = U[:, :d]`, `G_i = pinv(A_i) @ Z`;
    - `"affine"`: the A_i centred, `Z = U[:, :d] * Σ[:d]`, and an intercept, without which a party whose reduction is
      centred elsewhere would be shifted in the common space. Directions that only some parties kept are damped
      first: there the others' maps would have to guess, and everybody would explain differently;
    - `"orthogonal"`: `U Σ Vᵀ = A_iᵀ A_1`, `G_i = U Vᵀ`, turned to the principal axes of A_1; exact where all
      reductions span the same space.

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
    resolution = grid_step([anchors[0] @ weights[0] + intercepts[0]])
    return [Alignment(w, b, resolution) for w, b in zip(weights, intercepts, strict=True)]


def _least_squares(anchors: Sequence[FloatArray], *, centred: bool) -> tuple[list[FloatArray], list[FloatArray]]:
    means = [A.mean(axis=0) if centred else np.zeros(A.shape[1]) for A in anchors]
    shifted = [A - mean for A, mean in zip(anchors, means, strict=True)]
    stacked = np.concatenate(shifted, axis=1)
    if centred:
        stacked = _damped(stacked, shifted)
    U, sigma, _ = np.linalg.svd(stacked, full_matrices=False)
    d = min(A.shape[1] for A in anchors)
    Z = U[:, :d] * _signs(U[:, :d])
    if centred:
        Z = Z * sigma[:d]
    # A singular value that is zero but for rounding counts as zero; the default is below rounding on some processors.
    weights: list[FloatArray] = [scipy.linalg.lstsq(A, Z, cond=np.finfo(float).eps * max(A.shape))[0] for A in shifted]
    return weights, [-mean @ G for mean, G in zip(means, weights, strict=True)]


def _damped(stacked: FloatArray, parts: Sequence[FloatArray]) -> FloatArray:
    """The stacked representations (n_anchor, Σ m_i) with each direction weighed by how far all parties share it.

    With orthonormal bases Q_i of the parts and `[Q_1 … Q_c] = P S Rᵀ`, `(s² − 1) / (c − 1)` is the mean cosine between
    the parties' subspaces along a column of P: 1 where all of them kept it, 0 where one alone did.
    """
    P, s, _ = np.linalg.svd(np.concatenate([np.linalg.qr(A)[0] for A in parts], axis=1), full_matrices=False)
    shared = np.clip((s**2 - 1) / (len(parts) - 1), 0, None)
    if shared[0] < 1e-9:  # nothing in common: there is nothing to prefer
        return stacked
    weighed: FloatArray = P @ (((shared / shared[0]) ** damping(len(parts)))[:, None] * (P.T @ stacked))
    return weighed


def damping(n_parties: int) -> float:
    """The exponent for a number of parties: of many pairs, few are with a party that lacks a direction."""
    return DAMPING / (n_parties * (n_parties - 1) / 2)


def _orthogonal(anchors: Sequence[FloatArray]) -> list[FloatArray]:
    shapes = {A.shape[1] for A in anchors}
    if len(shapes) > 1:
        raise InputError(
            f"`alignment='orthogonal'` needs representations of the same number of dimensions. Got {sorted(shapes)}. "
            f"Use alignment='affine'."
        )
    # The axes of the common space are the anchor's own, or the first party's private rotation would turn all of it.
    U, _, Vt = np.linalg.svd(anchors[0], full_matrices=False)
    axes = Vt.T * _signs(U)
    factors = [np.linalg.svd(A.T @ anchors[0], full_matrices=False) for A in anchors]
    return [U @ Vt @ axes for U, _, Vt in factors]


def _signs(U: FloatArray) -> FloatArray:
    """+1 or −1 per singular vector (n, d), so that its sign does not depend on how the decomposition was computed.

    The sign is that of a weighted sum; unequal weights, because a Gaussian anchor holds every row and its negative.
    """
    return np.where((1.0 / np.arange(1, len(U) + 1)) @ U < 0, -1.0, 1.0)
