"""Differential privacy for sums over rows: the Gaussian mechanism, calibrated exactly and split over the parties.

Neighbouring tables differ by one row that is added or removed. The noise is the least that gives (ε, δ) (Balle and
Wang, "Improving the Gaussian mechanism", 2018). Several releases compose exactly: Gaussian noise of σ₁ and σ₂ times
the sensitivity is as private as one release with `1/σ² = 1/σ₁² + 1/σ₂²`. Every party knows its own share of the
noise, so each adds enough for the others' shares to suffice without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.optimize
import scipy.special

from dcshap._machine import random_bits
from dcshap._typing import FloatArray
from dcshap.collaboration.moments import Moments
from dcshap.exceptions import InputError, PrivacyError

__all__ = ["DELTA", "MomentPrivacy", "delta_of", "gaussian_sigma"]

DELTA = 1e-6
SHARES = (0.05, 0.475, 0.475)  # of the privacy budget: counts, sums, products
CLEAR = 0.1  # association between rows of norm 1 at most and the target that is assumed where noise covers the real one


def delta_of(sigma: float, epsilon: float) -> float:
    """The δ at which Gaussian noise of `sigma` times the sensitivity is (ε, δ)-private."""
    low, high = -0.5 / sigma - epsilon * sigma, 0.5 / sigma - epsilon * sigma
    return float(scipy.special.ndtr(high) - np.exp(epsilon + scipy.special.log_ndtr(low)))


@lru_cache
def gaussian_sigma(epsilon: float, delta: float = DELTA) -> float:
    """The least noise, in units of the sensitivity, that is (ε, δ)-private."""
    if not (np.isfinite(epsilon) and epsilon > 0):
        raise InputError(f"`epsilon` must be a finite number above 0. Got {epsilon!r}.")
    if not 0 < delta < 1:
        raise InputError(f"`delta` must lie between 0 and 1. Got {delta!r}.")
    exponent = scipy.optimize.brentq(lambda x: delta_of(float(np.exp(x)), epsilon) - delta, -12.0, 25.0, xtol=1e-12)
    return float(np.exp(exponent))


@dataclass(frozen=True)
class MomentPrivacy:
    """How moments are made private.

    A row that is further than the radius from the origin, the schema's typical row, is pulled back to it. The radius
    is the root of the number of raw columns, about where rows lie: an encoded column has a spread of about 1.
    """

    epsilon: float
    n_parties: int
    n_columns: int  # raw columns
    n_responses: int  # K of the moments
    n_coordinates: int  # p of the moments
    classes: bool  # whether the target is a class; else a number from −1 to 1
    delta: float = DELTA

    @property
    def radius(self) -> float:
        """How far from the origin a row may be."""
        return float(np.sqrt(self.n_columns))

    def bounded(self, encoded: FloatArray) -> FloatArray:
        """Rows (n, p) in units of the radius, those beyond it pulled back: their moments are released."""
        norms = np.sqrt(np.sum(encoded**2, axis=1, keepdims=True))
        return np.asarray(encoded / np.maximum(norms, self.radius))

    @property
    def sigma(self) -> float:
        """Noise of the whole release, in units of its sensitivity."""
        return gaussian_sigma(self.epsilon, self.delta)

    @property
    def deviations(self) -> FloatArray:
        """Noise (3,) that protects an entry of the counts, the sums and the products.

        A row changes each of the three by a vector of bounded length: 1, 1, 1 for classes, √3, √2, 1 for a number.
        Entries above the diagonal of the products stand for two, and count as √2 of one.
        """
        lengths = np.array([1.0, 1.0, 1.0] if self.classes else [np.sqrt(3.0), np.sqrt(2.0), 1.0])
        return self.sigma * lengths / np.sqrt(SHARES)

    @property
    def total_deviations(self) -> FloatArray:
        """Noise (3,) in the sum over all parties: more than needed, since each must do without its own share."""
        return np.asarray(self.deviations * np.sqrt(self.n_parties / (self.n_parties - 1.0)))

    def noised(self, flat: FloatArray, rng: np.random.Generator | None = None) -> FloatArray:
        """A party's flat moments with its share of the noise, fresh from the operating system by default."""
        if self.n_parties < 2:
            raise InputError(f"The noise is split among at least 2 parties. Got {self.n_parties}.")
        rng = np.random.Generator(np.random.Philox(random_bits(128))) if rng is None else rng
        each = self.deviations / np.sqrt(self.n_parties - 1.0)
        K, p = self.n_responses, self.n_coordinates
        of_products = np.full((p, p), each[2] / np.sqrt(2.0))
        np.fill_diagonal(of_products, each[2])
        scale = np.concatenate(
            [np.full(K * (K + 1) // 2, each[0]), np.full(K * p, each[1]), of_products[np.triu_indices(p)]]
        )
        if scale.shape != flat.shape:
            raise InputError(
                f"Moments of {K} responses and {p} coordinates are {len(scale)} numbers. Got {flat.shape}."
            )
        return np.asarray(flat + scale * rng.standard_normal(len(flat)))

    def restored(self, total: Moments) -> Moments:
        """The noisy total in encoded coordinates again; refused where it is nothing but noise.

        A class whose count does not stand out of the noise counts as one that nobody has.
        """
        self.require_signal(total)
        responses = total.responses
        if total.classes:
            counts = np.diag(responses)  # no row is of two classes: what is off the diagonal is noise
            responses = np.diag(np.where(counts > 2.0 * self.total_deviations[0], counts, 0.0))
        return Moments(responses, total.sums * self.radius, total.products * self.radius**2, total.classes)

    def floor(self, n_rows: float) -> float:
        """Variance in encoded coordinates that noise may feign: the largest eigenvalue of that in the products."""
        return float(self.radius**2 * self._top / n_rows)

    @property
    def _top(self) -> float:
        off_diagonal = self.total_deviations[2] / np.sqrt(2.0)
        return float(2.0 * off_diagonal * np.sqrt(self.n_coordinates))

    def require_signal(self, total: Moments) -> None:
        """Refuse where the noise covers everything, with the number of rows that it would need."""
        n, p = total.n_rows, self.n_coordinates
        counts = int(np.sum(np.diag(total.responses) > 2.0 * self.total_deviations[0])) if self.classes else 2
        # Squared lengths, times n²: of the noise with what unrelated rows show by chance, and of what is there.
        noise = self.total_deviations[1] ** 2 * (self.n_responses - 1) * p
        noise += max(np.trace(total.products), 0.0) * self._response_variance(total)
        found = max(n, 1.0) ** 2 * self._association(total) if counts >= 2 and n > 0 else 0.0
        enough = noise * (1.0 + 2.0 * np.sqrt(2.0 / ((self.n_responses - 1) * p)))
        top = float(np.linalg.eigvalsh(total.covariance)[-1]) if n > 0 else 0.0
        if counts >= 2 and found > enough and top > self._top / n:
            return
        signal = max(found - noise, 0.0) / max(n, 1.0) ** 2
        needed = max(np.sqrt(enough / max(signal, CLEAR**2)), self._top * p / 2, 1.2 * n)
        raise PrivacyError(
            f"`epsilon={self.epsilon:g}` leaves nothing but noise in moments of {p} coordinates over {self.n_parties} "
            f"parties. About {_rounded_up(needed)} rows would be needed over all parties: raise `epsilon`, leave out "
            f"columns or categories, or bring more rows."
        )

    def _response_variance(self, total: Moments) -> float:
        """Variance of a row's responses, all classes together; at most 1."""
        if total.classes:
            return float(np.clip(1.0 - np.sum(total.shares**2), 0.0, 1.0))
        n = total.n_rows
        return float(np.clip(total.responses[1, 1] / n - (total.responses[0, 1] / n) ** 2, 0.0, 1.0))

    def _association(self, total: Moments) -> float:
        """Squared length of the covariance between responses and coordinates."""
        n, mean = total.n_rows, total.mean
        if total.classes:
            return float(np.sum((total.sums / n - np.diag(total.responses)[:, None] / n * mean) ** 2))
        return float(np.sum((total.sums[1] / n - total.responses[0, 1] / n * mean) ** 2))


def _rounded_up(number: float) -> int:
    """A count with two leading digits."""
    step = 10 ** max(int(np.floor(np.log10(max(number, 1.0)))) - 1, 0)
    return int(np.ceil(number / step) * step)
