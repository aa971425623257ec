"""Exact values of models that are written down, without evaluating coalitions.

A model of the form of `dcshap.shapley.game.forms` has values in closed form: quadratics directly, everything else as
sums of products. Each sample's values come with a bound on their error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dcshap._typing import FloatArray, IntArray
from dcshap.shapley.exact.products import owen_products, pair_products, shapley_products
from dcshap.shapley.exact.projections import OfProducts, projection_values
from dcshap.shapley.game.forms import Form, GaussianForm, ProjectionForm, QuadraticForm
from dcshap.shapley.game.games import Points

__all__ = ["ClosedValues", "closed_interactions", "closed_values"]

Blocks = Sequence[Sequence[int]] | None
_UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2


@dataclass(frozen=True)
class ClosedValues:
    """Values of some samples, and how far they may be off."""

    values: FloatArray  # (n, n_players, K)
    error: FloatArray  # (n,), a bound on the error of every value of the sample; infinite where there are none


def closed_values(points: Points, form: Form, samples: IntArray, n_outputs: int, *, blocks: Blocks) -> ClosedValues:
    """Shapley values of some of the samples, or Owen values with blocks (lists of players)."""
    result = ClosedValues(np.zeros((len(samples), points.n_players, n_outputs)), np.full(len(samples), np.inf))
    of_products = shapley_products if blocks is None else partial(owen_products, blocks=blocks)
    if isinstance(form, QuadraticForm):
        _quadratic(points, form, samples, result)
    else:
        _of_products(points, form, samples, of_products, result)
    return result


def closed_interactions(points: Points, form: Form, samples: IntArray, n_outputs: int) -> ClosedValues:
    """Shapley–Taylor interactions of all pairs of players (n_samples, n_pairs, K), as `numpy.triu_indices` has them."""
    n_pairs = points.n_players * (points.n_players - 1) // 2
    result = ClosedValues(np.zeros((len(samples), n_pairs, n_outputs)), np.full(len(samples), np.inf))
    if isinstance(form, QuadraticForm):
        _quadratic_pairs(points, form, samples, result)
    else:
        _of_products(points, form, samples, pair_products, result)
    return result


def _of_products(points: Points, form: Form, samples: IntArray, of_products: OfProducts, result: ClosedValues) -> None:
    if isinstance(form, GaussianForm):
        _gaussian(points, form, samples, of_products, result)
    elif isinstance(form, ProjectionForm):
        for members, values, errors in projection_values(points, form, samples, of_products):
            result.values[members], result.error[members] = values, errors


def _quadratic_pairs(points: Points, form: QuadraticForm, samples: IntArray, result: ClosedValues) -> None:
    """Pairs of players add `2 d_iᵀ Q d_j`, averaged over reference rows."""
    first, second = np.triu_indices(points.n_players, 1)
    for at, sample in enumerate(samples.tolist()):
        if form.quadratic is not None:
            offsets = points.added(sample, np.eye(points.width))
            both = np.einsum("rid,kde,rje->ijk", offsets, form.quadratic, offsets) / len(offsets)
            result.values[at] = 2.0 * both[first, second]
        result.error[at] = 8 * points.width * _UNIT_ROUNDOFF * _largest(result.values[at])


def _quadratic(points: Points, form: QuadraticForm, samples: IntArray, result: ClosedValues) -> None:
    """Pairs of players share their interaction equally, so that `φ_i = d_i · (Q (z_∅ + z_N) + b)`; with blocks too."""
    if form.quadratic is None:
        result.values[:] = points.added_on_average(samples, form.linear)
    else:
        for at, sample in enumerate(samples.tolist()):
            empty, grand = points.linear_ends(sample)
            slopes = form.linear + np.einsum("kde,re->rdk", form.quadratic, empty + grand)
            added = [points.added(sample, slope)[row] for row, slope in enumerate(slopes)]
            result.values[at] = np.mean(added, axis=0)
    result.error[:] = 4 * points.width * _UNIT_ROUNDOFF * np.abs(result.values).max(axis=(1, 2), initial=0.0)


def _gaussian(
    points: Points, form: GaussianForm, samples: IntArray, of_products: OfProducts, result: ClosedValues
) -> None:
    """Every column is a factor of each kernel, and a player the product of its columns'."""
    owners = points.column_owners()
    if owners is None:
        return
    order = np.argsort(owners, kind="stable")
    starts = np.flatnonzero(np.diff(owners[order], prepend=-1))
    for at, sample in enumerate(samples):
        empty, grand = points.linear_ends(int(sample))
        total = np.zeros_like(result.values[at])
        inside = np.exp(np.add.reduceat(form.exponents(grand)[0][:, order], starts, axis=1)).T  # (n_players, J)
        for row in empty:
            outside = np.exp(np.add.reduceat(form.exponents(row[None])[0][:, order], starts, axis=1)).T
            total += of_products(inside - outside, out=outside).real @ form.coefficients
        result.values[at] = total / len(empty)
        size = np.abs(form.coefficients).sum(axis=0).max()  # kernels are at most 1
        result.error[at] = 4 * (points.n_players + 8) * _UNIT_ROUNDOFF * size


def _largest(values: FloatArray) -> float:
    return float(np.abs(values).max(initial=0.0))
