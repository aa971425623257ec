"""Shapley values of sums of equally spaced waves, compiled.

Arithmetic is on real and imaginary parts apart, and the innermost loops run over frequencies, so that vector
instructions do it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dcshap._typing import Array, FloatArray

__all__ = ["harmonic_values"]

LOG_2 = np.log(2.0)
LANES = 32  # frequencies that are worked on at once: what belongs to them stays near the processor
VECTOR = 8  # of these, so many by one instruction


@njit(cache=True, nogil=True, fastmath={"contract"})
def harmonic_values(  # noqa: C901, PLR0917 - loops for a compiler
    added: FloatArray,
    angles: FloatArray,
    boxes: Array,
    counts: Array,
    waves_re: FloatArray,
    waves_im: FloatArray,
    limits: FloatArray,
    ladder: Array,
    starts: Array,
    nodes: FloatArray,
    weights: FloatArray,
    ellipses: FloatArray,
) -> tuple[FloatArray, int]:
    """Values (P, n) of `Re Σ_m c_m exp(i m (a + Σ_{k∈S} d_k))`, and how many nodes there would have to be.

    Parameters
    ----------
    added : array of shape (P, n), n even
        `d`, what each player adds to the first wave's angle, in P games.
    angles : array of shape (P, 2)
        The first wave's angle for the empty and the grand coalition.
    boxes : array of int of shape (P,)
        Which coefficients are each game's.
    counts : array of int of shape (B,)
        How many of
    waves_re, waves_im, limits : arrays of shape (B, M)
        there are: `c_m`, m from 1, and minus the logarithm of how far the integral of a product may be off.
    ladder, starts : arrays of int of shape (R,) and (R + 1,)
        Numbers of nodes of Gauss–Legendre rules on [0, 1], and where the nodes up to ½ of each begin in
    nodes, weights : arrays of shape (N,)
    ellipses : array of shape (3, E)
        As `products.ellipses` has them.
    """
    n_games, n = added.shape
    most, n_pairs, n_ladder = -(-waves_re.shape[1] // LANES) * LANES, n // 2, len(ladder)
    values, wanted = np.zeros((n_games, n)), 0
    # Every array by itself: of parts of one the compiler would not see that they are apart, and take number by number.
    s_re, s_im = np.zeros((n, most)), np.zeros((n, most))
    c_re, c_im, damping, least, drift = np.zeros(most), np.zeros(most), np.zeros(most), np.zeros(most), np.zeros(most)
    state, pairs = np.empty(4 * LANES), np.empty((n_pairs, 4 * LANES))
    before, sums = np.empty((n_pairs, 4 * LANES)), np.empty((n_pairs, 4 * LANES))
    for p in range(n_games):
        box = boxes[p]
        n_waves = counts[box]
        _weigh(c_re, c_im, waves_re[box], waves_im[box], angles[p])
        _multiples(s_re, s_im, added[p], n_waves)
        _sums(damping, least, drift, s_re, s_im, n_waves)
        for at in range(0, n_waves, LANES):
            lanes = min(LANES, n_waves - at)
            needed = _n_nodes(damping, least, drift, limits[box], at, at + lanes, n, ellipses)
            wanted = max(wanted, needed)
            rung = min(int(np.searchsorted(ladder, needed)), n_ladder - 1)
            for j in range(n_pairs):
                _pair_up(pairs[j], s_re[2 * j], s_im[2 * j], s_re[2 * j + 1], s_im[2 * j + 1], at)
            sums[:] = 0.0
            # Two nodes at a time: what belongs to players is read once for both.
            for q in range(starts[rung], starts[rung + 1], 2):
                t, w, used = nodes[q], weights[q], lanes
                t_2, w_2 = (nodes[q + 1], weights[q + 1]) if q + 1 < starts[rung + 1] else (0.0, 0.0)
                # The highest waves may be damped too much to matter; nodes ascend, and with them the damping.
                while used > 0 and t * (1.0 - t) * least[at + used - 1] >= limits[box, at + used - 1] + LOG_2:
                    used -= 1
                if used == 0:
                    break
                n_vectors = -(-used // VECTOR)
                for m in range(LANES):
                    counted = m < used
                    state[m], state[LANES + m] = (w * c_re[at + m], w * c_im[at + m]) if counted else (0.0, 0.0)
                    state[2 * LANES + m] = w_2 * c_re[at + m] if counted else 0.0
                    state[3 * LANES + m] = w_2 * c_im[at + m] if counted else 0.0
                for j in range(n_pairs):
                    _multiply_before(state, pairs[j], before[j], (t, t_2), n_vectors)
                for m in range(LANES):
                    state[m], state[LANES + m], state[2 * LANES + m], state[3 * LANES + m] = 1.0, 0.0, 1.0, 0.0
                for j in range(n_pairs - 1, -1, -1):
                    _multiply_after(state, pairs[j], before[j], sums[j], (t, t_2), n_vectors)
            for j in range(n_pairs):
                for m in range(lanes):
                    x, y, u, v = sums[j, m], sums[j, LANES + m], sums[j, 2 * LANES + m], sums[j, 3 * LANES + m]
                    shared = pairs[j, 2 * LANES + m] * u - pairs[j, 3 * LANES + m] * v
                    values[p, 2 * j] += s_re[2 * j, at + m] * x - s_im[2 * j, at + m] * y + shared
                    values[p, 2 * j + 1] += s_re[2 * j + 1, at + m] * x - s_im[2 * j + 1, at + m] * y + shared
    return values, wanted


# What belongs to a pair of players is one row of numbers, four for each of `LANES` frequencies: with four arrays there
# would be too many that might overlap for the compiler to use vector instructions.


@njit(cache=True, nogil=True, fastmath={"contract"})
def _pair_up(  # noqa: PLR0917
    pair: FloatArray, a_re: FloatArray, a_im: FloatArray, b_re: FloatArray, b_im: FloatArray, at: int
) -> None:
    """The sum and the product of two players' `s`: their factors multiply to `1 + t sum + t² product`."""
    for m in range(LANES):
        a, b, c, d = a_re[at + m], a_im[at + m], b_re[at + m], b_im[at + m]
        pair[m], pair[LANES + m] = a + c, b + d
        pair[2 * LANES + m], pair[3 * LANES + m] = a * c - b * d, a * d + b * c


