from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcshap.collaboration.triples import (
    FRACTION,
    deal,
    expand,
    first_share,
    from_fixed,
    second_share,
    to_fixed,
)
from dcshap.exceptions import InputError, ProtocolError


def product(X, Y):
    """Both parties' parts, as they play them."""
    fixed_X, fixed_Y = to_fixed([X]), to_fixed([Y])
    triple = deal(len(X), X.shape[1], Y.shape[1])
    masked_columns = fixed_X - expand(triple.first, "A", *X.shape)
    mask = expand(triple.second, "B", *Y.shape)
    theirs = second_share(masked_columns, mask, triple.share)
    return from_fixed(first_share(fixed_X, fixed_Y - mask, triple.first) + theirs)


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 60), q=st.integers(1, 7), K=st.integers(1, 4), seed=st.integers(0, 2**32))
def test_the_shares_add_up_to_the_product(n, q, K, seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(scale=5, size=(n, q)), rng.integers(0, 2, size=(n, K)).astype(float)
    # Each factor is rounded by at most half a unit in its last place.
    bound = 2.0 ** -(FRACTION + 1) * (np.abs(Y).sum(axis=0) + np.abs(X).sum(axis=0)[:, None] + n)
    assert np.all(np.abs(product(X, Y) - X.T @ Y) <= bound)


def test_numbers_with_few_digits_are_multiplied_exactly():
    rng = np.random.default_rng(0)
    X, Y = rng.integers(-800, 800, size=(50, 3)) / 16, rng.integers(-64, 64, size=(50, 2)) / 32
    assert np.array_equal(product(X, Y), X.T @ Y)


def test_what_is_shown_is_uniform_whatever_the_columns():
    X = np.full((4000, 3), 1.5)
    masked = to_fixed([X]) - expand(deal(4000, 3, 2).first, "A", *X.shape)
    bits = np.unpackbits(masked.view(np.uint8)).reshape(-1, 64)
    assert np.all(np.abs(bits.mean(axis=0) - 0.5) < 5 * 0.5 / np.sqrt(len(bits)))
    assert len(np.unique(masked)) == masked.size


def test_the_holder_s_share_alone_is_uniform():
    X, Y = np.ones((3, 20)), np.ones((3, 20))
    shares = []
    for _ in range(30):
        triple = deal(3, 20, 20)
        mask = expand(triple.second, "B", *Y.shape)
        shares.append(second_share(to_fixed([X]) - expand(triple.first, "A", *X.shape), mask, triple.share))
    bits = np.unpackbits(np.array(shares).view(np.uint8)).reshape(-1, 64)
    assert np.all(np.abs(bits.mean(axis=0) - 0.5) < 5 * 0.5 / np.sqrt(len(bits)))


def test_every_deal_is_new():
    one, two = deal(5, 2, 2), deal(5, 2, 2)
    assert len({one.first, one.second, two.first, two.second}) == 4
    assert not np.array_equal(expand(one.first, "A", 5, 2), expand(one.first, "C", 5, 2))


@pytest.mark.parametrize("value", [np.nan, np.inf, 2.0**30])
def test_numbers_that_would_wrap_around_are_refused(value):
    with pytest.raises(InputError, match="Scale the columns"):
        to_fixed([np.array([[0.0]]), np.array([[value]])])


def test_wrong_shapes_are_refused():
    triple = deal(5, 3, 2)
    columns, mask = expand(triple.first, "A", 5, 3), expand(triple.second, "B", 5, 2)
    with pytest.raises(ProtocolError, match="same 5 records"):
        first_share(columns, mask[:4], triple.first)
    with pytest.raises(ProtocolError, match="same 5 records"):
        second_share(columns[:4], mask, triple.share)
    with pytest.raises(ProtocolError, match="must deal for 3 columns and 2 labels"):
        second_share(columns, mask, triple.share[:2])
