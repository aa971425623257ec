"""Exact values of models that are written down, without evaluating coalitions.

A model of the form of `dcshap.shapley.game.forms` has values in closed form: quadratics directly, everything else as
sums of products. Each sample's values come with a bound on their error.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from dcshap._typing import Array, FloatArray, IntArray
from dcshap.shapley.exact.fourier import FourierSum, fourier_sum
from dcshap.shapley.exact.products import owen_products, pair_products, shapley_products
from dcshap.shapley.game.forms import ComplexArray, Form, GaussianForm, ProjectionForm, QuadraticForm
from dcshap.shapley.game.games import Points

__all__ = ["ClosedValues", "closed_interactions", "closed_values"]

Blocks = Sequence[Sequence[int]] | None
OfProducts = Callable[..., Array]  # of steps (n_players, C), to what is wanted of each product (…, C)

# The precision to which products are integrated, relative to the sum of all weights.
_QUADRATURE = 1e-13
_UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2
# Factors that are worked on at once: 2 MB of complex numbers stay near the processor.
_AT_ONCE = 1 << 17


@dataclass(frozen=True)
class ClosedValues:
    """Values of some samples, and how far they may be off.

    Parameters
    ----------
    values : array of shape (n, n_players, K)
    error : array of shape (n,)
        A bound on the error of every value of the sample; infinite where there are none.
    """

    values: FloatArray
    error: FloatArray


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
        _projections(points, form, samples, of_products, result)


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
    for at, sample in enumerate(samples.tolist()):
        if form.quadratic is None:
            values = points.added(sample, form.linear).mean(axis=0)
        else:
            empty, grand = points.linear_ends(sample)
            slopes = form.linear + np.einsum("kde,re->rdk", form.quadratic, empty + grand)
            values = np.mean([points.added(sample, slope)[row] for row, slope in enumerate(slopes)], axis=0)
        result.values[at] = values
        result.error[at] = 4 * points.width * _UNIT_ROUNDOFF * _largest(values)


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


# --- functions of projections --------------------------------------------------------------------------------------


def _projections(
    points: Points, form: ProjectionForm, samples: IntArray, of_products: OfProducts, result: ClosedValues
) -> None:
    projected = _Projected(points, form)
    boxes: dict[tuple[bytes, bytes], list[int]] = defaultdict(list)
    for at, sample in enumerate(samples.tolist()):
        low, high = _rounded_outward(*projected.ranges(sample))
        boxes[low.tobytes(), high.tobytes()].append(at)
    for (low_bytes, high_bytes), members in boxes.items():
        terms = _Terms.of(form, np.frombuffer(low_bytes), np.frombuffer(high_bytes))
        if terms is not None:
            found = projected.values(samples[members].tolist(), terms, of_products)
            result.values[members], result.error[members] = found


def _rounded_outward(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A box around the given one, out of few: samples share a sum of exponentials, and none depends on the others.

    Sides are powers of 2^(1/4), and begin at multiples of an eighth of their length.
    """
    length = 2.0 ** (np.ceil(4.0 * np.log2(np.maximum(high - low, 2.0**-10) * 8.0 / 7.0)) / 4.0)
    start = np.floor(low / (length / 8.0)) * (length / 8.0)
    return start, start + length


@dataclass(frozen=True)
class _Terms:
    """`g(u) = constant + Re Σ_m c_m exp(λ_m · (u − centre))` within `error`."""

    rates: ComplexArray  # (T, r)
    coefficients: ComplexArray  # (T, F)
    centre: FloatArray  # (r,)
    error: float
    on_circle: bool

    def steps(self, added: FloatArray) -> tuple[ComplexArray, float]:
        """`exp(λ · added) − 1` of players (P, n_players, r) as (n_players, P T), and how large products of them get."""
        if not self.on_circle:
            exponents = np.einsum("pnr,tr->npt", added, self.rates)
            largest = np.exp(np.maximum(exponents.real, 0.0).sum(axis=0).max())
            return np.expm1(exponents).reshape(len(exponents), -1), float(largest)
        halves = np.tensordot(added.swapaxes(0, 1), self.rates.imag.T / 2.0, axes=1)
        halves = halves.reshape(len(halves), -1)
        # cos θ − 1 + i sin θ by half the angle, without cancellation and faster than complex exponentials
        sines, cosines = np.sin(halves), np.cos(halves)
        steps = np.empty(halves.shape, dtype=np.complex128)
        steps.real, steps.imag = -2.0 * sines**2, 2.0 * sines * cosines
        return steps, 1.0

    @classmethod
    def of(cls, form: ProjectionForm, low: FloatArray, high: FloatArray) -> _Terms | None:
        smooth = form.smooth
        if smooth.rates is not None and smooth.coefficients is not None:
            on_circle = not smooth.rates.real.any()
            return cls(smooth.rates[:, None], smooth.coefficients, np.zeros(1), 0.0, on_circle)
        found = _remembered_sum(smooth.function, tuple(low.tolist()), tuple(high.tolist()))
        if found is None:
            return None
        rates: ComplexArray = 1j * found.frequencies.astype(np.complex128)
        return cls(rates, found.coefficients, found.centre, float(found.error.max()), on_circle=True)


