"""Shapley values of smooth functions of one projection, as sums of equally spaced waves.

Every game, of one reference row and one unit, has the waves of the interval that its own coalitions reach, rounded to
one of few: the shorter it is, the fewer waves there are. Waves that are damped too much to matter are left out, node by
node, and no game's values depend on another's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dcshap._typing import FloatArray, IntArray
from dcshap.shapley.exact.fourier import PERIOD, fourier_sum
from dcshap.shapley.exact.products import ellipses, gauss_legendre
from dcshap.shapley.game.forms import ComplexArray

__all__ = ["Waves", "values_of_waves", "waves_of"]

# The precision to which products are integrated, relative to the sum of all weights.
_QUADRATURE = 1e-13
_UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2


@dataclass(frozen=True)
class Waves:
    """`g(u) ≈ constant + Re Σ_m c_m exp(i m ω (u − centre))` on an interval, m from 1."""

    frequency: float  # `ω`
    centre: float
    coefficients: ComplexArray  # (M, F)
    error: FloatArray  # (F,), how far the sum is from the function anywhere in the interval


@lru_cache(maxsize=4096)
def waves_of(function: Callable[[FloatArray], FloatArray], low: float, high: float) -> Waves | None:
    """The waves of a function of one number on an interval; None if they would be too many."""
    found = fourier_sum(function, np.array([low]), np.array([high]))
    if found is None:
        return None
    frequency = 2.0 * np.pi / PERIOD / (high - low)
    at = np.rint(found.frequencies[:, 0] / frequency).astype(np.int64) - 1
    coefficients = np.zeros((at.max(initial=0) + 1, found.coefficients.shape[1]), dtype=np.complex128)
    coefficients[at] = found.coefficients
    return Waves(frequency, float(found.centre[0]), coefficients, found.error)


def values_of_waves(
    added: FloatArray, ends: FloatArray, boxes: IntArray, waves: Sequence[Waves], function: int
) -> tuple[FloatArray, FloatArray]:
    """Values (P, n) of games of one of the functions, and bounds (P,) on how far any of a game's values may be off.

    Parameters
    ----------
    added : array of shape (P, n)
        What each player adds to the projection.
    ends : array of shape (P, 2)
        The empty and the grand coalition's projections.
    boxes : array of int of shape (P,)
        The position in `waves` of each game's.
    waves : sequence of Waves
    function : int
    """
    from dcshap.shapley.exact.harmonic_kernel import harmonic_values  # noqa: PLC0415 - numba takes half a second

    n_games, n_players = added.shape
    counts = np.array([len(each.coefficients) for each in waves])
    coefficients = np.zeros((len(waves), counts.max()), dtype=np.complex128)
    for row, each in zip(coefficients, waves, strict=True):
        row[: len(each.coefficients)] = each.coefficients[:, function]
    sizes = np.abs(coefficients)
    # Products may all err equally after weighting: one with a small weight needs few digits.
    mean = sizes.sum(axis=1, keepdims=True) / np.maximum(np.count_nonzero(sizes, axis=1), 1)[:, None]
    allowed = np.minimum(_QUADRATURE * mean / np.maximum(sizes, 1e-300), 1.0)
    frequencies = np.array([each.frequency for each in waves])[boxes]
    centres = np.array([each.centre for each in waves])[boxes]
    angles = np.zeros((n_games, n_players + n_players % 2))
    angles[:, :n_players] = added * frequencies[:, None]
    at_ends = (ends - centres[:, None]) * frequencies[:, None]
    real, imaginary = np.ascontiguousarray(coefficients.real), np.ascontiguousarray(coefficients.imag)
    most = 64
    while True:
        found, needed = harmonic_values(
            angles, at_ends, boxes, counts, real, imaginary, -np.log(allowed), *_rules(most), ellipses()
        )
        if needed <= most:
            break
        most = 1 << (needed - 1).bit_length()
    # A factor errs by what doubling angles log₂ M times does to it; weights by what M turns do.
    rounding = (4 * n_players + n_players * 8 * np.log2(2 * counts) + 4 * counts + 64) * _UNIT_ROUNDOFF
    errors = 2.0 * (allowed * sizes).sum(axis=1) + 2.0 * rounding * sizes.sum(axis=1)
    return found[:, :n_players], errors[boxes]


@lru_cache(maxsize=8)
def _rules(most: int) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Numbers of nodes, where each rule begins, and the nodes up to ½ of all rules with their weights.

    Rules are the same from both ends; ½ itself, its own opposite, counts half.
    """
    ladder = [1, 2, 3]
    while ladder[-1] < most:
        ladder.append(min(ladder[-1] + max(1, ladder[-1] // 8), most))
    nodes, weights = [], []
    for count in ladder:
        t, w = gauss_legendre(count)
        kept = t < 0.5 + 1e-12
        nodes.append(t[kept])
        weights.append(np.where(t[kept] > 0.5 - 1e-12, 0.5, 1.0) * w[kept])
    starts = np.concatenate([[0], np.cumsum([len(each) for each in nodes])])
    return np.array(ladder), starts, np.concatenate(nodes), np.concatenate(weights)
