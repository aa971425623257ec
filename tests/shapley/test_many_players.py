from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap.shapley import shapley_values
from dcshap.shapley.exact import projections
from dcshap.shapley.exact.many_players import values_of_many
from dcshap.shapley.exact.products import shapley_products

FREQUENCIES = np.linspace(0.05, 6.0, 60)


def games(kind: str, n_games: int, n_players: int):
    rng = np.random.default_rng(3)
    added = rng.normal(size=(n_games, n_players)) * 3.0 / np.sqrt(n_players)
    if kind == "a few add much":
        added[:, :5] = rng.normal(size=(n_games, 5)) * 4.0
    elif kind == "heavy tails":
        added = rng.standard_t(1.5, size=added.shape) / np.sqrt(n_players)
    elif kind == "most add nothing":
        added[:, rng.random(n_players) < 0.8] = 0.0
    elif kind == "all alike":
        added[:] = 0.02
    elif kind == "nobody adds anything in one game":
        added[0] = 0.0
    return added


def exact_values(added, weights):
    """Every player's value with all factors multiplied, and quadrature that is exact for polynomials."""
    found = np.empty(added.shape)
    for at, row in enumerate(added):
        steps = np.exp(1j * np.multiply.outer(row, FREQUENCIES)) - 1.0
        found[at] = (shapley_products(steps) @ weights[at]).real
    return found


@pytest.mark.parametrize(
    "kind",
    ["even", "a few add much", "heavy tails", "most add nothing", "all alike", "nobody adds anything in one game"],
)
def test_values_are_those_of_all_factors_multiplied_within_their_bound(kind):
    added = games(kind, 4, 120)
    rng = np.random.default_rng(0)
    weights = (rng.normal(size=(4, 60)) + 1j * rng.normal(size=(4, 60))) * np.exp(-FREQUENCIES)
    values, errors = values_of_many(added, FREQUENCIES, weights, np.full(60, 1e-14))
    off = np.abs(values - exact_values(added, weights)).max(axis=1)
    scale = np.abs(weights).sum(axis=1)
    assert (errors <= 1e-9 * scale).all()
    assert (off <= errors + 60 * 1e-14 * scale).all()
    assert not values[added == 0.0].any()


@pytest.mark.parametrize("scale", [1.0, 4.0, 10.0])
def test_many_rows_and_players_give_what_one_by_one_gives(scale, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 200))
    model = LogisticRegression().fit(X, X @ rng.normal(size=200) > 0)
    model.coef_ *= scale / np.linalg.norm(model.coef_)
    monkeypatch.setattr(projections, "is_worth_it", lambda *_: True)
    many = shapley_values(model.predict_proba, X[:2], X[300:390])
    monkeypatch.setattr(projections, "is_worth_it", lambda *_: False)
    waves = shapley_values(model.predict_proba, X[:2], X[300:390])
    monkeypatch.setattr(projections._Projected, "has_waves", False)
    one_by_one = shapley_values(model.predict_proba, X[:2], X[300:390])
    assert many.method == one_by_one.method == "product"
    np.testing.assert_allclose(many.values, one_by_one.values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(waves.values, one_by_one.values, rtol=0, atol=1e-12)


def test_where_coalitions_hardly_ever_get_changes_nothing(monkeypatch):
    """The box that is followed is far smaller than what the two extreme coalitions reach."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 600))
    model = LogisticRegression().fit(X, X @ rng.normal(size=600) > 0)
    model.coef_ *= 3.0 / np.linalg.norm(model.coef_)
    near = shapley_values(model.predict_proba, X[:2], X[10])
    monkeypatch.setattr(projections._Projected, "_stays_near", False)
    everywhere = shapley_values(model.predict_proba, X[:2], X[10])
    assert near.method == everywhere.method == "product"
    np.testing.assert_allclose(near.values, everywhere.values, rtol=0, atol=2e-12)
