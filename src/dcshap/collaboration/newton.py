"""Newton rounds of ridge logistic regression, whose sums over rows the parties add up securely.

In each round every party computes its gradient and curvature at the current coefficients; everybody computes the
same next coefficients from the total. The start needs no round: linear discriminant analysis follows from the moments.
Two classes have one logit; more have one each, as scikit-learn's, and the penalty, half the
squared weights, is scikit-learn's at C = 1, so the rounds end where its model of the pooled rows would.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy.linalg
import scipy.special

from dcshap._typing import FloatArray
from dcshap.collaboration.moments import Moments, packed, unpacked
from dcshap.exceptions import InputError, ProtocolError

__all__ = ["RIDGE", "ROUNDS", "Logits"]

RIDGE = 1.0  # half of it times the squared weights is added to the summed loss
ROUNDS = 3
EXACT = 512  # with more coefficients than this (and three classes or more), curvature between classes is left out
START = 3.0  # how far from their mean logits may be at the start, root mean square over the rows
STEP = 1.4  # how far one round may move them
LIFT = 3.0  # how far one round may move the intercept
EVEN = 1e-9  # of the rows: keeps logits that rise together for all classes from moving


@dataclass(frozen=True)
class Logits:
    """Coefficients on the way to those of logistic regression."""

    weights: FloatArray  # (L, p), one row for two classes (the logit of the second), else one row per class
    intercept: FloatArray  # (L,)
    center: FloatArray  # (p,), the mean row, subtracted from rows before the weights are applied
    covariance: FloatArray  # (p, p), of the rows; it tells how far a step moves the logits

    @classmethod
    def first(cls, moments: Moments, *, ridge: float = RIDGE) -> Self:
        """Where the rounds begin: linear discriminant analysis of all parties' moments; every class must have rows.

        Where classes lie far apart, discriminant analysis is far too sure of itself, and is toned down.
        """
        shares = moments.shares
        if not moments.classes or len(shares) < 2 or not np.all(shares > 0):
            raise InputError("Newton rounds need the moments of at least two classes, each with rows.")
        away = moments.sums / np.diag(moments.responses)[:, None] - moments.mean  # of the class means from the mean
        within = moments.covariance - (away.T * shares) @ away
        penalty = 4.0 * ridge / moments.n_rows  # the curvature of the loss is at most a quarter
        weights = _solved(within + penalty * np.eye(len(within)), away.T).T
        heights = -0.5 * np.einsum("kp,kp->k", weights, away)
        logs = np.log(shares)
        if len(shares) == 2:
            weights, heights, logs = np.diff(weights, axis=0), np.diff(heights), np.diff(logs)
        else:  # what all logits have in common changes nothing
            weights, heights, logs = weights - weights.mean(axis=0), heights - heights.mean(), logs - logs.mean()
        far = _moved(weights, moments.covariance)
        tone = min(1.0, START / max(far, 1e-300))
        return cls(tone * weights, logs + tone * heights, moments.mean, moments.covariance)

    # --- a round --------------------------------------------------------------------------------------------

    @property
    def exact(self) -> bool:
        """Whether a round sums the whole curvature, or one block per class, which bounds it from above."""
        n_logits, p = self.weights.shape
        return bool(n_logits == 1 or n_logits * (p + 1) <= EXACT)

    @property
    def n_summed(self) -> int:
        """How many numbers a party adds to a round."""
        n_logits, size = self.weights.shape[0], self.weights.shape[1] + 1
        whole = n_logits * size
        return int(1 + whole + (whole * (whole + 1) // 2 if self.exact else n_logits * size * (size + 1) // 2))

    def contribution(
        self, chunks: Iterable[FloatArray], responses: FloatArray, weights: FloatArray | None = None
    ) -> FloatArray:
        """A party's part of a round: its rows' count, gradient and curvature in one vector (n_summed,).

        `chunks` are the party's encoded rows (n, p), some at a time, `responses` their indicators (n, K), `weights`
        how often each row counts (n,).
        """
        roots = np.ones(len(responses)) if weights is None else np.sqrt(weights)
        n_logits, size = self.weights.shape[0], self.weights.shape[1] + 1
        gradient = np.zeros((n_logits, size))
        curvature = np.zeros((n_logits * size,) * 2 if self.exact else (n_logits, size, size))
        start = 0
        for rows in chunks:
            here = slice(start, start + len(rows))
            start += len(rows)
            extended = np.concatenate([np.ones((len(rows), 1)), rows - self.center], axis=1) * roots[here, None]
            chances = self.chances(rows)
            kept = slice(1, None) if n_logits == 1 else slice(None)
            gradient += ((chances - responses[here]) * roots[here, None])[:, kept].T @ extended
            curvature += self._curvature(extended, chances[:, kept])
        upper = packed(curvature) if self.exact else np.concatenate([packed(block) for block in curvature])
        return np.concatenate([[float(np.sum(roots**2))], gradient.ravel(), upper])

    def updated(self, total: FloatArray, *, ridge: float = RIDGE) -> Self:
        """The next coefficients, from the sum of all parties' contributions."""
        n_logits, size = self.weights.shape[0], self.weights.shape[1] + 1
        if total.shape != (self.n_summed,):
            raise ProtocolError(f"A Newton round sums {self.n_summed} numbers. Got shape {total.shape}.")
        gradient = total[1 : 1 + n_logits * size].reshape(n_logits, size)
        upper = total[1 + n_logits * size :]
        if self.exact:
            curvature = unpacked(upper, n_logits * size)
        else:
            curvature = np.stack([unpacked(block, size) for block in np.split(upper, n_logits)])
        return self._stepped(gradient, curvature, float(total[0]), ridge)

    def chances(self, rows: FloatArray) -> FloatArray:
        """Class probabilities (n, K) of encoded rows (n, p)."""
        logits = (rows - self.center) @ self.weights.T + self.intercept
        if len(self.weights) == 1:
            second = scipy.special.expit(logits)
            return np.concatenate([1.0 - second, second], axis=1)
        chances: FloatArray = scipy.special.softmax(logits, axis=1)
        return chances

    def _curvature(self, extended: FloatArray, chances: FloatArray) -> FloatArray:
        if not self.exact:
            slopes = 2.0 * chances * (1.0 - chances)  # diag(c) − ccᵀ is at most this
            return np.stack([(extended * slope[:, None]).T @ extended for slope in slopes.T])
        n_logits, size = chances.shape[1], extended.shape[1]
        blocks = np.empty((n_logits, size, n_logits, size))
        for a in range(n_logits):
            for b in range(a + 1):
                slope = chances[:, a] * ((a == b) - chances[:, b])
                blocks[a, :, b, :] = blocks[b, :, a, :] = (extended * slope[:, None]).T @ extended
        return blocks.reshape(n_logits * size, n_logits * size)

    def _stepped(self, gradient: FloatArray, curvature: FloatArray, n: float, ridge: float) -> Self:
        n_logits, size = gradient.shape
        penalty = np.full(size, ridge)
        penalty[0] = EVEN * n
        pull = gradient + np.concatenate([np.zeros((n_logits, 1)), ridge * self.weights], axis=1)
        if self.exact:
            bent = curvature + np.diag(np.tile(penalty, n_logits))
            step = -_solved(bent, pull.ravel()).reshape(n_logits, size)
        else:
            step = -np.stack([_solved(b + np.diag(penalty), g) for b, g in zip(curvature, pull, strict=True)])
            step -= step.mean(axis=0)  # logits that rise together change nothing
        # Where a class is rare or rows are heavy-tailed, full steps may overshoot, and end in a cycle.
        far = max(_moved(step[:, 1:], self.covariance) / STEP, float(np.abs(step[:, 0]).max()) / LIFT, 1.0)
        step /= far
        return replace(self, weights=self.weights + step[:, 1:], intercept=self.intercept + step[:, 0])


def _moved(weights: FloatArray, covariance: FloatArray) -> float:
    """How far weights (L, p) move the logits: root mean square over the rows, of the logit that moves most."""
    squares = np.einsum("lp,pq,lq->l", weights, covariance, weights)
    return float(np.sqrt(max(squares.max(), 0.0)))


def _solved(symmetric: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a system that noise or rounding may have left not quite positive: small eigenvalues are raised."""
    values, vectors = scipy.linalg.eigh(symmetric)
    raised = np.maximum(values, 1e-10 * max(values[-1], 1e-300))
    projected = vectors.T @ right
    return np.asarray(vectors @ (projected / (raised if right.ndim == 1 else raised[:, None])))
