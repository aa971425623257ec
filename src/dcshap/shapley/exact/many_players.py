"""Shapley values of functions of one projection for many players and reference rows, mostly by matrix products.

In a sum of products `v(S) = Re Σ_m c_m Π_{k∈S} exp(i ω_m d_k)` a player counts only through what it adds, `d`. With
nodes `t` and weights `w` on [0, 1] and the product of all factors `P_mt = Π_k (1 + t (exp(i ω_m d_k) − 1))`::

    φ_i = H(d_i),   H(d) = Re Σ_m Σ_t w_t c_m P_mt A_mt(d),   A_mt(d) = (exp(i ω_m d) − 1) / (1 + t (exp(i ω_m d) − 1))

`H` is smooth, and so are the summands of `log P_mt = Σ_k log(1 + t (exp(i ω_m d_k) − 1))`: polynomials through
Chebyshev points follow both. What is needed at the points is the same for all reference rows. The few players that add
more than polynomials can follow are multiplied in one by one; nothing is divided by a factor that may be 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dcshap._typing import BoolArray, FloatArray
from dcshap.shapley.exact.products import Quadrature, Spread, half_rule
from dcshap.shapley.game.forms import ComplexArray

__all__ = ["is_worth_it", "values_of_many"]

N_POINTS = 64
_FEWEST_PLAYERS, _FEWEST_FACTORS = 450, 1 << 14  # below, `harmonics` is as fast
_EXPECTED = 1e-14  # error of the polynomials for which their reach is chosen, relative to the largest weight
_AT_ONCE = 1 << 21  # numbers
_UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2


def is_worth_it(n_rows: int, n_players: int) -> bool:
    """Whether so many players in so many games are solved faster in this way."""
    return n_players >= _FEWEST_PLAYERS and n_rows * n_players >= _FEWEST_FACTORS


def values_of_many(
    added: FloatArray, frequencies: FloatArray, weights: ComplexArray, tolerance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Shapley values of sums of exponentials.

    Parameters
    ----------
    added : array of shape (P, n)
        `d`: what each of n players adds, in P games.
    frequencies : array of shape (T,)
        `ω`, positive.
    weights : array of complex of shape (P, T)
        `c`, times the exponential at the empty coalition.
    tolerance : array of shape (T,)
        How far the integral of a product may be off.

    Returns
    -------
    values : array of shape (P, n)
    errors : array of shape (P,)
        Bounds on the error of every value of a game, but for that of the integrals.
    """
    sizes = np.abs(added)
    least = _least_damping(sizes, frequencies)
    rule = half_rule(_spread(added, frequencies, least), added.shape[1], tolerance)
    at_most = np.abs(weights).max(axis=0)[rule.columns] * np.exp(-rule.nodes * (1.0 - rule.nodes) * least[rule.columns])
    reach = _reach(sizes, frequencies[rule.columns], rule.nodes, at_most)
    points = _Points.of(reach, frequencies, rule)
    # 1 − t counts as t does, with the conjugate of the weight at the full coalition: factors are on the unit circle.
    at_full = weights * np.exp(1j * np.multiply.outer(added.sum(axis=1), frequencies))
    counted = weights - at_full.conj()
    values, errors = np.empty(added.shape), np.empty(len(added))
    step = max(1, _AT_ONCE // (added.shape[1] * N_POINTS))
    for start in range(0, len(added), step):
        some = slice(start, start + step)
        values[some], errors[some] = points.values(added[some], counted[some][:, rule.columns] * rule.weights)
    return values, errors


def _spread(added: FloatArray, frequencies: FloatArray, least: FloatArray) -> Spread:
    """How products of all games spread: `1 − cos x` is at most `x²/2` and 2, `sin x` off `x` by at most `x³/6`."""
    sizes = np.abs(added)
    squares, cubes = (sizes**2).sum(axis=1).max(), (sizes**3).sum(axis=1).max()
    damping = np.minimum(frequencies**2 * squares / 2.0, 2.0 * added.shape[1])
    drift = frequencies * np.abs(added.sum(axis=1)).max() + frequencies**3 * cubes / 6.0
    return Spread(damping, least, np.minimum(drift, frequencies * sizes.sum(axis=1).max()))


def _least_damping(sizes: FloatArray, frequencies: FloatArray) -> FloatArray:
    """A lower bound (T,) on `Σ_k (1 − cos ω d_k)` over all players but any one, in every game, given |d| (P, n).

    A summand is at least `x²/2 − x⁴/24` with `x = ω d`, which is positive up to √12, and never more than 2.
    """
    ordered = np.sort(sizes, axis=1)
    squares = np.cumsum(ordered**2, axis=1)
    fourths = np.cumsum(ordered**4, axis=1)
    found = np.full(len(frequencies), np.inf)
    for row, second, fourth in zip(ordered, squares, fourths, strict=True):
        counted = np.searchsorted(row, np.sqrt(12.0) / frequencies)
        last = np.maximum(counted - 1, 0)
        sums = frequencies**2 * second[last] / 2.0 - frequencies**4 * fourth[last] / 24.0
        np.minimum(found, np.where(counted > 0, sums, 0.0), out=found)
    return np.maximum(found - 2.0, 0.0)


def _reach(sizes: FloatArray, frequencies: FloatArray, nodes: FloatArray, weights: FloatArray) -> float:
    """Up to what added amount polynomials are to follow the factors.

    The factor of a node t is 0 at `(π ± i log((1 − t)/t)) / ω`. Polynomials converge at the rate of the Bernstein
    ellipse through that point.
    """
    reach = float(sizes.max())
    zeros = (np.pi + 1j * np.log((1.0 - nodes) / nodes)) / frequencies
    while True:
        z = zeros / reach
        rho = np.abs(z + np.sqrt(z - 1.0) * np.sqrt(z + 1.0))
        if float((weights * rho ** (1.0 - N_POINTS)).sum()) * sizes.shape[1] <= _EXPECTED * weights.max():
            return reach
        reach *= 2.0**-0.25


class _Factors(NamedTuple):
    """`log(1 + t s)` and `s / (1 + t s)` with `s = exp(i ω d) − 1`: real and imaginary parts, each (J, Q)."""

    log_re: FloatArray
    log_im: FloatArray
    share_re: FloatArray
    share_im: FloatArray

    @classmethod
    def of(cls, added: FloatArray, frequencies: FloatArray, nodes: FloatArray) -> _Factors:
        halves = np.multiply.outer(added, frequencies / 2.0)
        sines, cosines = np.sin(halves), np.cos(halves)
        s_re, s_im = -2.0 * sines**2, 2.0 * sines * cosines
        less = 2.0 * nodes * (1.0 - nodes) * s_re  # |1 + t s|² − 1, without cancellation
        # Nodes are at most ½, so that factors are in the right half-plane and their angle is continuous.
        angle = np.arctan2(nodes * s_im, 1.0 + nodes * s_re)
        # s (1 + t s)* = s + t |s|², and |s|² = −2 Re s
        return cls(np.log1p(less) / 2.0, angle, s_re * (1.0 - 2.0 * nodes) / (1.0 + less), s_im / (1.0 + less))


@dataclass(frozen=True)
class _Points:
    """What is known at Chebyshev points of [−reach, reach], of Q nodes of products."""

    reach: float
    frequencies: FloatArray  # (T,)
    rule: Quadrature  # its nodes, and which frequency each is for
    factors: _Factors  # at the points
    off: FloatArray  # (2, Q), how far polynomials are from logarithms and shares anywhere between the points
    largest: FloatArray  # (Q,), the largest magnitude of a share

    @classmethod
    def of(cls, reach: float, frequencies: FloatArray, rule: Quadrature) -> _Points:
        of_nodes = frequencies[rule.columns]
        angles = np.pi * (np.arange(N_POINTS) + 0.5) / N_POINTS
        factors = _Factors.of(reach * np.cos(angles), of_nodes, rule.nodes)
        # Halfway between the points, in angle, interpolation is at its worst; twice that allows for the rest.
        between = np.cos(np.pi * np.arange(N_POINTS + 1) / N_POINTS)
        true = _Factors.of(reach * between, of_nodes, rule.nodes)
        to_between = _polynomials(between) @ _to_polynomials()
        apart = [np.abs(to_between @ here - there).max(axis=0) for here, there in zip(factors, true, strict=True)]
        off = 2.0 * np.array([apart[0] + apart[1], apart[2] + apart[3]])
        return cls(reach, frequencies, rule, factors, off, np.hypot(true.share_re, true.share_im).max(axis=0))

    def values(self, added: FloatArray, counted: ComplexArray) -> tuple[FloatArray, FloatArray]:
        """Values (P, n) of what players add (P, n), and their errors (P,); every node counts with a weight (P, Q)."""
        near = np.abs(added) <= self.reach
        # A player that adds nothing has the factor 1: one that is far is put there until it is multiplied in.
        polynomials = _polynomials(np.where(near, added, 0.0) / self.reach)  # (P, n, J)
        to_points = polynomials.sum(axis=1) @ _to_polynomials()  # (P, J)
        products = counted * np.exp(to_points @ self.factors.log_re + 1j * (to_points @ self.factors.log_im))
        values = self._multiplied_in(products, added, ~near)
        shared = products.real @ self.factors.share_re.T - products.imag @ self.factors.share_im.T  # (P, J)
        smooth = np.matmul(polynomials, (shared @ _to_polynomials().T)[:, :, None])[:, :, 0]
        values[near] = np.where(added == 0.0, 0.0, smooth)[near]
        return values, self._errors(np.abs(products), added.shape[1])

    def _multiplied_in(self, products: ComplexArray, added: FloatArray, far: BoolArray) -> FloatArray:
        """Values (P, n) of players that add more than polynomials follow, 0 of others; products (P, Q) are updated."""
        from dcshap.shapley.exact.product_kernel import multiply_in  # noqa: PLC0415 - numba takes half a second

        starts = np.searchsorted(self.rule.columns, np.arange(len(self.frequencies) + 1))
        values = np.zeros(added.shape)
        for at in np.flatnonzero(far.any(axis=1)):
            players = far[at]
            values[at, players] = multiply_in(
                products[at], added[at, players], self.frequencies, starts, self.rule.nodes
            )
        return values

    def _errors(self, sizes: FloatArray, n_players: int) -> FloatArray:
        """From polynomials in both places, and from rounding."""
        rounding = 4 * (n_players + N_POINTS) * _UNIT_ROUNDOFF
        per_node = (n_players * self.off[0] + rounding) * np.maximum(self.largest, 1.0) + self.off[1]
        return np.asarray(sizes @ per_node)


def _polynomials(x: FloatArray) -> FloatArray:
    """Chebyshev polynomials of degree 0 to J − 1 at x (…), shape (…, J)."""
    found = np.empty((N_POINTS, *x.shape))
    found[0], found[1] = 1.0, x
    for k in range(2, N_POINTS):
        np.multiply(2.0 * x, found[k - 1], out=found[k])
        found[k] -= found[k - 2]
    return np.moveaxis(found, 0, -1)


def _to_polynomials() -> FloatArray:
    """From values at the Chebyshev points to coefficients of Chebyshev polynomials, shape (J, J)."""
    angles = np.pi * (np.arange(N_POINTS) + 0.5) / N_POINTS
    matrix = np.cos(np.multiply.outer(np.arange(N_POINTS), angles)) * (2.0 / N_POINTS)
    matrix[0] /= 2.0
    return np.asarray(matrix)
