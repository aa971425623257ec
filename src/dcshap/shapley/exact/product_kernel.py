"""Integrals of products of all factors but one, compiled.

Real and imaginary parts are kept apart, and several nodes of a product are taken at once, so that vector instructions
do the multiplications.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dcshap._typing import Array, FloatArray

__all__ = ["integrate_others", "integrate_pairs", "multiply_in"]

LANES = 8


@njit(cache=True, nogil=True)
def integrate_others(out: Array, steps: Array, starts: Array, nodes: FloatArray, weights: FloatArray) -> Array:
    """`Σ_q w_q Π_{k≠i} (f_k + t_q (e_k − f_k))` of every product and player.

    It is the product of all factors before a player and of all after. Dividing the product of all by a player's own
    factor would be cheaper, and lose all digits where that is near 0.

    Parameters
    ----------
    out, steps : arrays of complex of shape (C, n)
        `f` and `e − f`.
    starts : array of int of shape (C + 1,)
        Product c has the nodes and weights from `starts[c]` to `starts[c + 1]`.
    nodes, weights : arrays of shape (P,)

    Returns
    -------
    array of complex of shape (C, n)
    """
    n_products, n = steps.shape
    totals = np.zeros((n_products, n), dtype=np.complex128)
    before_re, before_im = np.empty((n, LANES)), np.empty((n, LANES))
    re, im, t = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    for c in range(n_products):
        for start in range(starts[c], starts[c + 1], LANES):
            n_mine = min(LANES, starts[c + 1] - start)
            for lane in range(LANES):
                within = lane < n_mine
                t[lane] = nodes[start + lane] if within else 0.0
                re[lane] = weights[start + lane] if within else 0.0
                im[lane] = 0.0
            for k in range(n):
                f_re, f_im = out[c, k].real, out[c, k].imag
                s_re, s_im = steps[c, k].real, steps[c, k].imag
                for lane in range(LANES):
                    before_re[k, lane], before_im[k, lane] = re[lane], im[lane]
                    a, b = f_re + t[lane] * s_re, f_im + t[lane] * s_im
                    re[lane], im[lane] = re[lane] * a - im[lane] * b, re[lane] * b + im[lane] * a
            for lane in range(LANES):
                re[lane], im[lane] = 1.0, 0.0
            for k in range(n - 1, -1, -1):
                f_re, f_im = out[c, k].real, out[c, k].imag
                s_re, s_im = steps[c, k].real, steps[c, k].imag
                sum_re, sum_im = 0.0, 0.0
                for lane in range(LANES):
                    sum_re += before_re[k, lane] * re[lane] - before_im[k, lane] * im[lane]
                    sum_im += before_re[k, lane] * im[lane] + before_im[k, lane] * re[lane]
                    a, b = f_re + t[lane] * s_re, f_im + t[lane] * s_im
                    re[lane], im[lane] = re[lane] * a - im[lane] * b, re[lane] * b + im[lane] * a
                totals[c, k] += complex(sum_re, sum_im)
    return totals


@njit(cache=True, nogil=True)
def integrate_pairs(out: Array, steps: Array, starts: Array, nodes: FloatArray, weights: FloatArray) -> Array:
    """`Σ_q w_q Π_{k≠i,j} (f_k + t_q (e_k − f_k))` of every product and pair, shape (C, n (n − 1) / 2).

    Pairs are in the order of `numpy.triu_indices(n, 1)`; arguments as above.
    """
    n_products, n = steps.shape
    totals = np.zeros((n_products, n * (n - 1) // 2), dtype=np.complex128)
    factors, after = np.empty(n, dtype=np.complex128), np.empty(n + 1, dtype=np.complex128)
    for c in range(n_products):
        for q in range(starts[c], starts[c + 1]):
            for k in range(n):
                factors[k] = out[c, k] + nodes[q] * steps[c, k]
            after[n] = weights[q]
            for k in range(n - 1, -1, -1):
                after[k] = after[k + 1] * factors[k]
            before, pair = complex(1.0, 0.0), 0
            for i in range(n):
                running = before
                for j in range(i + 1, n):
                    totals[c, pair] += running * after[j + 1]
                    running *= factors[j]
                    pair += 1
                before *= factors[i]
    return totals


@njit(cache=True, nogil=True)
def multiply_in(  # noqa: C901 - loops for a compiler
    products: Array, added: FloatArray, frequencies: FloatArray, starts: Array, nodes: FloatArray
) -> Array:
    """Multiply a few players' factors `f = 1 + t s`, `s = exp(i ω d) − 1`, into products, in place.

    Parameters
    ----------
    products : array of complex of shape (P,)
    added : array of shape (n,)
        `d`.
    frequencies : array of shape (C,)
        `ω`, of the products and nodes from `starts[c]` to `starts[c + 1]`.
    starts : array of int of shape (C + 1,)
    nodes : array of shape (P,)

    Returns
    -------
    array of shape (n,)
        What each of the players is worth: the real part of the sum of all products with `s` instead of its factor.
    """
    n = len(added)
    values, s_re, s_im = np.zeros(n), np.empty(n), np.empty(n)
    before_re, before_im = np.empty((n, LANES)), np.empty((n, LANES))
    re, im, t = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    for c in range(len(frequencies)):
        for k in range(n):
            half = added[k] * frequencies[c] / 2.0
            s_re[k], s_im[k] = -2.0 * np.sin(half) ** 2, 2.0 * np.sin(half) * np.cos(half)
        for start in range(starts[c], starts[c + 1], LANES):
            n_mine = min(LANES, starts[c + 1] - start)
            for lane in range(LANES):
                within = lane < n_mine
                t[lane] = nodes[start + lane] if within else 0.0
                re[lane] = products[start + lane].real if within else 0.0
                im[lane] = products[start + lane].imag if within else 0.0
            for k in range(n):
                for lane in range(LANES):
                    before_re[k, lane], before_im[k, lane] = re[lane], im[lane]
                    a, b = 1.0 + t[lane] * s_re[k], t[lane] * s_im[k]
                    re[lane], im[lane] = re[lane] * a - im[lane] * b, re[lane] * b + im[lane] * a
            for lane in range(n_mine):
                products[start + lane] = complex(re[lane], im[lane])
            for lane in range(LANES):
                re[lane], im[lane] = 1.0, 0.0
            for k in range(n - 1, -1, -1):
                sum_re, sum_im = 0.0, 0.0
                for lane in range(LANES):
                    sum_re += before_re[k, lane] * re[lane] - before_im[k, lane] * im[lane]
                    sum_im += before_re[k, lane] * im[lane] + before_im[k, lane] * re[lane]
                    a, b = 1.0 + t[lane] * s_re[k], t[lane] * s_im[k]
                    re[lane], im[lane] = re[lane] * a - im[lane] * b, re[lane] * b + im[lane] * a
                values[k] += sum_re * s_re[k] - sum_im * s_im[k]
    return values
