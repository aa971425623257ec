"""Sampled Shapley values against their peers, at equal numbers of evaluations.

The games are those of real models: absent features take the median of the training rows, and the output is the
probability of the class that the model predicts (cancer: also the log-odds of benign; 60 features: the prediction
itself). An error is `‖φ̂ − φ‖² / ‖φ‖²`, averaged over samples and seeds, and φ is exact in every game:

- up to 16 features, from all coalitions;
- for the log-odds and the predictions of boosted trees, from `shap.TreeExplainer` with the one reference row;
- for the probabilities of boosted trees, from all coalitions of those features that some tree splits between the
  sample and the reference. The others are null players.

- for the network of 60 features, by product games, which tests check against all coalitions.

No constant of dcshap was chosen on the games marked "confirming".

Peers play with their best settings and as many evaluations as they can make of the budget. Those that came with shapiq
1.8 (OddSHAP, arXiv 2602.01399, whose odd part of the game is what our process models; ProxySHAP; RegressionMSR;
PolySHAP) need Python 3.12, and xgboost and lightgbm beside it; without, they are left out. Its ProxySPEX takes minutes
for one sample, and its ShaplEIG (arXiv 2606.02247) is abstract.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from math import comb
from typing import Any

import joblib
import lightshap
import numpy as np
import shap
import shapiq
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestRegressor
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dcshap._typing import BoolArray, FloatArray
from dcshap.shapley import shapley_values
from dcshap.shapley.sampled.sampling import sampled_values

__all__ = ["run"]

EVALS_PER_FEATURE = (8, 16, 32, 64, 128, 256)
N_SAMPLES, N_SEEDS = 20, 5

Value = Callable[[BoolArray], FloatArray]
Estimator = Callable[["CountedGame", int, int], FloatArray]  # game, budget, seed -> (n_players,)


@dataclass(frozen=True)
class Problem:
    """Games of one model, their exact Shapley values, and the most of paired Leverage SHAP's error to be reached."""

    name: str
    n_players: int
    games: list[Value]
    truths: list[FloatArray]
    target: float


class CountedGame:
    """A game of one output that knows how often it was asked."""

    def __init__(self, value: Value, n_players: int) -> None:
        self._value, self.n_players, self.n_outputs, self.n_evals = value, n_players, 1, 0

    def __call__(self, coalitions: BoolArray, /) -> FloatArray:
        return self.of_one_output(coalitions)[:, None]

    def of_one_output(self, coalitions: Any) -> FloatArray:
        """Values of shape (n,); members may be given as 0 and 1 of any type."""
        members = np.atleast_2d(coalitions) > 0.5
        self.n_evals += len(members)
        return self._value(members)


# --- problems ---------------------------------------------------------------------------------------------------------


def problems(n_samples: int) -> Iterator[Problem]:
    """One after the other, for they take a while to prepare."""
    X, y = load_wine(return_X_y=True)
    yield _neighbours("k-NN, wine, 13", X, y, n_samples)
    X, y = load_breast_cancer(return_X_y=True)
    yield _neighbours("k-NN, cancer, 16", X[:, :16], y, n_samples)
    yield from _boosted_classes("boosting, cancer, 30", X, y, n_samples)
    yield _boosted_numbers("boosting, groups, 60", *correlated_groups(), n_samples)
    X, y = load_diabetes(return_X_y=True)
    yield _forest("forest, diabetes, 10, confirming", X, y, n_samples)
    yield _network("network, groups, 60, confirming", *correlated_groups(), n_samples)


def correlated_groups(n_rows: int = 1500, n_groups: int = 12, per_group: int = 5) -> tuple[FloatArray, FloatArray]:
    """Features that measure hidden factors, five each, and a target with effects and interactions of the factors."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(n_rows, n_groups))
    X = 0.8 * np.repeat(factors, per_group, axis=1) + 0.6 * rng.normal(size=(n_rows, n_groups * per_group))
    interactions = factors[:, 0] * factors[:, 1] - factors[:, 2] * factors[:, 3] + np.abs(factors[:, 4]) * factors[:, 5]
    return X, factors @ rng.normal(size=n_groups) + interactions + 0.5 * rng.normal(size=n_rows)


def _split(X: FloatArray, y: FloatArray, n_samples: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Training rows and targets, samples to explain, and the reference."""
    strata = y if y.dtype.kind == "i" else None
    X_train, X_test, y_train, _ = train_test_split(X, y, test_size=0.3, random_state=0, stratify=strata)
    return X_train, y_train, X_test[:n_samples], np.median(X_train, axis=0)


