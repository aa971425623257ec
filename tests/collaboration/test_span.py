from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge

from dcshap.collaboration.moments import Moments, class_responses, number_responses
from dcshap.collaboration.newton import Logits
from dcshap.collaboration.span import auto_components, common_span, n_predictive
from dcshap.exceptions import InputError


def problem(seed: int = 0, *, n: int = 400, p: int = 8, classes: int = 3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + 1
    y = (X @ rng.standard_normal((p, classes)) + 2 * rng.gumbel(size=(n, classes))).argmax(axis=1)
    y[:classes] = np.arange(classes)
    return X, y, [f"c{j}" for j in range(p)]


def moments_of(X, y, classes=None):
    return Moments.of([X], class_responses(y, np.unique(y) if classes is None else classes), classes=True)


def angle(A, B):
    """The largest angle between the spans of two matrices' columns."""
    return float(np.max(scipy.linalg.subspace_angles(A, B)))


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_fisher_directions_are_those_of_discriminant_analysis(classes):
    X, y, names = problem(1, classes=classes)
    span = common_span(moments_of(X, y), names=names, n_components=6, seed=1, ridge=0.0)
    assert span.n_predictive == classes - 1
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    assert angle(span.weights[:, : classes - 1], lda.scalings_[:, : classes - 1]) < 1e-6


def test_fewer_dimensions_keep_the_leading_directions():
    X, y, names = problem(2, classes=5)
    span = common_span(moments_of(X, y), names=names, n_components=2, seed=1, ridge=0.0)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    assert span.n_predictive == 1
    # Leading by their size in the ridge fit rather than by their eigenvalue, so near and not equal.
    assert angle(span.weights[:, :1], lda.scalings_[:, :4]) < 1e-6


def test_a_number_gets_the_direction_of_ridge_regression():
    X, _, names = problem(3)
    target = X @ np.arange(8) + np.random.default_rng(0).standard_normal(400)
    responses = number_responses(target, low=target.min(), high=target.max())
    span = common_span(Moments.of([X], responses, classes=False), names=names, n_components=3, seed=1)
    assert span.n_predictive == 1
    assert angle(span.weights[:, :1], Ridge(alpha=1.0).fit(X, target).coef_[:, None]) < 1e-6


def test_ridge_regression_on_the_span_is_that_on_the_pooled_rows():
    X, _, names = problem(3)
    target = np.tanh(X @ np.arange(8) / 20) + 0.1 * np.random.default_rng(0).standard_normal(400)
    responses = number_responses(target, low=-2, high=2)
    span = common_span(Moments.of([X], responses, classes=False), names=names, n_components=3, seed=1)
    Z = (X - span.center) @ span.weights
    np.testing.assert_allclose(Ridge().fit(Z, target).predict(Z), Ridge().fit(X, target).predict(X), atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression_on_the_span_is_that_on_the_pooled_rows(classes):
    X, y, names = problem(4, classes=classes)
    R = class_responses(y, np.arange(classes))
    logits = Logits.first(Moments.of([X], R, classes=True))
    for _ in range(12):
        logits = logits.updated(logits.contribution([X], R))
    span = common_span(moments_of(X, y), names=names, n_components=classes, seed=1, logits=logits.weights)
    Z = (X - span.center) @ span.weights
    pooled = LogisticRegression(tol=1e-12, max_iter=10_000).fit(X, y)
    reduced = LogisticRegression(tol=1e-12, max_iter=10_000).fit(Z, y)
    np.testing.assert_allclose(reduced.predict_proba(Z), pooled.predict_proba(X), atol=1e-5)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 8))
def test_the_order_of_columns_and_rows_changes_nothing(seed, d):
    X, y, names = problem(seed)
    rng = np.random.default_rng(seed)
    columns, rows = rng.permutation(8), rng.permutation(len(X))
    one = common_span(moments_of(X, y), names=names, n_components=d, seed=5)
    other = common_span(
        moments_of(X[rows][:, columns], y[rows]), names=[names[j] for j in columns], n_components=d, seed=5
    )
    np.testing.assert_allclose(other.weights, one.weights[columns], rtol=1e-6, atol=1e-7)


def test_random_directions_are_uncorrelated_and_orthogonal_to_the_predictive_ones():
    X, y, names = problem(6, classes=2)
    span = common_span(moments_of(X, y), names=names, n_components=5, seed=2)
    np.testing.assert_allclose(span.weights[:, 0] @ span.weights[:, 1:], 0, atol=1e-10)
    Z = X @ span.weights + span.offset
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(Z.std(axis=0), span.spread)
    np.testing.assert_allclose(np.cov(Z[:, 1:].T, bias=True), np.diag(span.spread[1:] ** 2), atol=1e-10)
    assert span.rms == pytest.approx(np.sqrt(np.mean(Z**2)))


def test_another_seed_gives_other_random_directions_only():
    X, y, names = problem(7, classes=2)
    one, other = (common_span(moments_of(X, y), names=names, n_components=3, seed=s) for s in (1, 2))
    np.testing.assert_array_equal(one.weights[:, 0], other.weights[:, 0])
    assert angle(one.weights, other.weights) > 0.1


def test_constant_and_collinear_columns_are_borne():
    X, y, names = problem(8, classes=2)
    wide = np.concatenate([X, X[:, :3] @ np.ones((3, 1)), np.ones((len(X), 2))], axis=1)
    span = common_span(moments_of(wide, y), names=[*names, "sum", "one", "two"], n_components=4, seed=1)
    np.testing.assert_allclose(span.weights[-2:], 0, atol=1e-8)
    assert np.linalg.matrix_rank(wide @ span.weights) == 4


def test_fewer_rows_than_dimensions_give_fewer_dimensions():
    X, y, names = problem(9, n=4, classes=2)
    span = common_span(moments_of(X, y), names=names, n_components=7, seed=1)
    assert span.weights.shape == (8, 3)
    assert np.all(np.isfinite(span.weights))


def test_fifty_classes_leave_room_for_a_random_direction():
    X, y, names = problem(10, n=2000, classes=50)
    d = auto_components(8, n_predictive(moments_of(X, y)))
    assert d == 5
    span = common_span(moments_of(X, y), names=names, n_components=d, seed=1)
    assert span.weights.shape == (8, 5)
    assert span.n_predictive == 4


def test_one_class_or_a_constant_target_leaves_random_directions():
    X, y, names = problem(11)
    one = common_span(moments_of(X, np.zeros(len(y))), names=names, n_components=3, seed=1)
    assert (one.n_predictive, one.weights.shape) == (0, (8, 3))
    constant = Moments.of([X], number_responses(np.ones(len(X)), low=0, high=2), classes=False)
    number = common_span(constant, names=names, n_components=3, seed=1)
    assert number.weights.shape == (8, 3)


def test_classes_of_one_party_only_and_of_nobody_change_nothing():
    X, y, names = problem(12)
    one = common_span(moments_of(X, y), names=names, n_components=4, seed=1)
    other = common_span(moments_of(X, y, [0, 1, 9, 2]), names=names, n_components=4, seed=1)
    np.testing.assert_allclose(other.weights, one.weights, atol=1e-9)


def test_auto_takes_a_quarter_of_the_columns_and_room_for_what_predicts():
    sizes = {(12, 1): 3, (13, 1): 3, (8, 1): 2, (4, 2): 3, (13, 2): 3, (30, 1): 8, (2, 1): 1, (3, 1): 2, (10, 49): 6}
    assert {key: auto_components(*key) for key in sizes} == sizes


def test_what_cannot_be_spanned_is_refused():
    X, y, names = problem()
    moments = moments_of(X, y)
    with pytest.raises(InputError, match="name"):
        common_span(moments, names=names[1:], n_components=2, seed=1)
    with pytest.raises(InputError, match="at least 1"):
        common_span(moments, names=names, n_components=0, seed=1)
    with pytest.raises(InputError, match="must vary"):
        common_span(moments_of(np.ones((9, 8)), y[:9]), names=names, n_components=2, seed=1)
    with pytest.raises(InputError, match="at least 2 columns"):
        auto_components(1, 1)
