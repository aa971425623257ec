"""Exact Shapley and Owen values of sums of products, in polynomial time.

A product game is `v(S) = Σ_m c_m Π_{i∈S} e_mi Π_{i∉S} f_mi`. Its multilinear extension is a sum of products as well,
and Shapley values are integrals along its diagonal::

    φ_i = Σ_m c_m (e_mi − f_mi) ∫₀¹ Π_{k≠i} (f_mk + t (e_mk − f_mk)) dt

The integrand is a polynomial of degree n − 1, which Gauss–Legendre quadrature with ⌈n/2⌉ nodes integrates exactly;
where factors lie on the unit circle, far fewer nodes do, and a bound says how many. The Owen value of a player is the
product of two such integrals: over its own block, and over the other blocks as wholes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dcshap._typing import Array, FloatArray, IntArray

__all__ = [
    "Quadrature",
    "Spread",
    "ellipses",
    "gauss_legendre",
    "half_rule",
    "owen_products",
    "pair_products",
    "shapley_products",
]


class Quadrature(NamedTuple):
    """Nodes and weights on [0, 1] for many products: which product each is for, in ascending order."""

    columns: IntArray
    nodes: FloatArray
    weights: FloatArray


def shapley_products(steps: Array, *, out: Array | float = 1.0, tolerance: FloatArray | None = None) -> Array:
    """Shapley values of single products.

    Parameters
    ----------
    steps : array of shape (n, C), real or complex
        `e − f`, what a player changes.
    out : array of shape (n, C), or 1
        `f`, the factor of a player who is out.
    tolerance : array of shape (C,), optional
        If factors are on the unit circle both in and out, how far each value may be off. Otherwise values are exact.

    Returns
    -------
    array of shape (n, C)
    """
    return np.asarray(steps * _integrals(np.broadcast_to(out, steps.shape), steps, tolerance))


def owen_products(
    steps: Array, blocks: Sequence[Sequence[int]], *, out: Array | float = 1.0, tolerance: FloatArray | None = None
) -> Array:
    """Owen values of single products, given every block's players; otherwise as `shapley_products`."""
    full = np.broadcast_to(out, steps.shape)
    whole_out = np.stack([full[list(block)].prod(axis=0) for block in blocks])
    whole_in = np.stack([(full + steps)[list(block)].prod(axis=0) for block in blocks])
    between = _integrals(whole_out, whole_in - whole_out, tolerance)  # (blocks, C)
    values = np.empty(steps.shape, dtype=np.complex128)
    for at, block in enumerate(blocks):
        members = list(block)
        within = _integrals(full[members], steps[members], tolerance)
        values[members] = steps[members] * within * between[at]
    return values


def pair_products(steps: Array, *, out: Array | float = 1.0, tolerance: FloatArray | None = None) -> Array:  # noqa: ARG001
    """Shapley–Taylor interactions of all pairs of players (n (n − 1) / 2, C), of single products.

    They are `2 s_i s_j ∫ (1 − t) Π_{k≠i,j} (f_k + t s_k) dt`. Arguments as in `shapley_products`, but values are exact
    whatever the tolerance; pairs are in the order of `numpy.triu_indices(n, 1)`.
    """
    from dcshap.shapley.exact.product_kernel import integrate_pairs  # noqa: PLC0415 - numba takes half a second

    full, rule = np.broadcast_to(out, steps.shape), _exact(*steps.shape)
    starts = np.searchsorted(rule.columns, np.arange(steps.shape[1] + 1))
    outside, changes = (np.ascontiguousarray(each.T, dtype=np.complex128) for each in (full, steps))
    weights = 2.0 * (1.0 - rule.nodes) * rule.weights
    first, second = np.triu_indices(len(steps), 1)
    return np.asarray(steps[first] * steps[second] * integrate_pairs(outside, changes, starts, rule.nodes, weights).T)


def _integrals(out: Array, steps: Array, tolerance: FloatArray | None) -> Array:
    """`∫ Π_{k≠i} (f_k + t (e_k − f_k)) dt` for every player and product, shape (n, C)."""
    from dcshap.shapley.exact.product_kernel import integrate_others  # noqa: PLC0415 - numba takes half a second

    rule = _exact(*steps.shape) if tolerance is None else _first_half(_within(steps, tolerance))
    starts = np.searchsorted(rule.columns, np.arange(steps.shape[1] + 1))
    outside, changes = (np.ascontiguousarray(each.T, dtype=np.complex128) for each in (out, steps))
    found = np.asarray(integrate_others(outside, changes, starts, rule.nodes, rule.weights).T)
    if tolerance is None:
        return found
    # On the unit circle `1 + (1 − t) s = e (1 + t s)*`, so that the other half of the nodes follows from this one.
    inside = 1.0 + steps
    return np.asarray(found + found.conj() * inside.prod(axis=0) * inside.conj())


# --- nodes ---------------------------------------------------------------------------------------------------------


