"""Closed forms of models: what exact solvers need to know of a model so that no coalition has to be evaluated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from dcshap._typing import FloatArray

__all__ = ["ComplexArray", "Form", "GaussianForm", "ProjectionForm", "QuadraticForm", "Smooth"]

ComplexArray = npt.NDArray[np.complex128]


@dataclass(frozen=True)
class Smooth:
    """A smooth function of `r` numbers."""

    function: Callable[[FloatArray], FloatArray]  # (n, r) -> (n, F)
    # Both known only of functions of one number that are `Re Σ_m c_m exp(λ_m u)`: `λ` (T,) and `c` (T, F).
    rates: ComplexArray | None = None
    coefficients: ComplexArray | None = None
    bound: float = np.inf  # the largest magnitude that the function has anywhere; infinite if it is not known


@dataclass(frozen=True)
class ProjectionForm:
    """A sum of smooth functions of linear projections: `constant + Σ_h g(x @ W_h + b_h) @ mixing_h`."""

    weights: FloatArray  # (d, H, r), `r` projections for each of `H` units
    intercept: FloatArray  # (H, r)
    smooth: Smooth  # `g`, from r numbers to F
    mixing: FloatArray  # (H, F, K)
    constant: FloatArray  # (K,)

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Answers (n, K) to rows (n, d)."""
        u = np.einsum("nd,dhr->nhr", rows, self.weights) + self.intercept
        n, h, r = u.shape
        values = self.smooth.function(u.reshape(-1, r)).reshape(n, h, -1)
        return np.asarray(np.einsum("nhf,hfk->nk", values, self.mixing) + self.constant)


@dataclass(frozen=True)
class QuadraticForm:
    """`constant + x @ linear + xᵀ Q x` for each of K outputs; Q (K, d, d) symmetric, or None if the model is linear."""

    linear: FloatArray
    constant: FloatArray
    quadratic: FloatArray | None = None

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Answers (n, K) to rows (n, d)."""
        values = rows @ self.linear + self.constant
        if self.quadratic is not None:
            values = values + np.einsum("nd,kde,ne->nk", rows, self.quadratic, rows)
        return np.asarray(values)


@dataclass(frozen=True)
class GaussianForm:
    """`constant + Σ_j exp(−γ ‖x @ A + b − centre_j‖²) c_j` with A diagonal, so that every column is a factor."""

    centres: FloatArray  # (J, d)
    gamma: float
    coefficients: FloatArray  # (J, K)
    constant: FloatArray  # (K,)
    scale: FloatArray  # (d,), the diagonal of `A`
    shift: FloatArray  # (d,), `b`

    def exponents(self, rows: FloatArray) -> FloatArray:
        """Every column's part (n, J, d) of the exponents."""
        return np.asarray(-self.gamma * ((rows * self.scale + self.shift)[:, None, :] - self.centres) ** 2)

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Answers (n, K) to rows (n, d)."""
        distances = cdist(rows * self.scale + self.shift, self.centres, "sqeuclidean")
        return np.asarray(np.exp(-self.gamma * distances) @ self.coefficients + self.constant)


Form = ProjectionForm | QuadraticForm | GaussianForm
