"""The supervised common span: few directions of the encoded rows, the same at every party.

Everybody computes it from the same totals and the shared seed: directions that predict come first, then those along
which the classes are seen to bend (`dcshap.collaboration.bends`), and random directions of the whitened rows fill up.
Random directions mix all columns, so that no single column can be picked out, as principal components pick out binary
ones. Each coordinate's randomness is keyed by its name, so that neither the order of columns nor that of parties
changes the span.

The predictive directions are orthonormal in encoded coordinates, and all others are orthogonal to them. Ridge
logistic regression on the representation is therefore the one on the pooled encoded rows, to the digit, once the
Newton rounds have converged: its weights lie in the span, and the penalty is the same.

Columns that the schema marks as sensitive are avoided: every direction, of whatever kind, is replaced by what the
sensitive coordinates do not tell of it, its residual in linear regression on them with the covariance that all parties
know. Over all rows together no direction of the span then correlates with a sensitive column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from dcshap._typing import FloatArray
from dcshap.collaboration.moments import Moments
from dcshap.collaboration.newton import RIDGE
from dcshap.collaboration.randomness import stream
from dcshap.exceptions import InputError

__all__ = ["CommonSpan", "auto_components", "common_span", "explained", "n_predictive"]

SHARE = 0.25  # dimensions per raw column
WHITENING = 0.1  # of the mean variance, added to every direction's before random directions are drawn
RANDOM_SCALE = 0.15  # spread of a random direction beside that of the predictive ones: models should lean on these
NEGLIGIBLE = 1e-9  # of the largest variance or singular value: rounding


@dataclass(frozen=True)
class CommonSpan:
    """The map `(x − center) @ weights` that all parties share; a private rotation follows it."""

    weights: FloatArray  # (p, d), the predictive directions first
    center: FloatArray  # (p,), the mean row
    n_predictive: int
    spread: FloatArray  # (d,), root mean square of each dimension over the rows that the moments are of

    @property
    def offset(self) -> FloatArray:
        """What is added after the weights (d,), so that the mean row is the origin."""
        return np.asarray(-self.center @ self.weights)

    @property
    def rms(self) -> float:
        """Root mean square over rows and dimensions, which a rotation does not change."""
        return float(np.sqrt(np.mean(self.spread**2)))


def n_predictive(moments: Moments) -> int:
    """How many directions can predict: one less than the classes that have rows, one for a number."""
    return len(moments.present().responses) - 1


def auto_components(n_columns: int, predictive: int) -> int:
    """About a quarter of the raw columns, and room for every predictive direction and a random one.

    Predictive directions of many classes may take up half of the columns, not more.
    """
    if n_columns < 2:
        raise InputError(f"A representation needs at least 2 columns. Got {n_columns}.")
    needed = min(predictive, n_columns // 2) + 1
    return min(max(needed, int(np.floor(SHARE * n_columns + 0.5))), n_columns - 1)


def common_span(
    moments: Moments,
    *,
    names: Sequence[str],
    n_components: int,
    seed: int,
    logits: FloatArray | None = None,
    bends: FloatArray | None = None,
    floor: float = 0.0,
    ridge: float = RIDGE,
    sensitive: Sequence[int] = (),
) -> CommonSpan:
    """Find the common span from the moments of all parties.

    Parameters
    ----------
    moments : Moments
    names : sequence of str
        A name for each of the p coordinates.
    n_components : int
        Dimensions wanted; there are fewer where the rows do not vary in as many directions.
    seed : int
        The seed that the parties share.
    logits : array of shape (L, p), optional
        Weights of logistic regression after Newton rounds; without them the predictive directions are Fisher's, or
        those of ridge regression for a number.
    bends : array of shape (p, m), optional
        Directions that take the places of random ones.
    floor : float
        Variance that noise in the moments may feign; it is added to every direction's. Dropping the directions below
        it instead gave the same AUC or a lower one on the tables tried.
    ridge : float
        The penalty on Fisher's directions and those of ridge regression.
    sensitive : sequence of int
        Coordinates that must not be read from the span.
    """
    moments = moments.present()
    if len(names) != len(moments.products):
        raise InputError(f"Every coordinate needs a name. Got {len(names)} names for {len(moments.products)}.")
    if n_components < 1:
        raise InputError(f"`n_components` must be at least 1. Got {n_components}.")
    variances, axes = _spectrum(moments.covariance, floor)
    if logits is None:
        # The penalty is that of the Newton rounds, whose curvature is at most a quarter of the rows' products.
        penalty = ridge * (4.0 if moments.classes else 1.0) / moments.n_rows
        logits = moments.association @ (axes / (variances + penalty)) @ axes.T
    n_leading = min(max(n_components - 1, 1), n_predictive(moments))
    covariance = (axes * variances) @ axes.T
    avoided, n_avoided = _avoidance(covariance, sensitive)
    predictive = _leading(axes @ (axes.T @ avoided(logits.T)), n_leading)
    spread = np.sqrt(np.einsum("pd,pq,qd->d", predictive, covariance, predictive))
    usual = np.sqrt(np.mean(spread**2)) if len(spread) else np.sqrt(np.mean(variances)) / RANDOM_SCALE
    fill = min(n_components, len(variances) - n_avoided) - predictive.shape[1]
    whiten = (axes / np.sqrt(variances + WHITENING * variances.sum() / len(names))) @ axes.T
    bending = np.zeros((len(names), 0)) if bends is None else _oriented(bends[:, :fill])
    random = whiten @ _drawn(names, fill - bending.shape[1], seed)
    others = _orthogonal_to(predictive, avoided(np.concatenate([bending, random], axis=1)))
    sizes = usual * np.where(np.arange(fill) < bending.shape[1], 1.0, RANDOM_SCALE)
    others = sizes * _uncorrelated(others, covariance) if fill else others
    weights = np.concatenate([predictive, others], axis=1)
    return CommonSpan(weights, moments.mean, predictive.shape[1], np.concatenate([spread, sizes]))


def _spectrum(covariance: FloatArray, floor: float) -> tuple[FloatArray, FloatArray]:
    """Variances (r,) and axes (p, r) of the directions that vary; of all, raised by the floor, where there is one."""
    variances, axes = scipy.linalg.eigh(covariance)
    if floor > 0:
        return np.maximum(variances, 0.0) + floor, axes
    kept = variances > max(NEGLIGIBLE * variances[-1], 1e-300)
    if not kept.any():
        raise InputError("Rows must vary in some direction over all parties. They do not.")
    return variances[kept], axes[:, kept]


def _leading(directions: FloatArray, n: int) -> FloatArray:
    """An orthonormal basis (p, up to n) of the leading part of directions (p, k)."""
    left, sizes, _ = np.linalg.svd(directions, full_matrices=False)
    return _oriented(left[:, sizes > max(NEGLIGIBLE * sizes[0], 1e-300)][:, :n])


def _oriented(directions: FloatArray) -> FloatArray:
    """Directions (p, k) with the sign of their sum of cubes, which does not depend on the order of the coordinates."""
    return np.asarray(directions * np.where((directions**3).sum(axis=0) < 0, -1.0, 1.0))


def _drawn(names: Sequence[str], n: int, seed: int) -> FloatArray:
    """Standard normal draws (p, n), each coordinate's from a stream of its own."""
    return np.array([stream(seed, "span", name).standard_normal(n) for name in names])


