"""Shapley–Taylor interactions equal their definition, add up, and say how far off they may be."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVR

from dcshap.exceptions import InputError
from dcshap.shapley import shapley_interactions
from tests.shapley.independent import masked_game

RNG = np.random.default_rng(0)
TRAIN = RNG.normal(size=(200, 6))
TWO = (TRAIN[:, 0] + TRAIN[:, 1] * TRAIN[:, 2] > 0).astype(int)
X, REFERENCE = TRAIN[:2], TRAIN.mean(axis=0)
FOREST = RandomForestRegressor(5, random_state=0).fit(TRAIN, TRAIN[:, 0] * TRAIN[:, 1] + TRAIN[:, 2])


def _by_orders(value, n):
    """The definition: over all orders, what a pair adds together to those before both."""
    total = np.zeros((n, n, value(frozenset()).size))
    orders = list(permutations(range(n)))
    for order in orders:
        at = {player: position for position, player in enumerate(order)}
        for i, j in combinations(range(n), 2):
            T = frozenset(order[: min(at[i], at[j])])
            total[i, j] += value(T | {i, j}) - value(T | {i}) - value(T | {j}) + value(T)
    total /= len(orders)
    total += total.swapaxes(0, 1)
    for i in range(n):
        total[i, i] = value(frozenset({i})) - value(frozenset())
    return total


def test_exact_interactions_are_those_of_the_definition():
    found = shapley_interactions(FOREST.predict, X, REFERENCE)
    assert found.method == "exact"
    for at, x in enumerate(X):
        wanted = _by_orders(masked_game(FOREST.predict, x, REFERENCE), 6)[..., 0]
        np.testing.assert_allclose(found.values[at], wanted, atol=1e-12)
    np.testing.assert_allclose(found.predictions, FOREST.predict(X), atol=1e-12)


MODELS: dict[str, Any] = {
    "logistic": LogisticRegression().fit(TRAIN, TWO).predict_proba,
    "quadratic": QuadraticDiscriminantAnalysis().fit(TRAIN, TWO).decision_function,
    "kernel": SVR().fit(TRAIN, TRAIN[:, 0] * TRAIN[:, 1]).predict,
    "linear": LogisticRegression().fit(TRAIN, TWO).decision_function,
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("reference", [REFERENCE, TRAIN[5:8]], ids=["row", "background"])
def test_known_models_need_no_coalitions(name, reference):
    predict = MODELS[name]
    found = shapley_interactions(predict, X, reference, max_evals=20)
    wanted = shapley_interactions(lambda rows: predict(rows), X, reference)  # noqa: PLW0108 - hides the model
    assert (found.method, wanted.method) == ("product", "exact")
    np.testing.assert_allclose(found.values, wanted.values, rtol=0, atol=1e-11)


def test_sampled_interactions_are_within_their_standard_errors():
    exact = shapley_interactions(FOREST.predict, X, REFERENCE)
    found = shapley_interactions(FOREST.predict, X, REFERENCE, method="sampled", max_evals=4000, random_state=0)
    assert found.method == "sampled"
    assert (found.n_evals <= 4000).all()
    off = np.abs(found.values - exact.values)
    assert (off <= 5 * found.standard_errors + 1e-12).all()
    np.testing.assert_allclose(found.predictions, FOREST.predict(X), atol=1e-12)


def test_sixty_players_of_a_known_model_add_up():
    n, rng = 60, np.random.default_rng(1)
    model = LogisticRegression().fit([[0.0] * n, [1.0] * n], [0, 1])
    model.coef_ = rng.normal(size=(1, n)) / 4
    rows = rng.normal(size=(1, n))
    found = shapley_interactions(model.predict_proba, rows, np.zeros(n))
    assert found.method == "product"
    np.testing.assert_allclose(found.predictions, model.predict_proba(rows), atol=1e-10)


def test_groups_play_as_one():
    found = shapley_interactions(FOREST.predict, X, REFERENCE, groups={"a": [0, 1], "b": [2, 3], "c": [4, 5]})
    assert found.feature_names == ("a", "b", "c")
    np.testing.assert_allclose(found.predictions, FOREST.predict(X), atol=1e-12)


def test_what_cannot_be_done_is_refused():
    wide = np.ones((1, 30))
    with pytest.raises(InputError, match="at most 20 players"):
        shapley_interactions(lambda rows: rows.sum(axis=1), wide, 0 * wide, method="exact")
    with pytest.raises(InputError, match="at least 1861"):
        shapley_interactions(lambda rows: rows.sum(axis=1), wide, 0 * wide, max_evals=100)
    with pytest.raises(InputError, match="two players"):
        shapley_interactions(lambda rows: rows.sum(axis=1), np.ones((1, 1)), np.zeros(1))