def _neighbours(name: str, X: FloatArray, y: FloatArray, n_samples: int) -> Problem:
    X_train, y_train, samples, reference = _split(X, y, n_samples)
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(7)).fit(X_train, y_train)
    m = X.shape[1]
    bits = 1 << np.arange(m)
    everyone = (np.arange(1 << m)[:, None] & bits) > 0
    games: list[Value] = []
    truths = []
    for x in samples:
        table = model.predict_proba(np.where(everyone, x, reference))
        table = table[:, table[-1].argmax()]
        games.append(lambda members, table=table: table[members @ bits])  # type: ignore[misc]  # a default binds it
        truths.append(_exact(table))
    return Problem(name, m, games, truths, target=0.7)


def _exact(table: FloatArray) -> FloatArray:
    """Shapley values from the values of all coalitions, in the order of their bits."""
    m = len(table).bit_length() - 1
    weights = np.array([1.0 / (m * comb(m - 1, size)) for size in range(m)])[np.bitwise_count(np.arange(1 << (m - 1)))]
    values = np.empty(m)
    for player in range(m):
        halves = table.reshape(-1, 2, 1 << player)
        values[player] = (halves[:, 1] - halves[:, 0]).ravel() @ weights
    return values


def _boosted_classes(name: str, X: FloatArray, y: FloatArray, n_samples: int) -> Iterator[Problem]:
    X_train, y_train, samples, reference = _split(X, y, n_samples)
    model = GradientBoostingClassifier(random_state=0).fit(X_train, y_train)
    sides = model.predict(samples)
    probabilities: list[Value] = [
        lambda members, x=x, k=k: model.predict_proba(np.where(members, x, reference))[:, k]  # type: ignore[misc]
        for x, k in zip(samples, sides, strict=True)
    ]
    truths = [_exact_probabilities(model, x, reference) * (1 if k else -1) for x, k in zip(samples, sides, strict=True)]
    yield Problem(f"{name}, probability", X.shape[1], probabilities, truths, target=0.85)
    log_odds: list[Value] = [
        lambda members, x=x: model.decision_function(np.where(members, x, reference))  # type: ignore[misc]
        for x in samples
    ]
    yield Problem(f"{name}, log-odds", X.shape[1], log_odds, _tree_truths(model, samples, reference), target=0.85)


def _boosted_numbers(name: str, X: FloatArray, y: FloatArray, n_samples: int) -> Problem:
    X_train, y_train, samples, reference = _split(X, y, n_samples)
    model = GradientBoostingRegressor(random_state=0).fit(X_train, y_train)
    games: list[Value] = [
        lambda members, x=x: model.predict(np.where(members, x, reference))  # type: ignore[misc]
        for x in samples
    ]
    return Problem(name, X.shape[1], games, _tree_truths(model, samples, reference), target=0.85)


def _forest(name: str, X: FloatArray, y: FloatArray, n_samples: int) -> Problem:
    X_train, y_train, samples, reference = _split(X, y, n_samples)
    model = RandomForestRegressor(50, random_state=0).fit(X_train, y_train)
    m = X.shape[1]
    bits = 1 << np.arange(m)
    everyone = (np.arange(1 << m)[:, None] & bits) > 0
    tables = [model.predict(np.where(everyone, x, reference)) for x in samples]
    games: list[Value] = [lambda members, t=t: t[members @ bits] for t in tables]  # type: ignore[misc]
    return Problem(name, m, games, [_exact(table) for table in tables], target=0.85)


def _network(name: str, X: FloatArray, y: FloatArray, n_samples: int) -> Problem:
    X_train, y_train, samples, reference = _split(X, y, n_samples)
    model = MLPRegressor(hidden_layer_sizes=(40,), activation="tanh", max_iter=400, random_state=0)
    model.fit(X_train, y_train)
    truths = shapley_values(model.predict, samples, reference)
    assert truths.method == "product"
    games: list[Value] = [
        lambda members, x=x: model.predict(np.where(members, x, reference))  # type: ignore[misc]
        for x in samples
    ]
    return Problem(name, X.shape[1], games, list(truths.values), target=0.85)


def _tree_truths(model: Any, samples: FloatArray, reference: FloatArray) -> list[FloatArray]:
    explainer = shap.TreeExplainer(model, reference[None], feature_perturbation="interventional")
    return list(explainer.shap_values(samples))


