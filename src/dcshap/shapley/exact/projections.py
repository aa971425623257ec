"""Exact values of sums of smooth functions of projections, each followed by a short sum of exponentials."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dcshap._typing import Array, FloatArray, IntArray
from dcshap.shapley.exact.fourier import FourierSum, fourier_sum
from dcshap.shapley.exact.harmonics import values_of_waves, waves_of
from dcshap.shapley.exact.many_players import is_worth_it, values_of_many
from dcshap.shapley.exact.products import shapley_products
from dcshap.shapley.game.forms import ComplexArray, ProjectionForm
from dcshap.shapley.game.games import Points

__all__ = ["OfProducts", "projection_values"]

OfProducts = Callable[..., Array]  # of steps (n_players, C), to what is wanted of each product (…, C)

# The precision to which products are integrated, relative to the sum of all weights.
_QUADRATURE = 1e-13
_UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2
# Factors that are worked on at once: 2 MB of complex numbers stay near the processor.
_AT_ONCE = 1 << 17
_ADDED_AT_ONCE = 1 << 21  # what players add: 16 MB
_UNLIKELY = 36.0  # coalitions with a chance of less than exp(−36) are not followed


def projection_values(
    points: Points, form: ProjectionForm, samples: IntArray, of_products: OfProducts
) -> Iterator[tuple[list[int], FloatArray, FloatArray]]:
    """Positions of some of the samples, what is wanted of their products (n, …, K), and bounds on its error (n,).

    Samples whose projections reach too far are left out.
    """
    projected = _Projected(points, form, of_products)
    if projected.has_waves:
        yield from projected.values_by_waves(samples)
        return
    boxes: dict[tuple[bytes, bytes], list[int]] = defaultdict(list)
    for at, sample in enumerate(samples.tolist()):
        low, high = _rounded_outward(*projected.ranges(sample))
        boxes[low.tobytes(), high.tobytes()].append(at)
    for (low_bytes, high_bytes), members in boxes.items():
        terms = _Terms.of(form, np.frombuffer(low_bytes), np.frombuffer(high_bytes))
        if terms is not None:
            yield members, *projected.values(samples[members].tolist(), terms)


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
    fitted: bool = False

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
        return cls(rates, found.coefficients, found.centre, float(found.error.max()), on_circle=True, fitted=True)


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
    of_products: OfProducts

    def ranges(self, sample: int) -> tuple[FloatArray, FloatArray]:
        """How low and how high the projections (r,) of a sample's coalitions reach, over all units.

        Shapley values are averages over coalitions that players join independently, with one chance for all. Where
        these hardly ever get (Hoeffding's inequality), a bounded function need not be followed.
        """
        base, added = self._of(sample)
        low, high = self._reached(base, added)
        return low.min(axis=(0, 1)), high.max(axis=(0, 1))

    def _reached(self, base: FloatArray, added: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same for each row (…), given what players add (…, n_players, …) along the second axis."""
        low = base + np.minimum(added, 0.0).sum(axis=1)
        high = base + np.maximum(added, 0.0).sum(axis=1)
        if self._stays_near:
            full = base + added.sum(axis=1)
            far = np.sqrt(_UNLIKELY / 2.0 * (added**2).sum(axis=1)) + np.abs(added).max(axis=1)
            low, high = np.maximum(low, np.minimum(base, full) - far), np.minimum(high, np.maximum(base, full) + far)
        return low, high

    @property
    def _stays_near(self) -> bool:
        return self.of_products is shapley_products and np.isfinite(self.form.smooth.bound)

    # --- functions of one projection -------------------------------------------------------------------------------

    @property
    def has_waves(self) -> bool:
        """Whether Shapley values are wanted, of functions of one number that have to be fitted, and not too many."""
        one = self.form.weights.shape[2] == 1 and self.form.smooth.rates is None
        many = is_worth_it(self.points.n_rows * self.form.weights.shape[1], self.points.n_players)
        return one and self.of_products is shapley_products and not many

    def values_by_waves(self, samples: IntArray) -> Iterator[tuple[list[int], FloatArray, FloatArray]]:
        """As `projection_values`, every row and unit with the interval that it reaches itself."""
        per_sample = self.points.n_rows * self.form.weights.shape[1] * self.points.n_players
        step = max(1, _ADDED_AT_ONCE // per_sample)
        for start in range(0, len(samples), step):
            games = [self._of(int(sample)) for sample in samples[start : start + step]]
            base = np.stack([each.reshape(-1) for each, _ in games])  # (S, R H)
            added = np.stack([each[..., 0].swapaxes(1, 2).reshape(base.shape[1], -1) for _, each in games])
            members, values, errors = self._of_waves(base, added)
            if len(members):
                yield (start + members).tolist(), values, errors

    def _of_waves(self, base: FloatArray, added: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """Which of the samples are solved, their values (S, n_players, K) and their errors (S,).

        Given projections (S, R H) of reference rows, and what players add to them (S, R H, n_players).
        """
        low, high = self._reached(base.reshape(-1), added.reshape(-1, added.shape[2]))
        keys, boxes = np.unique(np.stack(_rounded_outward(low, high), axis=1), axis=0, return_inverse=True)
        found = [waves_of(self.form.smooth.function, *key) for key in keys.tolist()]
        waves = [each for each in found if each is not None]
        at = np.cumsum([each is not None for each in found]) - 1
        known = np.array([each is not None for each in found])[boxes].reshape(base.shape)
        members = np.flatnonzero(known.all(axis=1))
        if not len(members):
            return members, np.empty(0), np.empty(0)
        base, added = base[members], added[members]
        boxes = at[boxes.reshape(known.shape)[members]].ravel()
        ends = np.stack([base, base + added.sum(axis=2)], axis=2).reshape(-1, 2)
        games = added.reshape(-1, added.shape[2])
        n_rows, mixing = self.points.n_rows, self.form.mixing
        values, errors = np.zeros((len(members), games.shape[1], mixing.shape[2])), np.zeros(len(members))
        for each in range(mixing.shape[1]):
            some, off = values_of_waves(games, ends, boxes, waves, each)
            off += np.array([2.0 * w.error[each] + self._outside(w.coefficients[:, each]) for w in waves])[boxes]
            some = some.reshape(len(members), n_rows, len(mixing), -1)
            values += np.einsum("srun,uk->snk", some, mixing[:, each], optimize=True) / n_rows
            off = off.reshape(len(members), n_rows, len(mixing)).mean(axis=1)
            errors += (off @ np.abs(mixing[:, each])).max(axis=1)
        return members, values, errors

    # --- functions of several, and other values --------------------------------------------------------------------

    def values(self, samples: Sequence[int], terms: _Terms) -> tuple[FloatArray, FloatArray]:
        """Values (n, …, K) of samples, averaged over reference rows, and bounds on their errors (n,)."""
        n_pairs = self.points.n_rows * self.form.weights.shape[1]
        many = self.of_products is shapley_products and terms.fitted and self.form.weights.shape[2] == 1
        if many and is_worth_it(n_pairs, self.points.n_players):
            found = [self._of_many(sample, terms) for sample in samples]
            values, errors = np.stack([values for values, _ in found]), np.array([error for _, error in found])
        else:
            values, errors = self._one_by_one(samples, terms)
        per_unit = np.abs(self.form.mixing).sum(axis=1).sum(axis=0).max()  # all units, largest output
        return values, errors + float(per_unit) * (2.0 * terms.error + self._outside(terms.coefficients))

    def _outside(self, coefficients: ComplexArray) -> float:
        """How much coalitions outside of the box may count for."""
        if not self._stays_near:
            return 0.0
        chance = 2.0 * self.form.weights.shape[2] * np.exp(-_UNLIKELY)
        return float(chance * 2.0 * (self.form.smooth.bound + np.abs(coefficients).sum(axis=0).max()))

    def _of_many(self, sample: int, terms: _Terms) -> tuple[FloatArray, float]:
        """Values (n_players, K) of a sample with many players and reference rows, and a bound on their error."""
        base, added = self._of(sample)
        n_rows, n_players, n_units, _ = added.shape
        games, starts = added.swapaxes(1, 2).reshape(-1, n_players), base.reshape(-1) - terms.centre[0]
        frequencies = terms.rates.imag[:, 0]
        values, error = np.zeros((n_players, self.form.mixing.shape[2])), 0.0
        for each in range(terms.coefficients.shape[1]):
            weights = np.exp(1j * np.multiply.outer(starts, frequencies)) * terms.coefficients[:, each]
            sizes = np.abs(terms.coefficients[:, each])
            allowed = np.minimum(_QUADRATURE * sizes.mean() / np.maximum(sizes, 1e-300), 1.0)
            found, errors = values_of_many(games, frequencies, weights, allowed)
            mixing = self.form.mixing[:, each]
            values += np.einsum("run,uk->nk", found.reshape(n_rows, n_units, n_players), mixing) / n_rows
            errors += 2.0 * float((allowed * sizes).sum())
            error += float((errors.reshape(n_rows, n_units).mean(axis=0) @ np.abs(mixing)).max())
        return values, error

    def _one_by_one(self, samples: Sequence[int], terms: _Terms) -> tuple[FloatArray, FloatArray]:
        """The same, multiplying the factors of all players."""
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
                found = self._of_pairs(base[some], added[some], units[some], terms)
                if total is None:
                    total = np.zeros((len(samples), *found.shape[1:]))
                found.add_to(total, errors, owners[some])
        return np.zeros(0) if total is None else total / n_rows, errors / n_rows

    def _of_pairs(self, base: FloatArray, added: FloatArray, units: IntArray, terms: _Terms) -> _Weighted:
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
        return _Weighted(self.of_products(steps, tolerance=tolerance), weights, rounding + quadrature)

    def _of(self, sample: int) -> tuple[FloatArray, FloatArray]:
        """Projections of the reference rows (n_rows, H, r), and what players add (n_rows, n_players, H, r)."""
        d, n_units, r = self.form.weights.shape
        flat = self.form.weights.reshape(d, -1)
        empty, _ = self.points.linear_ends(sample)
        base = (empty @ flat).reshape(-1, n_units, r) + self.form.intercept
        added = self.points.added(sample, flat)
        return base, added.reshape(*added.shape[:2], n_units, r)
