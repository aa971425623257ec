"""Which pairs of coalitions to evaluate next: those that tell most about the Shapley values, given the others.

Under the process that suits the pairs so far, every candidate's value has a covariance with each Shapley value. The one
that lowers the sum of their posterior variances most is taken, the covariances are updated as if it were evaluated, and
so on. Choosing evaluations by what a Gaussian process is unsure of is the idea of ShaplEIG (arXiv 2606.02247).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from dcshap._typing import BoolArray, FloatArray, IntArray
from dcshap.shapley.sampled.gaussian_process import suited_kernel
from dcshap.shapley.sampled.odd_kernel import OddKernel, rounded, signs

__all__ = ["most_informative"]


def most_informative(s: FloatArray, odd: FloatArray, candidates: BoolArray, count: int) -> IntArray:
    """The positions of `count` of the candidates.

    Parameters
    ----------
    s : array of shape (n, m)
        One coalition of each evaluated pair as signs; the grand coalition is the first.
    odd : array of shape (n, n_outputs)
        Half the difference between the coalition's value and its complement's.
    candidates : array of bool of shape (c, m)
    count : int
        At most c.
    """
    return _greedy(suited_kernel(s, rounded(odd)), s, signs(candidates), count)


def _greedy(kernel: OddKernel, s: FloatArray, t: FloatArray, count: int) -> IntArray:
    """Positions in `t` (c, m), one after the other, given that `s` (n, m) is known."""
    covariance = kernel.smooth(s, s)
    covariance[np.diag_indices(len(s))] += kernel.nugget
    factor = cholesky(covariance, lower=True, overwrite_a=True)
    known = np.empty((len(s) + count, len(t)))  # rows of a Cholesky factor: what is known of the candidates
    known[: len(s)] = solve_triangular(factor, kernel.smooth(s, t), lower=True)
    with_values = kernel.with_values(t)
    with_values -= known[: len(s)].T @ solve_triangular(factor, kernel.with_values(s), lower=True)  # (c, m)
    prior = kernel.linear + 1.0 + kernel.nugget
    variance = prior - np.einsum("nc,nc->c", known[: len(s)], known[: len(s)])
    chosen = np.empty(count, dtype=np.int64)
    least = 1e-12 * prior
    for at in range(count):
        gain = np.einsum("cm,cm->c", with_values, with_values) / np.maximum(variance, least)
        gain[chosen[:at]] = -1.0
        best = chosen[at] = int(gain.argmax())
        deviation = np.sqrt(max(variance[best], least))
        rows = known[: len(s) + at]
        row = kernel.smooth(t[best : best + 1], t)[0] - rows[:, best] @ rows
        row[best] += kernel.nugget
        row /= deviation
        known[len(s) + at] = row
        variance -= row**2
        with_values -= np.multiply.outer(row, with_values[best] / deviation)
    return chosen