def _exact_probabilities(model: Any, x: FloatArray, reference: FloatArray) -> FloatArray:
    """Shapley values of the second class's probability, from all coalitions of the features that matter."""
    leaves = [leaf for tree in model.estimators_[:, 0] for leaf in _reached_leaves(tree.tree_, x, reference)]
    players = sorted({feature for inside, outside, _ in leaves for feature in inside | outside})
    bit = {feature: 1 << at for at, feature in enumerate(players)}
    log_odds = np.zeros(1 << len(players))
    for inside, outside, value in leaves:
        # Σ over subsets of `outside` of ± [S holds `inside` and the subset], as coefficients of those two
        terms = [(sum(bit[f] for f in inside), value)]
        for feature in outside:
            terms += [(members | bit[feature], -term) for members, term in terms]
        for members, term in terms:
            log_odds[members] += model.learning_rate * term
    for at in range(len(players)):  # from coefficients to their sums over subsets
        halves = log_odds.reshape(-1, 2, 1 << at)
        halves[:, 1] += halves[:, 0]
    log_odds += model.decision_function(reference[None])[0] - log_odds[0]
    values = np.zeros(len(x))
    values[players] = _exact(1.0 / (1.0 + np.exp(-log_odds)))
    return values


def _reached_leaves(tree: Any, x: FloatArray, reference: FloatArray) -> list[tuple[set[int], set[int], float]]:
    """Leaves that some coalition reaches: who must be in, who must be out, and the leaf's value."""
    leaves = []
    todo: list[tuple[int, set[int], set[int]]] = [(0, set(), set())]
    while todo:
        node, inside, outside = todo.pop()
        feature, children = tree.feature[node], (tree.children_right[node], tree.children_left[node])
        if children[0] < 0:
            leaves.append((inside, outside, float(tree.value[node, 0, 0])))
            continue
        # Trees compare in single precision.
        of_x, of_reference = (children[int(np.float32(row[feature]) <= tree.threshold[node])] for row in (x, reference))
        if of_x == of_reference:
            todo.append((of_x, inside, outside))
            continue
        if feature not in outside:
            todo.append((of_x, inside | {feature}, outside))
        if feature not in inside:
            todo.append((of_reference, inside, outside | {feature}))
    return leaves


# --- estimators -------------------------------------------------------------------------------------------------------


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


# --- the comparison ---------------------------------------------------------------------------------------------------


def run(*, quick: bool = False) -> list[dict[str, Any]]:
    """One row per game and budget: mean errors of dcshap, of Leverage SHAP and of each package's best estimator."""
    n_samples, n_seeds, budgets = (2, 1, EVALS_PER_FEATURE[:1]) if quick else (N_SAMPLES, N_SEEDS, EVALS_PER_FEATURE)
    return [_row(problem, budget, n_seeds) for problem in problems(n_samples) for budget in budgets]


def _row(problem: Problem, evals_per_feature: int, n_seeds: int) -> dict[str, Any]:
    budget = evals_per_feature * problem.n_players
    errors = joblib.Parallel(n_jobs=-1)(
        joblib.delayed(_errors)(CountedGame(game, problem.n_players), truth, budget, seed)
        for game, truth in zip(problem.games, problem.truths, strict=True)
        for seed in range(n_seeds)
    )
    mean = {name: float(np.mean([each[name] for each in errors])) for name in ESTIMATORS}
    packages = ("Leverage SHAP", "shap ", "shapiq", "lightshap")
    best = {
        package: min((name for name in mean if name.startswith(package)), key=mean.__getitem__) for package in packages
    }
    best_peer = min(best.values(), key=mean.__getitem__)
    return {
        "game": problem.name,
        "evals per feature": evals_per_feature,
        "dcshap": mean["dcshap"],
        **{package.strip(): mean[name] for package, name in best.items()},
        "best peer": best_peer,
        "of best peer": mean["dcshap"] / mean[best_peer],
        "of Leverage SHAP": mean["dcshap"] / mean["Leverage SHAP"],
        "target": problem.target,
    }


def _errors(game: CountedGame, truth: FloatArray, budget: int, seed: int) -> dict[str, float]:
    """Every estimator's error, infinite where the budget is too small for it, or it fails."""
    errors = {}
    for name, estimate in ESTIMATORS.items():
        game.n_evals = 0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                values = estimate(game, budget, seed)
        except Exception:
            if name == "dcshap":
                raise
            values = np.full(len(truth), np.nan)
        assert game.n_evals <= budget, f"{name} took {game.n_evals} evaluations of {budget}"
        error = float(((values - truth) ** 2).sum() / (truth**2).sum())
        errors[name] = error if np.isfinite(error) else np.inf
    return errors