@njit(cache=True, nogil=True, fastmath={"contract"})
def _multiply_before(
    state: FloatArray, pair: FloatArray, before: FloatArray, nodes: tuple[float, float], n_vectors: int
) -> None:
    """Write down the products (two nodes, real and imaginary) of all pairs before this one, and multiply it in."""
    t, t_2 = nodes
    for m in range(VECTOR * n_vectors):
        x, y, x_2, y_2 = state[m], state[LANES + m], state[2 * LANES + m], state[3 * LANES + m]
        a, b, c, d = pair[m], pair[LANES + m], pair[2 * LANES + m], pair[3 * LANES + m]
        before[m], before[LANES + m], before[2 * LANES + m], before[3 * LANES + m] = x, y, x_2, y_2
        f, g = 1.0 + t * (a + t * c), t * (b + t * d)
        state[m], state[LANES + m] = x * f - y * g, x * g + y * f
        f, g = 1.0 + t_2 * (a + t_2 * c), t_2 * (b + t_2 * d)
        state[2 * LANES + m], state[3 * LANES + m] = x_2 * f - y_2 * g, x_2 * g + y_2 * f


@njit(cache=True, nogil=True, fastmath={"contract"})
def _multiply_after(  # noqa: PLR0917
    state: FloatArray,
    pair: FloatArray,
    before: FloatArray,
    sums: FloatArray,
    nodes: tuple[float, float],
    n_vectors: int,
) -> None:
    """Add the products of all pairs but this one to `sums`, once as they are and once times t, and multiply it in."""
    t, t_2 = nodes
    for m in range(VECTOR * n_vectors):
        x, y, x_2, y_2 = state[m], state[LANES + m], state[2 * LANES + m], state[3 * LANES + m]
        u, v, u_2, v_2 = before[m], before[LANES + m], before[2 * LANES + m], before[3 * LANES + m]
        f, g, f_2, g_2 = u * x - v * y, u * y + v * x, u_2 * x_2 - v_2 * y_2, u_2 * y_2 + v_2 * x_2
        sums[m] += f + f_2
        sums[LANES + m] += g + g_2
        sums[2 * LANES + m] += t * f + t_2 * f_2
        sums[3 * LANES + m] += t * g + t_2 * g_2
        a, b, c, d = pair[m], pair[LANES + m], pair[2 * LANES + m], pair[3 * LANES + m]
        f, g = 1.0 + t * (a + t * c), t * (b + t * d)
        state[m], state[LANES + m] = x * f - y * g, x * g + y * f
        f, g = 1.0 + t_2 * (a + t_2 * c), t_2 * (b + t_2 * d)
        state[2 * LANES + m], state[3 * LANES + m] = x_2 * f - y_2 * g, x_2 * g + y_2 * f