@lru_cache(maxsize=64)
def _remembered_sum(
    function: Callable[[FloatArray], FloatArray], low: tuple[float, ...], high: tuple[float, ...]
) -> FourierSum | None:
    """Boxes are few: the next call is likely to need the same sum."""
    return fourier_sum(function, np.array(low), np.array(high))


@dataclass(frozen=True)
class _Weighted:
    """Products (…, P T) of pairs and terms, their weights (P, T, K), and how far each pair may be off (P,)."""

    products: Array
    weights: Array
    error: FloatArray

    @property
    def shape(self) -> tuple[int, int, int]:
        """Pairs, values of each, outputs."""
        return len(self.weights), len(self.products), self.weights.shape[2]

    def add_to(self, values: FloatArray, errors: FloatArray, owners: IntArray) -> None:
        """Add every pair to the sample that owns it; owners are in ascending order."""
        n_terms = self.weights.shape[1]
        flat = self.weights.reshape(-1, self.weights.shape[2])
        for owner in np.unique(owners):
            first, stop = np.searchsorted(owners, [owner, owner + 1])
            mine = slice(first * n_terms, stop * n_terms)
            values[owner] += (self.products[:, mine] @ flat[mine]).real
            errors[owner] += self.error[first:stop].sum()


@dataclass(frozen=True)
class _Projected:
    """Games as the model's projections see them."""

    points: Points
    form: ProjectionForm

    def ranges(self, sample: int) -> tuple[FloatArray, FloatArray]:
        """How low and how high the projections (r,) of a sample's coalitions reach, over all units."""
        base, added = self._of(sample)
        low = base + np.minimum(added, 0.0).sum(axis=1)
        high = base + np.maximum(added, 0.0).sum(axis=1)
        return low.min(axis=(0, 1)), high.max(axis=(0, 1))

    def values(self, samples: Sequence[int], terms: _Terms, of_products: OfProducts) -> tuple[FloatArray, FloatArray]:
        """Values (n, …, K) of samples, averaged over reference rows, and bounds on their errors (n,)."""
        n_rows, n_units = self.points.n_rows, self.form.weights.shape[1]
        n_pairs = n_rows * n_units
        together = max(1, _AT_ONCE // (len(terms.rates) * self.points.n_players))
        total: FloatArray | None = None
        errors = np.zeros(len(samples))
        step = max(1, together // n_pairs)
        for at in range(0, len(samples), step):
            games = [self._of(sample) for sample in samples[at : at + step]]
            base = np.concatenate([base.reshape(n_pairs, -1) for base, _ in games])
            added = np.concatenate([each.swapaxes(1, 2).reshape(n_pairs, *each.shape[1::2]) for _, each in games])
            units = np.tile(np.arange(n_units), n_rows * len(games))
            owners = at + np.repeat(np.arange(len(games)), n_pairs)
            for start in range(0, len(base), together):
                some = slice(start, start + together)
                found = self._of_pairs(base[some], added[some], units[some], terms, of_products)
                if total is None:
                    total = np.zeros((len(samples), *found.shape[1:]))
                found.add_to(total, errors, owners[some])
        per_unit = np.abs(self.form.mixing).sum(axis=1).sum(axis=0).max()  # all units, largest output
        values = np.zeros(0) if total is None else total / n_rows
        return values, errors / n_rows + 2.0 * terms.error * float(per_unit)

    def _of_pairs(
        self, base: FloatArray, added: FloatArray, units: IntArray, terms: _Terms, of_products: OfProducts
    ) -> _Weighted:
        """What pairs of a reference row and a unit are worth: `base` (P, r), `added` (P, n_players, r)."""
        steps, largest = terms.steps(added)
        # (P, T, K): what the product of each pair and term counts for in every output
        weights = np.exp((base - terms.centre) @ terms.rates.T)[:, :, None] * np.einsum(
            "tf,pfk->ptk", terms.coefficients, self.form.mixing[units]
        )
        sizes = np.abs(weights).max(axis=2)
        tolerance, quadrature = None, np.zeros(len(base))
        if terms.on_circle:
            # A pair's products may all err equally after weighting: one with a small weight needs few digits.
            allowed = _QUADRATURE * sizes.mean(axis=1, keepdims=True) / np.maximum(sizes, 1e-300)
            allowed = np.minimum(allowed, 1.0)
            tolerance, quadrature = allowed.ravel(), 2.0 * (allowed * sizes).sum(axis=1)
        rounding = 4 * (len(steps) + 8) * _UNIT_ROUNDOFF * np.abs(weights).sum(axis=1).max(axis=1) * largest
        return _Weighted(of_products(steps, tolerance=tolerance), weights, rounding + quadrature)

    def _of(self, sample: int) -> tuple[FloatArray, FloatArray]:
        """Projections of the reference rows (n_rows, H, r), and what players add (n_rows, n_players, H, r)."""
        d, n_units, r = self.form.weights.shape
        flat = self.form.weights.reshape(d, -1)
        empty, _ = self.points.linear_ends(sample)
        base = (empty @ flat).reshape(-1, n_units, r) + self.form.intercept
        added = self.points.added(sample, flat)
        return base, added.reshape(*added.shape[:2], n_units, r)


def _largest(values: FloatArray) -> float:
    return float(np.abs(values).max(initial=0.0))
