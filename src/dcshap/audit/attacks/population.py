"""An analyst with a public sample of the same population looks for the map under which both look alike.

Second moments are matched exactly by whitening both sides; what remains is a rotation, found by matching the
distributions along many directions, class by class where labels are known (sliced Wasserstein distance, as in
Guo, Sarwate and others' distribution-matching attacks on perturbed data; Bonneel and others, 2015, for the distance).
"""

from __future__ import annotations

import numpy as np

from dcshap._typing import Array, FloatArray

__all__ = ["matched_map", "read_by_population"]

N_DIRECTIONS = 48
N_STARTS = 30
SHORT = 25  # steps of every descent
N_KEPT = 3
LONG = 100  # steps of those that are kept
FEW_ROWS = 300
QUANTILES = (np.arange(40) + 0.5) / 40
MOST_ROWS = 2000


def read_by_population(
    rows: FloatArray,
    public: FloatArray,
    *,
    labels: Array | None = None,
    public_labels: Array | None = None,
    seed: int = 0,
) -> FloatArray:
    """Encoded rows (n, p) estimated from representations (n, d) and other rows (m, p) of the population alone."""
    weights, offset = matched_map(rows, public, labels=labels, public_labels=public_labels, seed=seed)
    center, covariance = public.mean(axis=0), np.cov(public.T).reshape(public.shape[1], -1)
    seen = weights.T @ covariance @ weights
    gain = np.linalg.lstsq(seen, weights.T @ covariance, rcond=1e-8)[0]
    return np.asarray(center + (rows - offset - center @ weights) @ gain)


def matched_map(
    rows: FloatArray, public: FloatArray, *, labels: Array | None, public_labels: Array | None, seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Weights (p, d) and offset (d,) under which a public sample (m, p) is distributed as rows (n, d) are."""
    rng = np.random.default_rng(seed)
    inward, outward, shift = _whitening(rows)  # rows = white @ outward + shift
    white = (rows - shift) @ inward
    public_inward, _, center = _whitening(public)
    public_white = (public - center) @ public_inward
    groups = _groups(labels, public_labels, len(rows), len(public), rng)
    few = [(own[:FEW_ROWS], other[:FEW_ROWS]) for own, other in groups]
    drawn = rng.standard_normal((white.shape[1], N_DIRECTIONS))
    directions = drawn / np.linalg.norm(drawn, axis=0)
    starts = [_orthonormal(rng.standard_normal((public_white.shape[1], white.shape[1]))) for _ in range(N_STARTS)]
    # Many short descents with few rows, and long ones from the best of them: the distance has many hollows.
    tried = [_descent(start, directions, white, public_white, groups=few, n_steps=SHORT) for start in starts]
    best = sorted(tried, key=lambda pair: pair[0])[:N_KEPT]
    kept = [_descent(turn, directions, white, public_white, groups=groups, n_steps=LONG) for _, turn in best]
    _, turn = min(kept, key=lambda pair: pair[0])
    weights = public_inward @ turn @ outward
    return weights, shift - center @ weights


def _descent(
    turn: FloatArray,
    directions: FloatArray,
    white: FloatArray,
    public: FloatArray,
    *,
    groups: list[tuple[Array, Array]],
    n_steps: int,
) -> tuple[float, FloatArray]:
    """The distance between both sides and the rotation (r, d) that it was lowered to, by gradient steps."""
    momentum, best = np.zeros_like(turn), (np.inf, turn)
    sides = [(np.quantile(white[own] @ directions, QUANTILES, axis=0), other) for own, other in groups]
    for step in range(n_steps):
        loss, gradient = _distance(turn, directions, public, sides)
        best = min(best, (loss, turn), key=lambda pair: pair[0])
        momentum = 0.8 * momentum + gradient
        size = float(np.linalg.norm(momentum))
        turn = _orthonormal(turn - 0.5 * (1.0 - step / n_steps) * momentum / max(size, 1e-300))
    return best


def _distance(
    turn: FloatArray, directions: FloatArray, public: FloatArray, sides: list[tuple[FloatArray, Array]]
) -> tuple[float, FloatArray]:
    """Mean squared distance between quantiles along directions (d, k), and its gradient by the rotation (r, d)."""
    loss, gradient = 0.0, np.zeros_like(turn)
    for wanted, other in sides:
        rows = public[other]
        projected = rows @ (turn @ directions)
        order = np.argsort(projected, axis=0)[
            np.minimum((QUANTILES * len(other)).astype(int), len(other) - 1)
        ]  # (q, k)
        off = np.take_along_axis(projected, order, axis=0) - wanted
        loss += float(np.mean(off**2)) / len(sides)
        gradient += np.einsum("qk,qkp->pk", off, rows[order]) @ directions.T
    return loss, gradient


def _groups(
    labels: Array | None, public_labels: Array | None, n: int, m: int, rng: np.random.Generator
) -> list[tuple[Array, Array]]:
    """Row numbers on both sides that are compared with each other: of each class, or all."""
    if labels is None or public_labels is None or len(np.unique(labels)) > 10:
        return [(rng.permutation(n)[:MOST_ROWS], rng.permutation(m)[:MOST_ROWS])]
    pairs = [(np.flatnonzero(labels == each), np.flatnonzero(public_labels == each)) for each in np.unique(labels)]
    kept = [
        (rng.permutation(a)[:MOST_ROWS], rng.permutation(b)[:MOST_ROWS]) for a, b in pairs if min(len(a), len(b)) > 4
    ]
    return kept or [(rng.permutation(n)[:MOST_ROWS], rng.permutation(m)[:MOST_ROWS])]


def _whitening(rows: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The map (p, r) to uncorrelated coordinates of spread 1, the way back (r, p), and the mean (p,)."""
    center = rows.mean(axis=0)
    variances, axes = np.linalg.eigh(np.cov(rows.T).reshape(rows.shape[1], -1))
    kept = variances > 1e-8 * max(float(variances[-1]), 1e-300)
    spread, axes = np.sqrt(variances[kept]), axes[:, kept]
    return axes / spread, (axes * spread).T, center


def _orthonormal(matrix: FloatArray) -> FloatArray:
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray(left @ right)
