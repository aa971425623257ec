"""Shapley values and their standard errors from a part of the coalitions.

The odd part of the game gets the Gaussian process prior of `odd_kernel`. Its few constants and one relevance per player
are those under which the evaluated coalitions are likeliest; given them, the Shapley values' posterior is normal, its
mean linear in the evaluations. The grand coalition is among these, which makes the mean efficient. Interactions that
stand out of the process (`trend`) are a part of its mean, with coefficients of their own.

The cost of a process is cubic in its observations, so it takes in `MAX_PROCESS` pairs. Those beyond correct it by a
regression on its errors of prediction, weighted such that more pairs lead to the Shapley values whatever the game is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack
from scipy.optimize import minimize

from dcshap._typing import BoolArray, FloatArray
from dcshap.shapley.sampled.odd_kernel import OddKernel
from dcshap.shapley.sampled.trend import Trend, standing_out

__all__ = ["MAX_PROCESS", "Posterior", "shapley_posterior", "suited_kernel"]

MAX_PROCESS = 4096  # pairs: about two seconds, and 700 MB at the most for a few matrices
MAX_SEARCHED = 2048  # pairs among which a trend is looked for, which costs more than the process
# Pairs that the kernel is chosen by: 192, five for each player, or a quarter of them up to 600, whichever is most.
MIN_FIT, FIT_PER_PLAYER, MAX_QUARTER = 192, 5, 600
FIT_ITERATIONS = 10  # more gain nothing

# Logarithms of: weight of single players, nugget, common relevance times m. Weak normal priors with these means keep
# them from drifting where the evaluations say nothing. A player's relevance is log-normal about the common one, which
# lets players that hardly matter be told from the others and holds the relevances together where pairs are few.
# The lower bounds of the nugget and of a player's relevance are for games of few different values, such as votes: a
# small part of them may be fitted without error, and would make standard errors too small.
PRIOR_MEANS = np.array([1.0, -4.0, 0.7])
PRIOR_PRECISION, RELEVANCE_PRECISION = 0.05, 2.0
BOUNDS = [(-8.0, 12.0), (-7.0, 4.0), (-4.0, 5.0)]
RELEVANCE_BOUNDS = (-4.0, 4.0)


@dataclass(frozen=True)
class Posterior:
    """What is known about the Shapley values of every output."""

    mean: FloatArray  # (m, n_outputs)
    variance: FloatArray  # (m, n_outputs)


def shapley_posterior(
    s: FloatArray, odd: FloatArray, rng: np.random.Generator, *, blind: BoolArray, rounding: FloatArray
) -> Posterior:
    """The posterior given evaluated pairs.

    Parameters
    ----------
    s : array of shape (n, m)
        One coalition of each pair as signs; the grand coalition is the first.
    odd : array of shape (n, n_outputs)
        Half the difference between the coalition's value and its complement's; no output may be 0 throughout.
    rng : numpy.random.Generator
        Chooses the pairs for the process, and among them those for its kernel, where there are more than needed.
    blind : array of bool of shape (n,)
        Which pairs were drawn without regard to values. They come first where a kernel is chosen: pairs that are
        surprising by choice would make the game look rougher than it is.
    rounding : array of shape (n_outputs,)
        How much of `odd` may be rounding in the model.
    """
    others = 1 + rng.permutation(len(s) - 1)
    order = np.concatenate([[0], others[blind[others]], others[~blind[others]]])
    s, odd = s[order], odd[order]
    first, values = s[:MAX_PROCESS], odd[:MAX_PROCESS]
    kernel = suited_kernel(first, values)
    searched, searched_values = first[:MAX_SEARCHED], values[:MAX_SEARCHED]
    factor = _factor(kernel, searched)
    trend = standing_out(searched, searched_values, factor, kernel.relevance)
    if trend is not None:
        solution = trend.solution(s, odd, rounding)
        if solution is not None:
            return Posterior(solution, np.zeros_like(solution))
        # What the trend leaves is another game.
        coefficients = _coefficients(factor, trend.products(searched), searched_values)
        kernel = suited_kernel(first, values - trend.products(first) @ coefficients)
    if trend is not None or len(searched) < len(first):
        factor = _factor(kernel, first)
    process = _Process.given(kernel, factor, first, values, trend)
    if len(s) <= MAX_PROCESS:
        variance = np.multiply.outer(process.covariance.diagonal(), process.scale)
        return Posterior(process.mean, variance)
    return _corrected(process, s[MAX_PROCESS:], odd[MAX_PROCESS:])


def _factor(kernel: OddKernel, s: FloatArray) -> tuple[FloatArray, bool]:
    """The Cholesky factor of the covariance of observations."""
    covariance = kernel.smooth(s, s)
    covariance[np.diag_indices(len(s))] += kernel.nugget
    factor: tuple[FloatArray, bool] = cho_factor(covariance, lower=True, overwrite_a=True)
    return factor


def _coefficients(factor: tuple[FloatArray, bool], products: FloatArray, odd: FloatArray) -> FloatArray:
    """Those of a trend, given its products (n, p): generalised least squares."""
    solved = cho_solve(factor, products)
    return np.asarray(np.linalg.solve(products.T @ solved, solved.T @ odd))


@dataclass(frozen=True)
class _Process:
    """A process given observations: a trend, if there is one, and `scale` times a unit process for every output."""

    kernel: OddKernel
    s: FloatArray  # (n, m)
    trend: Trend | None
    coefficients: FloatArray  # (p, n_outputs), of the trend
    alpha: FloatArray  # (n, n_outputs), K⁻¹ (odd − trend)
    scale: FloatArray  # (n_outputs,)
    mean: FloatArray  # (m, n_outputs), of the Shapley values
    covariance: FloatArray  # (m, m), of the Shapley values of the unit process

    @classmethod
    def given(
        cls,
        kernel: OddKernel,
        factor: tuple[FloatArray, bool],
        s: FloatArray,
        odd: FloatArray,
        trend: Trend | None,
    ) -> _Process:
        """The process of a kernel; nothing is known of a trend's coefficients beforehand."""
        n, m = s.shape
        products = np.empty((n, 0)) if trend is None else trend.products(s)
        values = np.empty((m, 0)) if trend is None else trend.values()
        solved = cho_solve(factor, products)
        information = products.T @ solved
        coefficients = np.linalg.solve(information, solved.T @ odd)
        alpha = cho_solve(factor, odd) - solved @ coefficients
        cross = kernel.with_values(s)
        unexplained = values - cross.T @ solved  # of the trend's values by the process
        covariance = kernel.of_values() - cross.T @ cho_solve(factor, cross)
        # The same observations chose the kernel, and look the likelier for it.
        n_fit, n_chosen = _n_fit(s), len(PRIOR_MEANS) + m
        return cls(
            kernel=kernel,
            s=s,
            trend=trend,
            coefficients=coefficients,
            alpha=alpha,
            scale=np.einsum("nk,nk->k", odd, alpha) / (n - products.shape[1]) * (1.0 + n_chosen / n_fit),
            mean=values @ coefficients + cross.T @ alpha,
            covariance=covariance + unexplained @ np.linalg.solve(information, unexplained.T),
        )

    def predict(self, s: FloatArray) -> FloatArray:
        """Expected `o` of coalitions that were not observed."""
        starts = range(0, len(s), MAX_PROCESS)
        smooth = np.concatenate([self.kernel.smooth(s[at : at + MAX_PROCESS], self.s) @ self.alpha for at in starts])
        return smooth if self.trend is None else smooth + self.trend.products(s) @ self.coefficients