@njit(cache=True, nogil=True, fastmath={"contract"})
def _multiples(s_re: FloatArray, s_im: FloatArray, angles: FloatArray, n_waves: int) -> None:
    """`exp(i m θ) − 1` of angles (n,) for m = 1, 2, … into arrays (n, M), small ones to full relative precision."""
    for k in range(len(angles)):
        sine, cosine = np.sin(angles[k] / 2.0), np.cos(angles[k] / 2.0)
        s_re[k, 0], s_im[k, 0] = -2.0 * sine * sine, 2.0 * sine * cosine
        done = 1
        while done < n_waves:  # exp(i (a + b)) − 1 = x + y + x y
            x, y = s_re[k, done - 1], s_im[k, done - 1]
            for m in range(min(done, n_waves - done)):
                u, v = s_re[k, m], s_im[k, m]
                s_re[k, done + m], s_im[k, done + m] = u + x + (u * x - v * y), v + y + (u * y + v * x)
            done *= 2


@njit(cache=True, nogil=True)
def _weigh(c_re: FloatArray, c_im: FloatArray, re: FloatArray, im: FloatArray, angles: FloatArray) -> None:
    """What products count at nodes up to ½.

    1 − t counts as t does, with the conjugate of the weight at the grand coalition: factors are on the unit circle.
    """
    a_step, b_step, c_step, d_step = np.cos(angles[0]), np.sin(angles[0]), np.cos(angles[1]), np.sin(angles[1])
    a, b, c, d = 1.0, 0.0, 1.0, 0.0
    for m in range(len(re)):
        a, b = a * a_step - b * b_step, a * b_step + b * a_step
        c, d = c * c_step - d * d_step, c * d_step + d * c_step
        c_re[m] = re[m] * (a - c) - im[m] * (b - d)
        c_im[m] = re[m] * (b + d) + im[m] * (a + c)


@njit(cache=True, nogil=True)
def _sums(  # noqa: PLR0917
    damping: FloatArray, least: FloatArray, drift: FloatArray, s_re: FloatArray, s_im: FloatArray, n_waves: int
) -> None:
    """Over all players `Σ |s|²/2 = Σ (1 − cos m d)` and `|Σ Im s|`, and the first over all but any one."""
    damping[:], drift[:], least[:] = 0.0, 0.0, 0.0
    for k in range(len(s_re)):
        for m in range(n_waves):
            damping[m] -= s_re[k, m]
            drift[m] += s_im[k, m]
            least[m] = max(least[m], -s_re[k, m])
    for m in range(n_waves):
        drift[m], least[m] = abs(drift[m]), max(damping[m] - least[m], 0.0)


@njit(cache=True, nogil=True)
def _n_nodes(  # noqa: PLR0917
    damping: FloatArray,
    least: FloatArray,
    drift: FloatArray,
    limits: FloatArray,
    begin: int,
    end: int,
    n: int,
    ellipses: FloatArray,
) -> int:
    """How many nodes integrate products of waves `begin` to `end`, without any one player: see `products._n_nodes`."""
    most = 1
    for start in range(begin, end, 8):
        stop = min(start + 8, end)
        upper, lower = damping[start:stop].max(), least[start:stop].min()
        moved, limit, fewest = drift[start:stop].max() + 1.0, limits[start:stop].max() + LOG_2, 1e9
        for e in range(ellipses.shape[1]):
            b = ellipses[1, e]
            steep = moved * b
            rise = steep * steep / lower if 2.0 * steep < lower else steep - lower / 4.0
            fewest = min(fewest, (upper * b * b + rise + ellipses[2, e] + limit) / (2.0 * ellipses[0, e]))
        most = max(most, int(np.ceil(fewest)))
    return min(most, (n + 1) // 2)