def _exact(n_players: int, n_columns: int) -> Quadrature:
    """A rule that is exact for polynomials of degree n − 1."""
    nodes, weights = gauss_legendre((n_players + 1) // 2)
    columns = np.repeat(np.arange(n_columns), len(nodes))
    return Quadrature(columns, np.tile(nodes, n_columns), np.tile(weights, n_columns))


def _first_half(rule: Quadrature) -> Quadrature:
    """The nodes up to ½ of rules that are the same from both ends; ½ itself, its own opposite, counts half."""
    kept = rule.nodes < 0.5 + 1e-12
    nodes = rule.nodes[kept]
    weights = np.where(nodes > 0.5 - 1e-12, 0.5, 1.0) * rule.weights[kept]
    return Quadrature(rule.columns[kept], nodes, weights)


def _within(steps: Array, tolerance: FloatArray) -> Quadrature:
    """A rule for products of factors `1 + t s`, with |1 + s| = 1, that errs by no more than a tolerance."""
    squares = np.abs(steps) ** 2 / 2.0
    damping = squares.sum(axis=0)
    spread = Spread(damping, damping - squares.max(axis=0), np.abs(steps.imag.sum(axis=0)))
    return _rule(spread, len(steps), tolerance)


class Spread(NamedTuple):
    """What says how products of factors `1 + t s` with |1 + s| = 1 spread, each of shape (C,).

    Parameters
    ----------
    most : array
        `Σ |s|²/2` over all players, or more.
    least : array
        The same over all players but any one, or less.
    drift : array
        `|Σ Im s|` over all players, or more.
    """

    most: FloatArray
    least: FloatArray
    drift: FloatArray


def half_rule(spread: Spread, n_players: int, tolerance: FloatArray) -> Quadrature:
    """The nodes up to ½ of a rule for products of all players but any one, given their spread and tolerance (C,)."""
    return _first_half(_rule(spread, n_players, tolerance))


def _rule(spread: Spread, n_players: int, tolerance: FloatArray) -> Quadrature:
    """Nodes where products are too small to matter are left out: a factor is at most `exp(−t (1 − t) |s|²/2)`."""
    limit = -np.log(np.maximum(tolerance, np.finfo(np.float64).tiny) / 2.0)
    counts = _n_nodes(spread, n_players, limit)
    columns = np.repeat(np.arange(len(counts)), counts)
    nodes, weights = np.empty(len(columns)), np.empty(len(columns))
    for count in np.unique(counts).tolist():
        mine = counts[columns] == count
        nodes[mine], weights[mine] = (np.tile(each, np.sum(counts == count)) for each in gauss_legendre(count))
    matters = nodes * (1.0 - nodes) * spread.least[columns] < limit[columns]
    return Quadrature(columns[matters], nodes[matters], weights[matters])


def _n_nodes(spread: Spread, n_players: int, limit: FloatArray) -> IntArray:
    """How many Gauss–Legendre nodes integrate products to within `exp(−limit)`.

    With q nodes, a function that is analytic and at most `B` in the Bernstein ellipse ρ is integrated over [0, 1] with
    an error of at most `(32/15) B ρ^(−2q) / (1 − ρ^(−2))`. At `t = x + iy` a factor has
    `|1 + t s|² = 1 + (x² − x + y²) |s|² − 2 y Im s`, so that with `D = Σ |s|²/2` the logarithm of the product is at
    most `D (x² − x + y²) + |y Σ Im s|`. In an ellipse with semi-axes `a² = b² + ¼` and `σ = |y| / b` that is
    `D (b² − σ²/4) + b σ |Σ Im s|`, which is largest at `σ = 2 b |Σ Im s| / D`, or at 1.
    """
    log_rho, b, factor = (each[:, None] for each in ellipses())
    steep = (spread.drift + 1.0) * b  # one player is not in the product
    rise = np.where(2.0 * steep < spread.least, steep**2 / np.maximum(spread.least, 1e-300), steep - spread.least / 4.0)
    # The least q, over all ellipses, with log B − 2 q log ρ below the logarithm of the tolerance.
    needed = np.ceil(((spread.most * b**2 + rise + factor + limit) / (2.0 * log_rho)).min(axis=0))
    return np.asarray(np.clip(needed, 1, (n_players + 1) // 2), dtype=np.int64)


@lru_cache(maxsize=1)
def ellipses() -> FloatArray:
    """Bernstein ellipses about [0, 1], shape (3, E): log ρ, the smaller semi-axis, `log((32/15) / (1 − ρ^(−2)))`."""
    log_rho = np.geomspace(0.05, 5.0, 32)
    return np.stack([log_rho, np.sinh(log_rho) / 2.0, np.log(32.0 / 15.0) - np.log(-np.expm1(-2.0 * log_rho))])


@lru_cache(maxsize=1024)
def gauss_legendre(n_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    nodes, weights = (nodes + 1.0) / 2.0, weights / 2.0
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights
