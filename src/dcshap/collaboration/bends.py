"""Directions in which the classes bend: where logistic regression errs, and a model that bends would not.

Trees and neighbours use what columns do to each other, and the weights of logistic regression know nothing of it. What
they miss is in its residuals r: with whitened rows x, `Σ r x xᵀ` is zero on average where the regression is right, and
its leading directions are those along which the classes curve or columns interact (principal Hessian directions, Li
1992, of residuals, Cook 1998). Its sums are added up under masks, like those of a Newton round.

In a few hundred rows such a matrix is mostly noise, and a direction that is noise costs small tables accuracy. So rows
fall into two halves by a hash of themselves: each half proposes directions, the other half tests them (a second, short
sum), and as many are taken as both halves confirm. On most tables that is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.stats

from dcshap._typing import FloatArray
from dcshap.collaboration.moments import packed, unpacked
from dcshap.collaboration.newton import Logits
from dcshap.collaboration.randomness import stream
from dcshap.exceptions import ProtocolError

__all__ = ["Bends", "Held"]

LEVEL = 0.01  # how often chance alone may confirm a direction in one half
DAMPING = 0.1  # of the mean variance, added to every direction's before rows are whitened
NEGLIGIBLE = 1e-9  # of the largest variance: rounding

Halves = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class Held:
    """A party's rows, to be summed over once."""

    chunks: Iterable[FloatArray]  # (n_i, p), the encoded rows, some at a time
    responses: FloatArray  # (n, K), the indicators of their classes
    weights: FloatArray | None = None  # (n,), how often each row counts


@dataclass(frozen=True)
class Bends:
    """What parties sum up to find the bending directions beside logistic regression's."""

    logits: Logits  # the regression, after its last round
    # (p, s), encoded coordinates to those in which bends are looked for: one for a number, even where it has knots.
    straight: FloatArray
    # A name for each of the p coordinates, by which rows fall into halves whatever the order of columns.
    names: Sequence[str]
    most: int  # how many directions are wanted at most

    # --- the first sum: how residuals curve -----------------------------------------------------------------

    @property
    def n_summed(self) -> int:
        """How many numbers a party adds to the first sum."""
        size = self._whitening.shape[1]
        return int(len(self.logits.weights) * size * (size + 1))

    def curvature(self, held: Held) -> FloatArray:
        """A party's `Σ r x xᵀ` of each logit, over each half of its rows, in one vector (n_summed,)."""
        size = self._whitening.shape[1]
        sums = np.zeros((2, len(self.logits.weights), size, size))
        for points, residuals, counts, second in self._rows(held):
            for half, own in enumerate((~second, second)):
                for logit, each in enumerate(residuals[own].T):
                    sums[half, logit] += (points[own] * (counts[own] * each)[:, None]).T @ points[own]
        return np.concatenate([packed(matrix) for half in sums for matrix in half] or [np.zeros(0)])

    def proposals(self, total: FloatArray) -> tuple[Halves, Halves]:
        """Directions (s', m) that each half proposes, and the partners (L, s', m) that they bend together with.

        Directions that predict already are left out, but may be partners: a column that acts by itself may also change
        what another does.
        """
        if total.shape != (self.n_summed,):
            raise ProtocolError(f"The sum of residuals has {self.n_summed} numbers. Got shape {total.shape}.")
        size, n_logits = self._whitening.shape[1], len(self.logits.weights)
        if not size:
            return (np.zeros((0, 0)),) * 2, (np.zeros((n_logits, 0, 0)),) * 2
        matrices = np.stack([unpacked(each, size) for each in np.split(total, 2 * n_logits)])
        found = [self._proposed(half) for half in np.split(matrices, 2)]
        return (found[0][0], found[1][0]), (found[0][1], found[1][1])

    def _proposed(self, matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
        apart = self._unpredicted
        seen = apart.T @ sum(matrix @ matrix for matrix in matrices) @ apart
        _, axes = scipy.linalg.eigh(seen)
        directions = apart @ axes[:, ::-1][:, : self.most]
        partners = matrices @ directions
        sizes = np.linalg.norm(partners, axis=1, keepdims=True)
        return directions, partners / np.maximum(sizes, 1e-300)

    # --- the second sum: does the other half agree ----------------------------------------------------------

    def checks(self, held: Held, total: FloatArray) -> FloatArray:
        """A party's sums, and sums of squares, of `r (vᵀx)(wᵀx)` for what the other half proposed, in one vector."""
        directions, partners = self.proposals(total)
        sums = np.zeros((2, 2, len(self.logits.weights), directions[0].shape[1]))
        for points, residuals, counts, second in self._rows(held):
            for half, other in enumerate((second, ~second)):  # what the first half proposed is asked of the second
                along = points[other] @ directions[half]
                for logit, each in enumerate(residuals[other].T):
                    products = each[:, None] * along * (points[other] @ partners[half][logit])
                    sums[half, :, logit] += counts[other] @ products, counts[other] @ products**2
        return sums.ravel()

    def directions(self, total: FloatArray, checked: FloatArray) -> FloatArray:
        """The directions (p, m) that the halves confirm, in encoded coordinates; m may be 0."""
        directions, _ = self.proposals(total)
        shape = (2, 2, len(self.logits.weights), directions[0].shape[1])
        if checked.shape != (np.prod(shape),):
            raise ProtocolError(f"The check of bends sums {np.prod(shape)} numbers. Got shape {checked.shape}.")
        sums = checked.reshape(shape)
        scores = (sums[:, 0] ** 2 / np.maximum(sums[:, 1], 1e-300)).sum(axis=1)
        limit = scipy.stats.chi2.isf(LEVEL, self._n_independent)
        confirmed = [half[:, score > limit] for half, score in zip(directions, scores, strict=True)]
        n = sum(half.shape[1] for half in confirmed) // 2
        together = np.concatenate(confirmed, axis=1)
        left, _, _ = np.linalg.svd(together, full_matrices=False)
        return np.asarray(self._whitening @ left[:, :n])

    # --- both -----------------------------------------------------------------------------------------------

    @property
    def _n_independent(self) -> int:
        """How many logits are independent: those of K classes, and their residuals, add up to nothing."""
        return max(len(self.logits.weights) - 1, 1)

    @cached_property
    def _whitening(self) -> FloatArray:
        """Centred rows (p,) to whitened ones (s',); of no width where there is no direction to be found."""
        covariance = self.straight.T @ self.logits.covariance @ self.straight
        variances, axes = scipy.linalg.eigh(covariance)
        kept = variances > max(NEGLIGIBLE * variances[-1], 1e-300)
        if self.most < 1 or kept.sum() <= self._n_independent:
            return np.zeros((len(self.straight), 0))
        damped = variances[kept] + DAMPING * variances.sum() / len(variances)
        return np.asarray(self.straight @ (axes[:, kept] / np.sqrt(damped)))

    @cached_property
    def _unpredicted(self) -> FloatArray:
        """A basis (s', k) of the whitened directions that do not correlate with the logits."""
        along = self._whitening.T @ self.logits.covariance @ self.logits.weights.T
        left, _, _ = np.linalg.svd(along)
        return np.asarray(left[:, self._n_independent :])

    def _rows(self, held: Held) -> Iterator[tuple[FloatArray, FloatArray, FloatArray, npt.NDArray[np.bool_]]]:
        """Whitened rows, residuals of each logit, how often rows count, and whether they are of the second half."""
        keys = np.array([stream(0, "halves", name).integers(2**63) for name in self.names], dtype=np.uint64)
        start = 0
        for rows in held.chunks:
            these = slice(start, start + len(rows))
            start += len(rows)
            residuals = held.responses[these] - self.logits.chances(rows)
            counts = np.ones(len(rows)) if held.weights is None else held.weights[these]
            hashes = np.ascontiguousarray(rows).view(np.uint64) @ (2 * keys + np.uint64(1))
            kept = slice(1, None) if len(self.logits.weights) == 1 else slice(None)
            points = (rows - self.logits.center) @ self._whitening
            yield points, residuals[:, kept], counts, hashes >= np.uint64(2**63)