def suited_kernel(s: FloatArray, odd: FloatArray) -> OddKernel:
    """The kernel that suits the first of the observations, given as in `shapley_posterior`."""
    return _likeliest_kernel(s[: _n_fit(s)], odd[: _n_fit(s)])


def _n_fit(s: FloatArray) -> int:
    n, m = len(s), int(s.shape[1])
    return min(max(MIN_FIT, FIT_PER_PLAYER * m, min(n // 4, MAX_QUARTER)), n)


def _likeliest_kernel(s: FloatArray, odd: FloatArray) -> OddKernel:
    """The kernel of the largest posterior density, the outputs' scales aside."""
    n_players = s.shape[1]
    start = np.concatenate([PRIOR_MEANS, np.zeros(n_players)])
    odd = odd[:, odd.any(axis=0)]  # outputs that only later observations tell of say nothing of the kernel
    if not odd.shape[1]:
        return _kernel(start)
    odd = odd / np.sqrt((odd**2).mean(axis=0))
    found = minimize(
        _loss,
        start,
        args=(s, odd),
        jac=True,
        method="L-BFGS-B",
        bounds=BOUNDS + [RELEVANCE_BOUNDS] * n_players,
        options={"maxiter": FIT_ITERATIONS},
    )
    return _kernel(found.x)


def _kernel(parameters: FloatArray) -> OddKernel:
    linear, nugget, common = np.exp(parameters[:3])
    own = np.exp(parameters[3:])
    return OddKernel(linear=float(linear), nugget=float(nugget), relevance=common / len(own) * own)


def _loss(parameters: FloatArray, s: FloatArray, odd: FloatArray) -> tuple[float, FloatArray]:
    """Minus the logarithm of the posterior density, and its gradient.

    Each output's scale takes its likeliest value. The outputs' likelihoods are averaged, not multiplied: those of a
    classifier determine each other.
    """
    kernel = _kernel(parameters)
    total = kernel.relevance.sum()
    inner = (s * kernel.relevance) @ s.T
    rising, falling = np.exp(inner - total), np.exp(-inner - total)
    norm = -np.expm1(-2.0 * total)
    single, smooth = inner / total, (rising - falling) / norm
    covariance = kernel.linear * single + smooth
    covariance[np.diag_indices(len(s))] += kernel.nugget
    loss, slope = _likelihood(covariance, odd)

    gradient = np.zeros_like(parameters)
    gradient[0] = kernel.linear * np.vdot(slope, single)
    gradient[1] = kernel.nugget * np.trace(slope)
    per_product = slope * ((rising + falling) / norm + kernel.linear / total)  # of the products s_i t_i
    common = np.vdot(slope, smooth) / np.tanh(total) + kernel.linear / total * np.vdot(slope, single)
    by_relevance = (np.einsum("ni,ni->i", s, per_product @ s) - common) * kernel.relevance
    gradient[2], gradient[3:] = by_relevance.sum(), by_relevance

    off_prior = parameters - np.concatenate([PRIOR_MEANS, np.zeros(len(parameters) - 3)])
    precision = np.full(len(parameters), RELEVANCE_PRECISION)
    precision[:3] = PRIOR_PRECISION
    return loss + 0.5 * float(precision @ off_prior**2), gradient + precision * off_prior


def _likelihood(covariance: FloatArray, odd: FloatArray) -> tuple[float, FloatArray]:
    """Minus the logarithm of the likelihood, and its derivative by the covariance."""
    n, n_outputs = odd.shape
    # Symmetric, hence its own transpose, which LAPACK takes without a copy.
    factor, _ = lapack.dpotrf(covariance.T, lower=1)
    half, _ = lapack.dpotri(factor, lower=1)  # the inverse's lower triangle, zeros above
    inverse = half + half.T
    inverse[np.diag_indices(n)] = half.diagonal()
    alpha = inverse @ odd
    misfit = np.einsum("nk,nk->k", odd, alpha)
    loss = 0.5 * n * np.log(misfit / n).mean() + np.log(factor.diagonal()).sum()
    return float(loss), 0.5 * (inverse - (alpha * (n / n_outputs / misfit)) @ alpha.T)


def _corrected(process: _Process, s: FloatArray, odd: FloatArray) -> Posterior:
    """The process's posterior, updated by pairs that it has not seen.

    What it leaves unexplained is taken for an additive game, with the posterior as its prior, and noise.
    """
    m = s.shape[1]
    error = odd - process.predict(s)
    # The Shapley value is a regression with weights 1 / (C(m, size) size (m − size)). Each coalition that was drawn
    # stands for as many of its size as there are for each one drawn.
    inside = np.rint((m + s.sum(axis=1)) / 2.0).astype(np.int64)
    noise = np.bincount(inside)[inside] * inside * (m - inside) * np.where(2 * inside == m, 2.0, 1.0)
    noise = noise / noise.mean()
    level = (error**2 / noise[:, None]).mean(axis=0)

    # An orthonormal basis of the changes that leave the sum of values alone.
    basis = np.linalg.qr(np.column_stack([np.ones(m), np.eye(m)[:, 1:]]))[0][:, 1:]
    design = 0.5 * s @ basis
    weighted = design / noise[:, None]
    information, pull = weighted.T @ design, weighted.T @ error
    prior = basis.T @ process.covariance @ basis
    mean, variance = process.mean.copy(), np.empty_like(process.mean)
    for k, (scale, noise_level) in enumerate(zip(process.scale, level, strict=True)):
        # (prior⁻¹ / scale + information / level)⁻¹, without an inverse of the prior, which may be close to singular
        gain = np.linalg.solve(noise_level * np.eye(m - 1) + scale * prior @ information, scale * prior)
        mean[:, k] += basis @ (gain @ pull[:, k])
        variance[:, k] = np.einsum("ij,jk,ik->i", basis, gain * noise_level, basis)
    return Posterior(mean, variance)
