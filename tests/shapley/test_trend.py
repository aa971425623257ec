from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor

from dcshap.shapley import shapley_values
from dcshap.shapley.sampled import gaussian_process
from dcshap.shapley.sampled.odd_kernel import signs
from dcshap.shapley.sampled.sampling import sampled_values
from dcshap.shapley.sampled.trend import Trend, standing_out


class Polynomial:
    """A sum of products of signs, and of something else."""

    def __init__(self, n_players, n_sets, seed, beside=None):
        rng = np.random.default_rng(seed)
        self.n_players, self.n_outputs, self.beside = n_players, 1, beside
        self.single = rng.normal(size=n_players)
        self.sets = [tuple(rng.choice(n_players, size, replace=False)) for size in [2, 3] * n_sets]
        self.weights = rng.normal(size=len(self.sets))

    def __call__(self, coalitions):
        s = signs(coalitions)
        values = s @ self.single
        for members, weight in zip(self.sets, self.weights, strict=True):
            values = values + weight * s[:, list(members)].prod(axis=1)
        return (values if self.beside is None else values + self.beside(s))[:, None]

    def values(self):
        """Shapley values, without what is beside."""
        values = 2.0 * self.single
        for members, weight in zip(self.sets, self.weights, strict=True):
            if len(members) % 2:
                values[list(members)] += 2.0 * weight / len(members)
        return values


@pytest.fixture
def trends(monkeypatch):
    """What stood out, one entry for each look."""
    found: list[Trend | None] = []

    def watched(*arguments):
        found.append(standing_out(*arguments))
        return found[-1]

    monkeypatch.setattr(gaussian_process, "standing_out", watched)
    return found


@pytest.mark.parametrize(("n_players", "n_sets"), [(14, 3), (30, 8), (80, 6)])
def test_a_game_of_few_interactions_is_solved(n_players, n_sets):
    game = Polynomial(n_players, n_sets, seed=n_players)
    found = sampled_values(game, max_evals=24 * n_players, rng=np.random.default_rng(0))
    np.testing.assert_allclose(found.values[:, 0], game.values(), rtol=0, atol=1e-10)
    assert not found.standard_errors.any()
    assert found.converged


def test_boosted_trees_are_solved_from_a_fraction_of_their_coalitions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 16))
    model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, X[:, 0] * X[:, 1] + X[:, 2] - X[:, 3])
    found = shapley_values(model.predict, X[:3], X[10], method="sampled", max_evals=16 * 32)
    exact = shapley_values(model.predict, X[:3], X[10], method="exact")
    np.testing.assert_allclose(found.values, exact.values, rtol=0, atol=1e-9)
    assert found.standard_errors is not None
    assert not found.standard_errors.any()


def test_interactions_that_stand_out_of_a_smooth_game_make_its_values_better(monkeypatch):
    n = 16
    direction = np.random.default_rng(1).normal(size=n) / 3.0
    errors: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(4):
        game = Polynomial(n, 5, seed, beside=lambda s: np.tanh(s @ direction))
        model = _Model(game)
        exact = shapley_values(model, np.ones((1, n)), -np.ones(n), method="exact")
        for screening in (True, False):
            with monkeypatch.context() as patched:
                if not screening:
                    patched.setattr(gaussian_process, "standing_out", lambda *_: None)
                found = sampled_values(game, max_evals=32 * n, rng=np.random.default_rng(seed))
            off = found.values[:, 0] - exact.values[0]
            errors[screening].append(float((off**2).sum()))
            assert (found.standard_errors > 0.0).all()
            assert (np.abs(off) <= 4.0 * found.standard_errors[:, 0]).mean() >= 0.8
    assert np.mean(errors[True]) < 0.2 * np.mean(errors[False])


class _Model:
    def __init__(self, game):
        self.game = game

    def __call__(self, rows):
        return self.game(np.asarray(rows) > 0.0)[:, 0]


@pytest.mark.parametrize("kind", ["votes", "noise"])
def test_nothing_stands_out_of_votes_and_of_noise(kind, trends):
    noise = np.random.default_rng(0).normal(size=1 << 14)

    class Game:
        n_players, n_outputs = 14, 1

        def __call__(self, coalitions):
            if kind == "votes":
                return ((signs(coalitions) @ np.arange(1.0, 15.0) > 3.0) * 1.0)[:, None]
            return noise[coalitions @ (1 << np.arange(14))][:, None]

    for seed in range(5):
        sampled = sampled_values(Game(), max_evals=14 * 32, rng=np.random.default_rng(seed))
        assert sampled.standard_errors.max() > 0.0
    assert trends == [None] * 5


def test_rounding_in_a_game_does_not_change_what_stands_out(trends):
    rough = np.random.default_rng(7).normal(size=20)
    for noise in (0.0, 1e-15):

        def smooth(s, noise=noise):
            return noise * (s @ rough) + 0.3 * np.tanh(s @ rough)

        sampled_values(Polynomial(20, 6, 2, beside=smooth), max_evals=20 * 24, rng=np.random.default_rng(0))
    assert trends[0] is not None
    np.testing.assert_array_equal(trends[0].sets, trends[1].sets)


def test_a_trend_knows_its_products_and_their_values():
    trend = Trend(4, np.array([[0, 1, 3]]))
    s = np.array([[1.0, -1.0, 1.0, -1.0], [1.0, 1.0, 1.0, -1.0]])
    np.testing.assert_array_equal(trend.products(s)[:, 4], [1.0, -1.0])
    np.testing.assert_allclose(trend.values()[:, 4], [2 / 3, 2 / 3, 0.0, 2 / 3])
    odd = trend.products(s) @ np.ones((5, 1))
    assert trend.solution(s, odd, np.full(1, 1e-12)) is None  # so few pairs prove nothing
