"""Games of real models, with their exact Shapley values, to compare sampled values with.

Absent features take the median of the training rows, and the output is the probability of the class that the model
predicts (cancer: also the log-odds of benign; 60 features: the prediction itself). Shapley values are exact:

- up to 16 features, from all coalitions;
- for the log-odds and the predictions of boosted trees, from their leaves, of which each is a simple game;
- for the probabilities of boosted trees, from all coalitions of those features that some tree splits between the
  sample and the reference. The others are null players.
- for the network of 60 features, by product games, which tests check against all coalitions.

No constant of dcshap was chosen on the games marked "confirming".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestRegressor
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dcshap._typing import BoolArray, FloatArray
from dcshap.shapley import shapley_values

__all__ = ["CountedGame", "Problem", "problems"]

Value = Callable[[BoolArray], FloatArray]


@dataclass(frozen=True)
class Problem:
    """Games of one model, and their exact Shapley values."""

    name: str
    n_players: int
    games: list[Value]
    truths: list[FloatArray]


class CountedGame:
    """A game of one output that knows how often it was asked."""

    def __init__(self, value: Value, n_players: int) -> None:
        self._value, self.n_players, self.n_outputs, self.n_evals = value, n_players, 1, 0

    def __call__(self, coalitions: BoolArray, /) -> FloatArray:
        """Values of shape (n, 1)."""
        return self.of_one_output(coalitions)[:, None]

    def of_one_output(self, coalitions: Any) -> FloatArray:
        """Values of shape (n,); members may be given as 0 and 1 of any type."""
        members = np.atleast_2d(coalitions) > 0.5
        self.n_evals += len(members)
        return self._value(members)


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
    return Problem(name, m, games, truths)


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
    yield Problem(f"{name}, probability", X.shape[1], probabilities, truths)
    log_odds: list[Value] = [
        lambda members, x=x: model.decision_function(np.where(members, x, reference))  # type: ignore[misc]
        for x in samples
    ]
    yield Problem(f"{name}, log-odds", X.shape[1], log_odds, _tree_truths(model, samples, reference))


def _boosted_numbers(name: str, X: FloatArray, y: FloatArray, n_samples: int) -> Problem:
    X_train, y_train, samples, reference = _split(X, y, n_samples)
    model = GradientBoostingRegressor(random_state=0).fit(X_train, y_train)
    games: list[Value] = [
        lambda members, x=x: model.predict(np.where(members, x, reference))  # type: ignore[misc]
        for x in samples
    ]
    return Problem(name, X.shape[1], games, _tree_truths(model, samples, reference))


def _forest(name: str, X: FloatArray, y: FloatArray, n_samples: int) -> Problem:
    X_train, y_train, samples, reference = _split(X, y, n_samples)
    model = RandomForestRegressor(50, random_state=0).fit(X_train, y_train)
    m = X.shape[1]
    bits = 1 << np.arange(m)
    everyone = (np.arange(1 << m)[:, None] & bits) > 0
    tables = [model.predict(np.where(everyone, x, reference)) for x in samples]
    games: list[Value] = [lambda members, t=t: t[members @ bits] for t in tables]  # type: ignore[misc]
    return Problem(name, m, games, [_exact(table) for table in tables])


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
    return Problem(name, X.shape[1], games, list(truths.values))


def _tree_truths(model: Any, samples: FloatArray, reference: FloatArray) -> list[FloatArray]:
    """Shapley values of sums of trees: a leaf is a game that is won with some players in and others out."""
    truths = [np.zeros(samples.shape[1]) for _ in samples]
    for x, values in zip(samples, truths, strict=True):
        for tree in model.estimators_[:, 0]:
            for inside, outside, value in _reached_leaves(tree.tree_, x, reference):
                a, b = len(inside), len(outside)
                for players, share in ((inside, a), (outside, -b)):
                    values[list(players)] += model.learning_rate * value / (share * comb(a + b, a)) if share else 0.0
    return truths


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
