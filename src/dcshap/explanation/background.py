"""A background population: synthetic rows that every party draws alike, from agreed moments and the shared seed.

Columns are drawn one after another, in the order of their names. What a column's cells are expected to be, given the
columns before it, follows from the moments by linear regression: a category's chances, the weights of a number's
knots, or the mean of a number without knots, whose spread is what the regression leaves. So every cell is one that
the schema allows, and means and covariances are those of the moments, but for expectations that had to be clipped.

Rows come in lots of 100, each with a seed of its own: a small background is the beginning of every larger one, so that
asking for many sizes shows no more rows than asking for the largest.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.stats

from dcshap._typing import FloatArray, IntArray
from dcshap.collaboration.moments import Moments
from dcshap.collaboration.randomness import derived_seed, stream
from dcshap.exceptions import InputError
from dcshap.schema.columns import Category, Column, Number
from dcshap.schema.encoding import Encoder

__all__ = ["N_BACKGROUND", "draw_background"]

N_BACKGROUND = 100  # rows, unless somebody asks for more or fewer; and rows of a lot
SHRINKAGE = 1e-3  # of a column's variance, added before regression: one-hot blocks are collinear
STEPS = 4096  # numbers are rounded to this part of their range, so that rounding errors cannot tell parties apart


def draw_background(encoder: Encoder, moments: Moments, *, n_rows: int = N_BACKGROUND, seed: int) -> FloatArray:
    """Draw rows as codes (n_rows, M), from the moments of all parties' encoded rows and the seed that they share."""
    if n_rows < 1:
        raise InputError(f"A background needs at least one row. Got {n_rows}.")
    if len(moments.products) != encoder.n_coordinates:
        raise InputError(f"The moments must be of the encoder's {encoder.n_coordinates} coordinates.")
    n_lots = -(-n_rows // N_BACKGROUND)
    seeds = [seed, *(derived_seed(seed, "lot", str(at)) for at in range(1, n_lots))]
    return np.concatenate([_lot(encoder, moments, each) for each in seeds])[:n_rows]


def _lot(encoder: Encoder, moments: Moments, seed: int) -> FloatArray:
    mean, covariance = moments.mean, moments.covariance
    columns = encoder.schema.columns
    codes, drawn = np.zeros((N_BACKGROUND, len(columns))), np.zeros((N_BACKGROUND, encoder.n_coordinates))
    before = np.zeros(0, dtype=np.int64)
    for j in sorted(range(len(columns)), key=lambda j: columns[j].name):
        block = np.arange(encoder.n_coordinates)[encoder.blocks[j]]
        scale, center = encoder.scale[block], encoder.center[block]
        slope = _regression(covariance, block, before)
        expected = (mean[block] + (drawn[:, before] - mean[before]) @ slope) * scale + center
        left = np.diag(covariance[np.ix_(block, block)] - slope.T @ covariance[np.ix_(before, block)])
        rng = stream(seed, "background", columns[j].name)
        codes[:, j] = _cells(columns[j], expected, np.sqrt(np.maximum(left, 0.0)) * scale, rng)
        if len(block) > 1 and isinstance(column := columns[j], Number):
            weights = mean[block] * scale + center
            squares = np.diag(covariance)[block] * scale**2 + weights**2
            codes[:, j] = _spread_out(column, codes[:, j], weights, squares, rng)
        drawn[:, block] = encoder.encode(codes)[:, block]
        before = np.concatenate([before, block])
    return codes


def _regression(covariance: FloatArray, block: IntArray, before: IntArray) -> FloatArray:
    """Slopes (len(before), len(block)) of the block's coordinates on those before it."""
    inner = covariance[np.ix_(before, before)]
    damped = inner + np.diag(SHRINKAGE * np.maximum(np.diag(inner), 1e-9))
    if not len(before):
        return np.zeros((0, len(block)))
    values, vectors = scipy.linalg.eigh(damped)  # noise may have left some of them below zero
    kept = values > SHRINKAGE * 0.1 * max(values[-1], 1e-300)
    vectors = vectors[:, kept]
    return np.asarray((vectors / values[kept]) @ (vectors.T @ covariance[np.ix_(before, block)]))


def _cells(column: Column, expected: FloatArray, spread: FloatArray, rng: np.random.Generator) -> FloatArray:
    """One cell per row, as codes: by chances (n, k) in a block, by mean (n, 1) and spread (1,) otherwise."""
    uniform = _strata(rng, len(expected))
    if expected.shape[1] > 1:
        cumulated = np.cumsum(np.maximum(expected, 0.0), axis=1)
        place = (uniform[:, None] * cumulated[:, -1:] >= cumulated[:, :-1]).sum(axis=1)
        return np.asarray(np.array(column.knots)[place]) if isinstance(column, Number) else place.astype(np.float64)
    if isinstance(column, Category):
        n = len(column.categories)
        return np.clip(np.rint(_between(expected[:, 0], spread[0], uniform, (-0.5, n - 0.5))), 0, n - 1)
    return _rounded(column, _between(expected[:, 0], spread[0], uniform, (column.low, column.high)))


def _spread_out(
    column: Number, at_knots: FloatArray, weights: FloatArray, squares: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Move draws (n,) off their knots, as far as the rows' own values lie between knots.

    Weights of values on a knot are 0 or 1, and equal to their squares on average; of values spread evenly between
    knots the squares are two thirds of them.
    """
    knots = np.array(column.knots)
    staying = np.clip(3.0 * squares / np.maximum(weights, 1e-9) - 2.0, 0.0, 1.0)
    place = np.searchsorted(knots, at_knots)
    even = 2.0 * rng.random(len(place)) - 1.0
    offset = np.sign(even) * (1.0 - np.sqrt(1.0 - np.abs(even)))  # the nearer to the knot, the likelier
    offset[rng.random(len(place)) < staying[place]] = 0.0
    moved = np.abs(place + offset)
    moved = np.where(moved > len(knots) - 1, 2 * (len(knots) - 1) - moved, moved)
    return _rounded(column, np.interp(moved, np.arange(len(knots)), knots))


def _rounded(column: Number, values: FloatArray) -> FloatArray:
    """Values on a grid over the range; knots stay where they are."""
    step = (column.high - column.low) / STEPS
    rounded = np.clip(column.low + np.rint((values - column.low) / step) * step, column.low, column.high)
    return np.where(np.isin(values, column.knots), values, rounded)


def _between(mean: FloatArray, spread: float, uniform: FloatArray, ends: tuple[float, float]) -> FloatArray:
    """Draws between two ends with given means and spread: beta distributed, or at the ends where that is too wide."""
    low, high = ends
    center = np.clip((mean - low) / (high - low), 0.005, 0.995)
    variance = (spread / (high - low)) ** 2
    size = np.clip(center * (1 - center) / max(variance, 1e-12) - 1, 0.05, 1e6)
    drawn: FloatArray = scipy.stats.beta.ppf(uniform, center * size, (1 - center) * size)
    return low + drawn * (high - low)


def _strata(rng: np.random.Generator, n: int) -> FloatArray:
    """Uniform draws (n,), one in each n-th of the interval, in random order: marginals come out nearly exact."""
    return (rng.permutation(n) + rng.random(n)) / n
