"""Estimators of Shapley values: dcshap, and its peers with their best settings.

Peers play with as many evaluations as they can make of the budget. Those that came with shapiq 1.8 (OddSHAP, arXiv
2602.01399, whose odd part of the game is what our process models; ProxySHAP; RegressionMSR; PolySHAP) need Python 3.12,
and xgboost and lightgbm beside it; without, they are left out. Its ProxySPEX takes minutes for one sample, and its
ShaplEIG (arXiv 2606.02247) is abstract.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from math import comb
from typing import Any

import lightshap
import numpy as np
import shap
import shapiq

from benchmarks.sampled_games import CountedGame
from dcshap._typing import BoolArray, FloatArray
from dcshap.shapley.sampled.sampling import sampled_values

__all__ = ["ESTIMATORS", "Estimator"]

Estimator = Callable[["CountedGame", int, int], FloatArray]  # game, budget, seed -> (n_players,)


def _dcshap(game: CountedGame, budget: int, seed: int) -> FloatArray:
    return sampled_values(game, max_evals=budget, rng=np.random.default_rng(seed)).values[:, 0]


def _leverage(game: CountedGame, budget: int, seed: int) -> FloatArray:
    """Paired Leverage SHAP (arXiv 2410.01917), without replacement and with a fixed number of pairs per size."""
    m = game.n_players
    everyone = np.ones((1, m), dtype=bool)
    full, empty = game.of_one_output(np.concatenate([everyone, ~everyone]))
    coalitions = _pairs_of_uniform_sizes(m, budget // 2 - 1, np.random.default_rng(seed))
    coalitions = np.concatenate([coalitions, ~coalitions])
    sizes = coalitions.sum(axis=1)
    # Kernel weight over the probability that a coalition of this size was drawn.
    weights = 1.0 / (np.bincount(sizes)[sizes] * sizes * (m - sizes))
    target = game.of_one_output(coalitions) - empty - sizes / m * (full - empty)
    centred = coalitions - sizes[:, None] / m
    solution = np.linalg.lstsq((centred.T * weights) @ centred, (centred.T * weights) @ target, rcond=1e-10)[0]
    return np.asarray(solution + (full - empty) / m)


def _pairs_of_uniform_sizes(m: int, n_pairs: int, rng: np.random.Generator) -> BoolArray:
    """One coalition of each of so many different pairs, with sizes as evenly spread as there are coalitions."""
    # The two coalitions of a pair of the middle size share one size, so it is met half as often.
    capacity = {size: comb(m, size) // (2 if 2 * size == m else 1) for size in range(1, m // 2 + 1)}
    share = {size: 1 if 2 * size == m else 2 for size in capacity}
    counts = dict.fromkeys(capacity, 0)
    for _ in range(n_pairs):
        size = min((size for size in counts if counts[size] < capacity[size]), key=lambda k: (counts[k] + 1) / share[k])
        counts[size] += 1
    chosen: dict[bytes, BoolArray] = {}
    for size, count in counts.items():
        stop = len(chosen) + count
        while len(chosen) < stop:
            members = np.isin(np.arange(m), rng.choice(m, size, replace=False))
            if 2 * size == m and not members[0]:
                members = ~members
            chosen.setdefault(members.tobytes(), members)
    return np.array(list(chosen.values()))


def _shap_kernel(game: CountedGame, budget: int, seed: int) -> FloatArray:
    m = game.n_players
    np.random.seed(seed)  # noqa: NPY002  shap draws from the global generator
    explainer = shap.KernelExplainer(game.of_one_output, np.zeros((1, m)))
    return np.asarray(explainer.shap_values(np.ones(m), nsamples=budget - 2, l1_reg=False, silent=True))


def _shap_permutation(game: CountedGame, budget: int, seed: int) -> FloatArray:
    m = game.n_players
    masker = shap.maskers.Independent(np.zeros((1, m)))
    explainer = shap.PermutationExplainer(game.of_one_output, masker, seed=seed)
    return np.asarray(explainer(np.ones((1, m)), max_evals=budget, silent=True).values[0])


def _shapiq(kind: Any, **settings: Any) -> Estimator:
    def estimate(game: CountedGame, budget: int, seed: int) -> FloatArray:
        m = game.n_players
        found = kind(n=m, random_state=seed, **settings).approximate(budget, game.of_one_output)
        return np.array([found[(player,)] for player in range(m)])

    return estimate


def _lightshap(method: str, how: str) -> Estimator:
    def explain(game: CountedGame, n_iterations: int, seed: int) -> FloatArray:
        m = game.n_players
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it has not converged: it is stopped on purpose
            found = lightshap.explain_any(
                game.of_one_output,
                np.ones((1, m)),
                bg_X=np.zeros((1, m)),
                method=method,
                how=how,
                max_iter=n_iterations,
                tol=0.0,
                random_state=seed,
                verbose=False,
            )
        return np.asarray(found.shap_values).reshape(m)

    @lru_cache
    def cost(n_players: int, n_iterations: int) -> int:
        game = CountedGame(lambda members: members.sum(axis=1) ** 2.0, n_players)
        explain(game, n_iterations, 0)
        return game.n_evals

    def estimate(game: CountedGame, budget: int, seed: int) -> FloatArray:
        once, twice = cost(game.n_players, 1), cost(game.n_players, 2)
        if once > budget:
            return np.full(game.n_players, np.nan)
        return explain(game, 1 + (budget - once) // (twice - once), seed)

    return estimate


ESTIMATORS: dict[str, Estimator] = {
    "dcshap": _dcshap,
    "Leverage SHAP": _leverage,
    "shap Kernel": _shap_kernel,
    "shap Permutation": _shap_permutation,
    "shapiq KernelSHAP": _shapiq(shapiq.KernelSHAP, pairing_trick=True),
    "shapiq unbiased KernelSHAP": _shapiq(shapiq.UnbiasedKernelSHAP, pairing_trick=True),
    "shapiq kADD-SHAP": _shapiq(shapiq.kADDSHAP, pairing_trick=True, max_order=2),
    "shapiq SVARM": _shapiq(shapiq.SVARM, pairing_trick=True),
    "shapiq Permutation": _shapiq(shapiq.PermutationSamplingSV),
    "lightshap kernel": _lightshap("kernel", "sampling"),
    "lightshap kernel, h1": _lightshap("kernel", "h1"),
    "lightshap kernel, h2": _lightshap("kernel", "h2"),
    "lightshap permutation": _lightshap("permutation", "sampling"),
}

NEWEST: dict[str, tuple[str, dict[str, Any]]] = {
    "shapiq OddSHAP": ("OddSHAP", {}),
    "shapiq ProxySHAP": ("ProxySHAP", {"max_order": 1, "index": "SV", "adjustment": True}),
    "shapiq RegressionMSR": ("RegressionMSR", {"index": "SV"}),
    "shapiq PolySHAP, 1": ("PolySHAP", {"max_order": 1, "pairing_trick": True}),
    "shapiq PolySHAP, 2": ("PolySHAP", {"max_order": 2, "pairing_trick": True}),
    "shapiq LeverageSHAP": ("LeverageSHAP", {}),
}
ESTIMATORS |= {
    name: _shapiq(getattr(shapiq.approximator, kind), **settings)
    for name, (kind, settings) in NEWEST.items()
    if hasattr(shapiq.approximator, kind) and find_spec("xgboost") is not None
}
