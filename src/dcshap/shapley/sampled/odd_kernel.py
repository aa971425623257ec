"""A prior for the odd part of a game, and what it says about Shapley values.

Shapley values depend only on the odd part `o(S) = (v(S) − v(Sᶜ)) / 2` of a game. With players as signs, +1 in the
coalition and −1 out of it, `o` is a sum of products of odd numbers of signs, `Σ c_A Π_{i∈A} s_i` over the sets `A`
of odd size, and the value of player `i` is `Σ_{A∋i} 2 c_A / |A|`. Normal coefficients `c_A` make `o` a Gaussian
process and the Shapley values normal with it, with covariances in closed form.

`OddKernel` gives a set of players more weight the more *relevant* its members are. Its main part is the odd part of
the squared exponential kernel with one length scale per player, `sinh(Σ_i θ_i s_i t_i)`, since
`exp(θ s t) ∝ 1 + a s t` with `a = tanh θ`; so `c_A` has variance in proportion to `Π_{i∈A} a_i`. To it are added single
players, and a nugget that stands for everything too rough to be foreseen.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from dcshap._typing import BoolArray, FloatArray

__all__ = ["OddKernel", "nugget_weights", "rounded", "signs"]

# Integrands are polynomials of degree m − 1, or below e^(z Σθ) where m is large: so many nodes are exact up to
# 80 players, and to rounding beyond.
MAX_NODES = 40


def signs(coalitions: BoolArray) -> FloatArray:
    """+1 for players in the coalition, −1 for the others."""
    return np.where(coalitions, 1.0, -1.0)


def rounded(odd: FloatArray) -> FloatArray:
    """Values (n, n_outputs) in units of 2⁻²⁶ of their largest: parties whose values differ by rounding choose alike."""
    largest = np.maximum(np.abs(odd).max(axis=0), np.finfo(np.float64).tiny)
    return np.asarray(np.rint(odd / (2.0**-26 * 2.0 ** np.ceil(np.log2(largest)))), dtype=np.float64)


@dataclass(frozen=True)
class OddKernel:
    """The covariance of `o(S)` and `o(T)`, up to a factor, given as signs `s` and `t`.

    `linear · Σ θ_i s_i t_i / Σ θ_i  +  sinh(Σ θ_i s_i t_i) / sinh(Σ θ_i)  +  nugget · [S = T]`.

    The nugget is a part of the game, not noise in its observation: an evaluated coalition is known, and one that
    was not evaluated adds to the uncertainty.
    """

    linear: float
    nugget: float
    relevance: FloatArray  # (m,), `θ`, positive

    @property
    def n_players(self) -> int:
        """How many play."""
        return len(self.relevance)

    def smooth(self, s: FloatArray, t: FloatArray) -> FloatArray:
        """Covariances without the nugget, shape (n, k), of `s`, shape (n, m), and `t`, shape (k, m)."""
        total = self.relevance.sum()
        inner = (s * self.relevance) @ t.T
        covariances: FloatArray = (self.linear / total) * inner + _sinh_ratio(inner, total)
        return covariances

    def with_values(self, s: FloatArray) -> FloatArray:
        """Covariances of `o(S)` and every player's Shapley value, shape (n, m).

        A product of signs `Π (1 + a_j s_j t_j)` has the Shapley values `∫ a_i t_i Π_{j≠i} (1 + a_j t_j z) dz` over
        `z` from −1 to 1: the multilinear extension's derivative along its diagonal.
        """
        nodes, weights = _quadrature(self.n_players)
        slopes = np.tanh(self.relevance)[:, None]
        at_nodes = slopes * nodes  # (m, q)
        log_products = s @ np.arctanh(at_nodes) + 0.5 * np.log1p(-(at_nodes**2)).sum(axis=0)
        products = np.exp(log_products + self._log_factor()) * weights  # (n, q)
        # a t / (1 + a t z) = (a t − a² z) / (1 − a² z²), for t is a sign
        rest = slopes / (1.0 - at_nodes**2)
        smooth = s * (products @ rest.T) - products @ (rest * at_nodes).T
        single = (2.0 * self.linear / self.relevance.sum()) * self.relevance * s
        covariances: FloatArray = single + smooth + self.nugget * nugget_weights(s)
        return covariances

    def of_values(self) -> FloatArray:
        """Covariances of the Shapley values with each other, shape (m, m)."""
        m = self.n_players
        nodes, weights = _quadrature(m)
        squares = np.multiply.outer(nodes, nodes).ravel()
        slopes = np.tanh(self.relevance)[:, None]
        factors = 1.0 + slopes * squares  # (m, q²)
        products = np.exp(np.log(factors).sum(axis=0) + self._log_factor())
        products *= np.multiply.outer(weights, weights).ravel()
        parts = slopes / factors
        # Two different players leave z for one and z' for the other, one player leaves no more than its slope.
        values: FloatArray = (parts * (products * squares)) @ parts.T
        alone = 4.0 * self.linear * self.relevance / self.relevance.sum()
        values[np.diag_indices(m)] = alone + parts @ products
        values += self.nugget * _nugget_of_values(m)
        return values

    def _log_factor(self) -> float:
        """The logarithm of `Π cosh θ_i / sinh Σ θ_i`, which scales a product to the kernel's own size."""
        log_cosh = np.log1p(np.exp(-2.0 * self.relevance)).sum() - self.n_players * np.log(2.0)
        return float(log_cosh + np.log(2.0) - np.log(-np.expm1(-2.0 * self.relevance.sum())))


def _sinh_ratio(inner: FloatArray, total: float) -> FloatArray:
    """`sinh(inner) / sinh(total)` for `|inner| <= total`, where either may be too large for `sinh`."""
    ratio: FloatArray = (np.exp(inner - total) - np.exp(-inner - total)) / -np.expm1(-2.0 * total)
    return ratio


def nugget_weights(s: FloatArray) -> FloatArray:
    """The weights that turn `o` of all pairs into Shapley values, `φ_i = Σ weight_i(S) o(S)`, shape (n, m).

    One coalition of every pair `S`, `Sᶜ` is summed over, either one.
    """
    m = s.shape[1]
    weights = _size_weights(m)
    size = np.count_nonzero(s > 0, axis=1)[:, None]
    of_pairs: FloatArray = np.where(s > 0, 2.0 * weights[size - 1], -2.0 * weights[np.minimum(size, m - 1)])
    return of_pairs


@lru_cache(maxsize=64)
def _size_weights(n_players: int) -> FloatArray:
    """`w_s = s! (m − s − 1)! / m!`, through logarithms, for factorials overflow where many play."""
    sizes = np.arange(n_players)
    weights: FloatArray = np.exp(gammaln(sizes + 1) + gammaln(n_players - sizes) - gammaln(n_players + 1))
    weights.flags.writeable = False
    return weights


def _nugget_of_values(n_players: int) -> FloatArray:
    """`Σ weight_i(S) weight_j(S)` over all pairs."""
    m = n_players
    weights = _size_weights(m)
    same = 4.0 * weights.sum() / m
    # Σ_i weight_i(S) is 0 but for the grand coalition, where it is 2 and every player's weight is 2 / m.
    other = (4.0 / m - same) / (m - 1) if m > 1 else 0.0
    return np.where(np.eye(m, dtype=bool), same, other)


@lru_cache(maxsize=64)
def _quadrature(n_players: int) -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(min(n_players // 2 + 1, MAX_NODES))
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights
