from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcshap.collaboration.moments import Moments, class_responses, number_responses
from dcshap.exceptions import InputError


def some_rows(seed: int = 0, n: int = 60, p: int = 5, classes: int = 3):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    y[:classes] = np.arange(classes)
    return rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + y[:, None], y


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 59), st.booleans())
def test_the_sum_of_flat_parts_is_the_moments_of_all_rows(seed, cut, classes):
    X, y = some_rows(seed)
    R = class_responses(y, [0, 1, 2]) if classes else number_responses(y, low=0, high=2)
    parts = [Moments.of([X[rows]], R[rows], classes=classes) for rows in (slice(cut), slice(cut, None))]
    total = Moments.from_flat(
        parts[0].flat() + parts[1].flat(), n_responses=R.shape[1], n_coordinates=5, classes=classes
    )
    assert total.n_rows == 60
    np.testing.assert_allclose(total.mean, X.mean(axis=0))
    np.testing.assert_allclose(total.covariance, np.cov(X.T, bias=True))


def test_rows_may_come_some_at_a_time():
    X, y = some_rows()
    R = class_responses(y, [0, 1, 2])
    whole, pieces = Moments.of([X], R, classes=True), Moments.of(np.split(X, 4), R, classes=True)
    np.testing.assert_allclose(pieces.flat(), whole.flat())


def test_association_is_that_of_indicators_and_of_a_number():
    X, y = some_rows()
    shares = np.bincount(y) / len(y)
    expected = [np.cov((y == c) / np.sqrt(shares[c]), X.T, bias=True)[0, 1:] for c in range(3)]
    found = Moments.of([X], class_responses(y, [0, 1, 2]), classes=True).association
    np.testing.assert_allclose(found, expected)
    target = y + 0.5
    number = Moments.of([X], number_responses(target, low=0, high=3), classes=False).association
    np.testing.assert_allclose(number, [np.cov(target / target.std(), X.T, bias=True)[0, 1:]])


def test_a_class_that_nobody_has_is_left_out():
    X, y = some_rows(classes=2)
    moments = Moments.of([X], class_responses(y, [0, 7, 1]), classes=True)
    assert moments.responses.shape == (3, 3)
    assert moments.present().responses.shape == (2, 2)
    np.testing.assert_allclose(moments.present().mean, X.mean(axis=0))


def test_a_constant_target_is_associated_with_nothing():
    X, _ = some_rows()
    moments = Moments.of([X], number_responses(np.ones(len(X)), low=0, high=2), classes=False)
    np.testing.assert_allclose(moments.association, 0, atol=1e-12)


def test_bad_moments_are_refused():
    X, y = some_rows()
    with pytest.raises(InputError, match="2 agreed classes"):
        class_responses(y, [0, 1])
    with pytest.raises(InputError, match="at least one row"):
        Moments.of([], np.zeros((0, 2)), classes=True)
    with pytest.raises(InputError, match="one response"):
        Moments.of([X], np.zeros((3, 2)), classes=True)
    with pytest.raises(InputError, match="36 numbers"):
        Moments.from_flat(np.zeros(7), n_responses=3, n_coordinates=5, classes=True)
    with pytest.raises(InputError, match="low < high"):
        number_responses(y, low=1, high=1)