def _orthogonal_to(predictive: FloatArray, directions: FloatArray) -> FloatArray:
    """Directions (p, n) without their part along the predictive ones."""
    for _ in range(2):  # the second time takes away what rounding left
        directions = directions - predictive @ (predictive.T @ directions)
    return directions


def _avoidance(covariance: FloatArray, sensitive: Sequence[int]) -> tuple[Callable[[FloatArray], FloatArray], int]:
    """What takes out of directions (p, k) all that correlates with sensitive coordinates, and how many dimensions."""
    if not len(sensitive):
        return lambda directions: directions, 0
    among = covariance[np.ix_(sensitive, sensitive)]
    sizes = scipy.linalg.eigvalsh(among)
    rank = int(np.sum(sizes > NEGLIGIBLE * max(float(sizes[-1]), 1e-300)))
    inverse = scipy.linalg.pinvh(among, rtol=NEGLIGIBLE)

    def avoided(directions: FloatArray) -> FloatArray:
        taken = directions.copy()
        taken[list(sensitive)] -= inverse @ (covariance[list(sensitive)] @ directions)
        return taken

    if rank >= np.linalg.matrix_rank(covariance, tol=NEGLIGIBLE * float(np.trace(covariance)), hermitian=True):
        raise InputError("Some column must not be sensitive, and not follow from those that are. All do.")
    return avoided, rank


def explained(moments: Moments, weights: FloatArray) -> float:
    """How much of the target's variance rows tell through directions (p, d): squared canonical correlations, added."""
    moments = moments.present()
    seen = weights.T @ moments.covariance @ weights
    crossed = moments.association @ weights
    return float(np.trace(crossed @ np.linalg.pinv(seen, hermitian=True) @ crossed.T))


def _uncorrelated(directions: FloatArray, covariance: FloatArray) -> FloatArray:
    """Directions (p, n) of the same span, along which rows are uncorrelated and have spread 1."""
    factor = np.linalg.cholesky(directions.T @ covariance @ directions)
    return np.asarray(scipy.linalg.solve_triangular(factor, directions.T, lower=True).T)
