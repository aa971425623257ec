"""Smooth functions as short sums of exponentials on a box.

A smooth function on an interval is extended to a periodic one, of one and a half times the interval's length, by least
squares on cosines and sines. The extension is not unique and its equations nearly singular; solved by a truncated
singular value decomposition, they give small coefficients and an error near rounding. On a box the same is done along
one axis after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from dcshap._typing import Array, FloatArray
from dcshap.shapley.game.forms import ComplexArray

__all__ = ["FourierSum", "fourier_sum"]

PERIOD = 1.5  # lengths of the interval
RELATIVE_CUT = 1e-13  # of singular values
FALL = 16.0  # how much less the highest frequency counts than the lowest, as an exponent
WANTED, ACCEPTABLE = 1e-12, 2e-11  # errors, relative to the function's scale
# Frequencies of each axis that are tried, for functions of one number, two, and three.
LADDERS = {
    1: (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768),
    2: (8, 12, 16, 24, 32, 48, 64, 96),
    3: (8, 12, 16, 24),
}


@dataclass(frozen=True)
class FourierSum:
    """`g(u) ≈ constant + Re Σ_m c_m exp(i ω_m · (u − centre))` on a box."""

    centre: FloatArray  # (r,)
    frequencies: FloatArray  # (T, r)
    coefficients: ComplexArray  # (T, F)
    error: FloatArray  # (F,), how far the sum is from the function anywhere in the box
    scale: FloatArray  # (F,), the function's largest magnitude there


def fourier_sum(function: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray) -> FourierSum | None:
    """The shortest sum that is tried whose error is small enough, relative to the function's scale.

    Parameters
    ----------
    function : callable
        Maps arrays of shape (n, r) to arrays of shape (n, F).
    low, high : arrays of shape (r,)

    Returns
    -------
    FourierSum or None
        None if even the longest sum errs by more than is acceptable.
    """
    if len(low) not in LADDERS:
        return None
    centre, half = (low + high) / 2.0, np.maximum((high - low) / 2.0, 1e-3)
    found = None
    for n_frequencies in _worth_trying(function, centre, half):
        found = _fitted(function, centre, half, _counts(n_frequencies, half))
        if (found.error <= WANTED * found.scale).all():
            return found
    return found if found is not None and (found.error <= ACCEPTABLE * found.scale).all() else None


def _counts(n_frequencies: int, half: FloatArray) -> tuple[int, ...]:
    """Frequencies of every axis: those of the longest, and of the others in proportion."""
    return tuple(np.maximum(np.ceil(n_frequencies * half / half.max()), 8).astype(np.int64).tolist())


def _worth_trying(
    function: Callable[[FloatArray], FloatArray], centre: FloatArray, half: FloatArray
) -> tuple[int, ...]:
    """The rungs of the ladder on which the function is followed along each axis through the centre.

    Looking along the axes first is cheap, and what fails there fails in the box.
    """
    ladder = LADDERS[len(half)]
    if len(half) == 1:
        return ladder
    for axis in range(len(half)):

        def along(u: FloatArray, axis: int = axis) -> FloatArray:
            rows = np.tile(centre, (len(u), 1))
            rows[:, axis] = u[:, 0]
            return function(rows)

        here = slice(axis, axis + 1)
        while ladder:
            found = _fitted(along, centre[here], half[here], _counts(ladder[0], half)[here])
            if (found.error <= ACCEPTABLE * found.scale).all():
                break
            ladder = ladder[1:]
    return ladder


def _fitted(
    function: Callable[[FloatArray], FloatArray],
    centre: FloatArray,
    half: FloatArray,
    counts: tuple[int, ...],
) -> FourierSum:
    values = _on_grid(function, centre, half, [_points(count) for count in counts])
    scale = np.abs(values).reshape(-1, values.shape[-1]).max(axis=0)
    coefficients = _solved(values, counts)
    # Between points of a grid this fine, a function of these frequencies rises by less than the factor of 2 allows for.
    fine = [np.linspace(-1.0, 1.0, 8 * count + 9 if len(counts) == 1 else 3 * count + 8) for count in counts]
    fitted = coefficients
    for axis, (count, points) in enumerate(zip(counts, fine, strict=True)):
        fitted = np.moveaxis(np.tensordot(_basis(points, count), fitted, axes=(1, axis)), 0, axis)
    off = np.abs(fitted - _on_grid(function, centre, half, fine))
    error = 2.0 * off.reshape(-1, off.shape[-1]).max(axis=0)
    frequencies, terms = _exponentials(coefficients, counts, half)
    kept = _large(terms, WANTED * scale / 10.0)
    dropped = np.abs(terms[~kept]).sum(axis=0)
    return FourierSum(centre, frequencies[kept], terms[kept], error + dropped, scale)


def _points(count: int) -> FloatArray:
    """Chebyshev points of [−1, 1], those above 0 first, and then their opposites in the same order."""
    n = 2 * count + 8
    half = np.cos(np.pi * (np.arange(n) + 0.5) / (2 * n))
    return np.concatenate([half, -half])


def _on_grid(
    function: Callable[[FloatArray], FloatArray], centre: FloatArray, half: FloatArray, axes: list[FloatArray]
) -> FloatArray:
    """The function's values on the grid of all axes, shape (n_1, …, n_r, F)."""
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    values = function(centre + half * grid.reshape(-1, len(axes)))
    return np.asarray(values.reshape(*grid.shape[:-1], -1))


