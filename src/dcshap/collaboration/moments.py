"""Class counts, class sums and second moments of encoded rows, as one flat vector that can be summed securely.

A label becomes a row of *responses*: one indicator per class, or 1 and the number itself where the target is a
number. With responses R (n, K) and encoded rows X (n, p), everything that the common span needs at first is in
`RᵀR`, `RᵀX` and `XᵀX`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dcshap._typing import Array, FloatArray
from dcshap.exceptions import InputError

__all__ = ["Moments", "class_responses", "number_responses", "packed", "unpacked"]


def class_responses(labels: Array, classes: Sequence[Any] | Array) -> FloatArray:
    """Indicators (n, K) of the agreed classes, some of which a party may not have."""
    indicators = np.asarray(labels)[:, None] == np.asarray(classes)[None, :]
    unknown = int(np.sum(~indicators.any(axis=1)))
    if unknown:
        raise InputError(f"Labels must be of the {len(classes)} agreed classes. {unknown} of {len(labels)} are not.")
    return np.asarray(indicators, dtype=np.float64)


def number_responses(target: Array, *, low: float, high: float) -> FloatArray:
    """Ones, and the target scaled from its agreed range to −1 … 1 and clipped there: (n, 2)."""
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise InputError("A target's agreed range must be finite, with low < high.")
    scaled = np.clip((np.asarray(target, dtype=np.float64) - low) * (2.0 / (high - low)) - 1.0, -1.0, 1.0)
    return np.stack([np.ones(len(scaled)), scaled], axis=1)


@dataclass(frozen=True)
class Moments:
    """Sums over rows, of one party or of all."""

    # (K, K), `RᵀR`: class counts on the diagonal, or the count, sum and sum of squares of a numeric target.
    responses: FloatArray
    sums: FloatArray  # (K, p), `RᵀX`: class sums, or the sums and the sums with the target
    products: FloatArray  # (p, p), `XᵀX`
    classes: bool  # whether the target is a class

    @classmethod
    def of(
        cls, chunks: Iterable[FloatArray], responses: FloatArray, *, classes: bool, weights: FloatArray | None = None
    ) -> Moments:
        """The moments of rows (n, p) that come some at a time, with responses (n, K); a row may count several times."""
        roots = None if weights is None else np.sqrt(weights)[:, None]
        responses = responses if roots is None else roots * responses
        sums: FloatArray | None = None
        products: FloatArray = np.zeros((0, 0))
        start = 0
        for rows in chunks:
            here = slice(start, start + len(rows))
            start += len(rows)
            if start > len(responses):
                break
            counted = rows if roots is None else roots[here] * rows
            products = counted.T @ counted if sums is None else products + counted.T @ counted
            sums = responses[here].T @ counted if sums is None else sums + responses[here].T @ counted
        if start != len(responses):
            raise InputError(f"Every row needs one response. Got {len(responses)} responses for other rows.")
        if sums is None:
            raise InputError("Moments need at least one row. Got none.")
        return cls(responses.T @ responses, sums, products, classes)

    @classmethod
    def from_flat(cls, flat: FloatArray, *, n_responses: int, n_coordinates: int, classes: bool) -> Moments:
        """The moments that `flat` wrote, or the sum of several of them."""
        K, p = n_responses, n_coordinates
        ends = np.cumsum([K * (K + 1) // 2, K * p, p * (p + 1) // 2])
        if flat.shape != (ends[-1],):
            raise InputError(f"Moments of {K} responses and {p} coordinates are {ends[-1]} numbers. Got {flat.shape}.")
        between, sums, products = np.split(flat, ends[:-1])
        return cls(unpacked(between, K), sums.reshape(K, p), unpacked(products, p), classes)

    def flat(self) -> FloatArray:
        """One vector: the upper triangle of `RᵀR`, the rows of `RᵀX`, the upper triangle of `XᵀX`."""
        return np.concatenate([packed(self.responses), self.sums.ravel(), packed(self.products)])

    # --- what they say --------------------------------------------------------------------------------------

    @property
    def n_rows(self) -> float:
        """How many rows there are; not a whole number where noise was added, or rows have weights."""
        return float(np.trace(self.responses) if self.classes else self.responses[0, 0])

    @property
    def shares(self) -> FloatArray:
        """The share (K,) of each class."""
        counts = np.diag(self.responses)
        return np.asarray(counts / counts.sum())

    @property
    def mean(self) -> FloatArray:
        """The mean row (p,)."""
        return np.asarray((self.sums.sum(axis=0) if self.classes else self.sums[0]) / self.n_rows)

    @property
    def covariance(self) -> FloatArray:
        """The covariance (p, p) of the rows, all classes together."""
        return np.asarray(self.products / self.n_rows - np.outer(self.mean, self.mean))

    @property
    def association(self) -> FloatArray:
        """Covariance (K, p) of each class's indicator, over the root of its share, with the coordinates.

        For a number one row, of the target over its spread. `association @ Σ⁻¹ᐟ²` has the canonical correlations as
        its singular values; its right singular vectors span what Fisher's discriminant spans, leading ones first.
        """
        n, mean = self.n_rows, self.mean
        if self.classes:
            shares = self.shares
            return np.asarray((self.sums / n - shares[:, None] * mean) / np.sqrt(shares)[:, None])
        average = self.responses[0, 1] / n
        variance = self.responses[1, 1] / n - average**2
        spread = np.sqrt(variance) if variance > 1e-12 else 1.0  # a constant target is associated with nothing
        return np.asarray((self.sums[1:] / n - average * mean) / spread)

    def present(self) -> Moments:
        """Without classes that have no rows."""
        if not self.classes:
            return self
        kept = np.flatnonzero(np.diag(self.responses) > 0)
        return replace(self, responses=self.responses[np.ix_(kept, kept)], sums=self.sums[kept])


def packed(symmetric: FloatArray) -> FloatArray:
    """The upper triangle of a symmetric matrix (k, k), row by row."""
    return symmetric[np.triu_indices(len(symmetric))]


def unpacked(upper: FloatArray, size: int) -> FloatArray:
    """The symmetric matrix (size, size) with a given upper triangle."""
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size)] = upper
    return np.asarray(matrix + np.triu(matrix, 1).T)
