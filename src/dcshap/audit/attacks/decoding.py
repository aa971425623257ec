"""Reading rows with the map known: what an analyst and a party, who knows the anchor, do together.

The anchor is known plaintext: `F` follows from the anchor and its image. Linear decoding is the best linear estimate of
a row given its representation (Gauss–Markov, with the covariance of rows that are like it); a forest trained on
simulated releases of such rows reads what is not linear. Lattice decoding looks for whole numbers instead: the nearest
plane (Babai, "On Lovász' lattice reduction and the nearest lattice point problem", 1986) in a lattice that holds both
the representation and how far values usually lie from their mean, so that it is exact where there is no noise and the
likeliest integer row where there is.
"""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

from dcshap._typing import FloatArray
from dcshap.audit.attacks.lll import reduced_with_change

__all__ = ["forest_decoded", "integer_decoded", "linearly_decoded"]

FINEST = tuple(2.0**bits for bits in (20, 24, 30))  # of a representation without noise: how many digits are used
DIGITS = 2.0**6  # with which the usual spread of a column is written down
TREES = 40


def linearly_decoded(
    rows: FloatArray, weights: FloatArray, offset: FloatArray, like: FloatArray, *, noise: float
) -> FloatArray:
    """Encoded rows (n, p) estimated from representations (n, d), the map, and rows (m, p) like them."""
    center = like.mean(axis=0)
    covariance = np.cov(like.T).reshape(len(center), -1)
    seen = weights.T @ covariance @ weights
    size = max(float(np.trace(seen)) / len(seen), 1e-300)
    gain = np.linalg.solve(seen + (noise**2 + 1e-10 * size) * np.eye(len(seen)), weights.T @ covariance)
    return np.asarray(center + (rows - offset - center @ weights) @ gain)


def forest_decoded(rows: FloatArray, simulated: FloatArray, like: FloatArray, *, seed: int = 0) -> FloatArray:
    """Values (n, k) estimated from representations (n, d), by a forest of simulated ones (m, d) of rows (m, k)."""
    forest = ExtraTreesRegressor(TREES, min_samples_leaf=5, random_state=seed, n_jobs=1)
    wanted = like if like.shape[1] > 1 else like[:, 0]
    return np.asarray(forest.fit(simulated, wanted).predict(rows)).reshape(len(rows), -1)


def integer_decoded(
    rows: FloatArray, weights: FloatArray, *, center: FloatArray, spread: FloatArray, noise: float = 0.0
) -> FloatArray:
    """The integer rows (n, p) nearest to `rows ≈ integers @ weights` (n, d), given each column's usual mean and spread.

    `noise` is the standard deviation of the noise on each dimension.
    """
    size = float(np.sqrt(np.mean((weights * spread[:, None]) ** 2)))
    scales = [1.0 / noise] if noise > size / min(FINEST) else [finest / max(size, 1e-300) for finest in FINEST]
    tried = [_decoded_at(scale, rows, weights, center, spread) for scale in scales]
    # Too few digits leave several rows possible, too many drown in rounding: the attacker sees which fit.
    return min(tried, key=lambda found: float(np.mean(np.abs(found @ weights - rows))))


def _decoded_at(
    scale: float, rows: FloatArray, weights: FloatArray, center: FloatArray, spread: FloatArray
) -> FloatArray:
    usual = 1.0 / np.maximum(spread, 1e-9)
    lattice = np.concatenate([scale * weights, np.diag(usual)], axis=1)  # (p, d + p)
    target = np.concatenate([scale * rows, np.tile(usual * center, (len(rows), 1))], axis=1)
    unit = DIGITS / float(usual.min())
    basis, change = reduced_with_change(np.rint(lattice * unit))
    return _nearest_plane(basis, change, unit * target)


def _nearest_plane(basis: FloatArray, change: FloatArray, target: FloatArray) -> FloatArray:
    """Coordinates (n, p) of lattice points near targets (n, m), in the basis that `change` (p, p) reduced."""
    q, r = np.linalg.qr(basis.T)  # basis.T = q @ r
    projected = target @ q
    found = np.empty((len(target), len(basis)))
    for k in range(len(basis) - 1, -1, -1):
        found[:, k] = np.rint(projected[:, k] / r[k, k])
        projected -= found[:, k : k + 1] * r[:, k]
    return np.asarray(found @ change)