def _basis(points: FloatArray, count: int) -> FloatArray:
    """Cosines of frequencies 0 to `count` and sines of 1 to `count`, shape (n, 2 count + 1)."""
    angles = np.multiply.outer(points, np.arange(count + 1)) * (np.pi / PERIOD)
    return np.concatenate([np.cos(angles), np.sin(angles[:, 1:])], axis=1)


@lru_cache(maxsize=64)
def _decompositions(count: int) -> list[Any]:
    """Singular value decompositions of cosines and of sines at the points above 0, high frequencies counting less.

    Among all extensions this prefers the smooth ones: coefficients fall off, as far as the function lets them.
    """
    weights = np.exp(-FALL / count * np.concatenate([np.arange(count + 1), np.arange(1, count + 1)]))
    basis = _basis(_points(count)[: 2 * count + 8], count) * weights
    found = []
    for part, weight in zip(np.split(basis, [count + 1], axis=1), np.split(weights, [count + 1]), strict=True):
        U, s, Vt = np.linalg.svd(part, full_matrices=False)
        found.append((U, s, Vt * weight))
    return found


def _solved(values: FloatArray, counts: tuple[int, ...]) -> FloatArray:
    """Coefficients of products of cosines and sines (2 count + 1, …, F), given values at all points (n, …, F).

    Directions whose singular values, multiplied over all axes, are too small stay out: they are noise. The factors of
    the decomposition are applied one by one, for the pseudoinverse would spread rounding over all coefficients.
    """
    modes, sizes = values, np.ones((1,) * values.ndim)
    for axis, count in enumerate(counts):
        above, below = np.split(np.moveaxis(modes, axis, 0), 2)
        parts = zip(_decompositions(count), ((above + below) / 2.0, (above - below) / 2.0), strict=True)
        rotated = [np.tensordot(U.T, part, axes=1) for (U, _, _), part in parts]
        modes = np.moveaxis(np.concatenate(rotated), 0, axis)
        singular = np.concatenate([s / s[0] for _, s, _ in _decompositions(count)])
        largest = np.concatenate([np.full(len(s), s[0]) for _, s, _ in _decompositions(count)])
        shape = [-1 if at == axis else 1 for at in range(values.ndim)]
        sizes = sizes * singular.reshape(shape)
        modes = modes / largest.reshape(shape)
    modes = np.where(sizes > RELATIVE_CUT, modes / np.maximum(sizes, RELATIVE_CUT), 0.0)
    for axis, count in enumerate(counts):
        parts = zip(_decompositions(count), np.split(np.moveaxis(modes, axis, 0), [count + 1]), strict=True)
        modes = np.moveaxis(np.concatenate([np.tensordot(Vt.T, part, axes=1) for (_, _, Vt), part in parts]), 0, axis)
    return np.asarray(modes)


def _exponentials(
    coefficients: FloatArray, counts: tuple[int, ...], half: FloatArray
) -> tuple[FloatArray, ComplexArray]:
    """From products of cosines and sines to exponentials of one half of all frequencies, whose real part is the sum."""
    terms: Array = coefficients.astype(np.complex128)
    for axis, count in enumerate(counts):
        moved = np.moveaxis(terms, axis, 0)
        cosines, sines = moved[: count + 1], moved[count + 1 :]
        negative, positive = (cosines[1:] + 1j * sines) / 2, (cosines[1:] - 1j * sines) / 2
        terms = np.moveaxis(np.concatenate([negative[::-1], cosines[:1], positive]), 0, axis)
    axes = [np.arange(-count, count + 1) * (np.pi / PERIOD / h) for count, h in zip(counts, half, strict=True)]
    frequencies = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(counts))
    terms = terms.reshape(-1, terms.shape[-1])
    # A real function's coefficients at opposite frequencies are conjugates: one of the two says it all.
    after = len(terms) // 2 + 1
    return frequencies[after:], (2.0 * terms[after:]).astype(np.complex128)


def _large(terms: ComplexArray, allowed: FloatArray) -> Array:
    """Which terms to keep, if the magnitudes of the others may add up to as much as is allowed."""
    relative = reduce(np.maximum, (np.abs(terms) / np.maximum(allowed, np.finfo(np.float64).tiny)).T)
    order = np.argsort(relative)
    kept = np.ones(len(terms), dtype=bool)
    kept[order[np.cumsum(relative[order]) <= 1.0]] = False
    return kept
