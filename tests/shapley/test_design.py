from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from dcshap.shapley.sampled import sampling
from dcshap.shapley.sampled.design import _greedy, most_informative
from dcshap.shapley.sampled.odd_kernel import OddKernel, signs
from dcshap.shapley.sampled.pairs import PairSampler

KERNEL = OddKernel(linear=0.5, nugget=0.02, relevance=np.array([0.5, 0.1, 0.3, 0.9, 0.2]))


def all_pairs(n_players):
    members = np.array(list(itertools.product([False, True], repeat=n_players)))
    return members[members[:, 0] & ~members.all(axis=1)]


def uncertainty(s):
    """The sum of the Shapley values' variances once coalitions are known."""
    covariance = KERNEL.smooth(s, s) + KERNEL.nugget * np.eye(len(s))
    cross = KERNEL.with_values(s)
    return np.trace(KERNEL.of_values() - cross.T @ np.linalg.solve(covariance, cross))


def test_each_choice_is_the_one_that_leaves_the_least_uncertainty():
    pairs = all_pairs(5)
    known, candidates = signs(np.concatenate([np.ones((1, 5), dtype=bool), pairs[:3]])), signs(pairs[3:])
    for best in _greedy(KERNEL, known, candidates, 4):
        tried = [uncertainty(np.concatenate([known, each[None]])) for each in candidates]
        assert tried[best] == pytest.approx(min(tried), rel=1e-9)
        known = np.concatenate([known, candidates[best : best + 1]])


def test_values_that_differ_by_rounding_lead_to_the_same_choice():
    rng = np.random.default_rng(0)
    pairs = PairSampler(14, rng)
    drawn = pairs.draw_up_to(60)
    s = signs(np.concatenate([np.ones((1, 14), dtype=bool), drawn]))
    odd = np.tanh(s @ rng.normal(size=(14, 1)) * 0.4) + 0.1 * s[:, :1] * s[:, 1:2] * s[:, 2:3]
    candidates = pairs.offer(200)
    first = most_informative(s, odd, candidates, 50)
    again = most_informative(s, odd * (1.0 + 1e-15 * rng.normal(size=odd.shape)), candidates, 50)
    assert (first == again).all()
    assert len(set(first.tolist())) == 50


def test_chosen_pairs_lower_the_error_of_a_forest(monkeypatch):
    """No constant was chosen on this game."""
    X, y = load_diabetes(return_X_y=True)
    model = RandomForestRegressor(30, random_state=0).fit(X[:300], y[:300])
    bits = 1 << np.arange(10)
    everyone = (np.arange(1 << 10)[:, None] & bits) > 0

    def errors(x):
        table = model.predict(np.where(everyone, x, np.median(X, axis=0)))

        class Game:
            n_players, n_outputs = 10, 1

            def __call__(self, coalitions):
                return table[coalitions @ bits][:, None]

        truth = sampling.sampled_values(Game(), max_evals=1 << 10, rng=np.random.default_rng(0)).values
        found = [sampling.sampled_values(Game(), max_evals=160, rng=np.random.default_rng(s)).values for s in range(3)]
        return np.mean([((each - truth) ** 2).sum() / (truth**2).sum() for each in found])

    informed = np.mean([errors(x) for x in X[300:304]])
    monkeypatch.setattr(sampling, "MAX_PAIRS_TO_INFORM", 0)
    assert informed < 0.8 * np.mean([errors(x) for x in X[300:304]])
