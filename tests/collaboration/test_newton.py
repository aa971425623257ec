from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from dcshap.collaboration import newton
from dcshap.collaboration.moments import Moments, class_responses
from dcshap.collaboration.newton import Logits
from dcshap.exceptions import InputError, ProtocolError
from dcshap.schema.knots import hats


def problem(seed: int = 0, *, n: int = 300, p: int = 6, classes: int = 2, strength: float = 1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) * 0.7
    scores = strength * X @ rng.standard_normal((p, classes)) + rng.gumbel(size=(n, classes))
    y = scores.argmax(axis=1)
    y[:classes] = np.arange(classes)
    return X, y, class_responses(y, np.arange(classes))


def after(X, R, rounds, parts=1):
    logits = Logits.first(Moments.of([X], R, classes=True))
    for _ in range(rounds):
        pieces = zip(np.array_split(X, parts), np.array_split(R, parts), strict=True)
        logits = logits.updated(np.sum([logits.contribution([x], r) for x, r in pieces], axis=0))
    return logits


def loss(logits, X, R):
    chances = np.clip((logits.chances(X) * R).sum(axis=1), 1e-300, None)
    return -np.log(chances).sum() + 0.5 * np.sum(logits.weights**2)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_rounds_end_at_the_model_of_the_pooled_rows(classes):
    X, y, R = problem(1, classes=classes)
    model = LogisticRegression(tol=1e-12, max_iter=10_000).fit(X, y)
    logits = after(X, R, 12, parts=3)
    np.testing.assert_allclose(logits.weights, model.coef_, atol=1e-5)
    np.testing.assert_allclose(logits.chances(X), model.predict_proba(X), atol=1e-5)


def test_three_rounds_are_near_it():
    X, y, R = problem(2)
    model = LogisticRegression(tol=1e-12, max_iter=10_000).fit(X, y)
    logits = after(X, R, newton.ROUNDS)
    assert np.corrcoef(X @ logits.weights[0], X @ model.coef_[0])[0, 1] > 0.999


def test_blocks_per_class_end_at_the_same_model(monkeypatch):
    X, _, R = problem(3, classes=4)
    exact = after(X, R, 15)
    n_exact = exact.n_summed
    monkeypatch.setattr(newton, "EXACT", 0)
    blocks = after(X, R, 80)
    assert not blocks.exact
    assert blocks.n_summed < n_exact
    np.testing.assert_allclose(blocks.weights, exact.weights, atol=1e-4)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10_000), st.sampled_from([2, 3]), st.sampled_from([0.1, 1.0, 30.0]), st.sampled_from([12, 40, 200])
)
def test_more_rounds_do_not_raise_the_loss(seed, classes, strength, n):
    X, _, R = problem(seed, n=n, p=8, classes=classes, strength=strength)
    losses = [loss(after(X, R, rounds), X, R) for rounds in range(5)]
    assert np.all(np.isfinite(losses))
    assert losses[3] <= losses[0] * (1 + 1e-6)


def rare_and_bent(n: int = 4000, seed: int = 0):
    """A tenth of the rows in the second class, by a steep effect of a number on nine knots."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, 3))
    score = 3.2 * np.tanh(2 * (values[:, 0] - 0.9)) + values[:, 1] ** 2 + rng.logistic(size=n)
    y = (score > np.quantile(score, 0.9)).astype(int)
    X = np.concatenate([hats(v, np.quantile(v, np.linspace(0.01, 0.99, 9)).tolist()) * 1.4 for v in values.T], axis=1)
    return X, y, class_responses(y, [0, 1])


def test_steps_do_not_end_in_a_cycle_where_a_class_is_rare_and_effects_bend():
    X, y, R = rare_and_bent()
    losses = [loss(after(X, R, rounds), X, R) for rounds in range(7)]
    assert losses[3] < losses[6] * 1.01
    model = LogisticRegression(tol=1e-10, max_iter=10_000).fit(X, y)
    assert np.corrcoef(X @ after(X, R, 3).weights[0], X @ model.coef_[0])[0, 1] > 0.995


def test_a_rare_class_does_not_make_the_steps_overshoot():
    rng = np.random.default_rng(0)
    y = (np.arange(3000) < 30).astype(int)
    X = rng.standard_normal((3000, 10))
    X[:, 0] += 4 * y
    R = class_responses(y, [0, 1])
    losses = [loss(after(X, R, rounds), X, R) for rounds in range(6)]
    assert losses == sorted(losses, reverse=True)


def test_constant_and_collinear_columns_and_few_rows_are_borne():
    X, _, R = problem(4, n=10, p=4)
    wide = np.concatenate([X, X, np.ones((10, 3)), np.random.default_rng(0).standard_normal((10, 30))], axis=1)
    logits = after(wide, R, 4)
    assert np.all(np.isfinite(logits.weights))
    np.testing.assert_allclose(logits.weights[:, :4], logits.weights[:, 4:8], atol=1e-8)
    np.testing.assert_allclose(logits.weights[:, 8:11], 0, atol=1e-8)


def test_parties_with_one_class_each_are_borne():
    X, y, R = problem(5)
    order = np.argsort(y, kind="stable")
    cut = int(np.sum(y == 0))
    logits = Logits.first(Moments.of([X], R, classes=True))
    parts = [logits.contribution([X[rows]], R[rows]) for rows in (order[:cut], order[cut:])]
    np.testing.assert_allclose(np.sum(parts, axis=0), logits.contribution([X], R))


def test_a_round_that_does_not_fit_is_refused():
    X, _, R = problem()
    logits = after(X, R, 0)
    with pytest.raises(ProtocolError, match="sums 36 numbers"):
        logits.updated(np.zeros(5))
    with pytest.raises(InputError, match="two classes"):
        Logits.first(Moments.of([X], R * [1, 0], classes=True))
