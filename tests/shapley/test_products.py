"""Values of products equal those from the definition, and errors are within their bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcshap.shapley.exact.products import owen_products, shapley_products
from tests.shapley.independent import owen_by_permutations, shapley_by_permutations

BLOCKS = [[0, 3], [1, 2, 5], [4]]


def _game(inside, outside):
    """The game of one product, real and imaginary part as two outputs."""

    def value(members):
        factors = [inside[i] if i in members else outside[i] for i in range(len(inside))]
        product = np.prod(factors)
        return np.array([product.real, product.imag])

    return value


def _parts(values):
    return np.stack([values.real, values.imag], axis=1)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_shapley_and_owen_values_of_a_product_are_those_of_its_definition(seed):
    rng = np.random.default_rng(seed)
    inside, outside = rng.normal(size=(2, 6)) + 1j * rng.normal(size=(2, 6))
    inside[rng.integers(6)] = 0.0  # a factor of 0, by which nothing could be divided
    outside[rng.integers(6)] = 0.0
    game, steps = _game(inside, outside), (inside - outside)[:, None]
    found = shapley_products(steps, out=outside[:, None])[:, 0]
    np.testing.assert_allclose(_parts(found), shapley_by_permutations(game, 6), atol=1e-12)
    found = owen_products(steps, BLOCKS, out=outside[:, None])[:, 0]
    np.testing.assert_allclose(_parts(found), owen_by_permutations(game, BLOCKS), atol=1e-12)


@pytest.mark.parametrize("n_players", [1, 2, 33, 100, 257])
@pytest.mark.parametrize("reach", [0.1, 3.0, 30.0, 300.0])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-10, 1e-13])
def test_fewer_nodes_err_by_no_more_than_the_tolerance(n_players, reach, tolerance):
    rng = np.random.default_rng(7)
    moves = rng.normal(size=(n_players, 5)) * np.array([1.0, 0.1, 2.0, 0.5, 1e-3])
    moves *= reach / np.abs(moves).sum(axis=0).max()
    steps = np.exp(1j * moves) - 1.0
    exact = shapley_products(steps)
    found = shapley_products(steps, tolerance=np.full(5, tolerance))
    rounding = 1e-15 * n_players
    assert np.abs(found - exact).max() <= 2.0 * tolerance + rounding
    if n_players > 2:
        blocks = [list(range(n_players))[at::3] for at in range(3)]
        exact, found = owen_products(steps, blocks), owen_products(steps, blocks, tolerance=np.full(5, tolerance))
        assert np.abs(found - exact).max() <= 6.0 * tolerance + rounding


def test_a_player_that_changes_nothing_gets_exactly_nothing():
    steps = np.exp(1j * np.array([[1.0], [0.0], [2.0]])) - 1.0
    assert shapley_products(steps)[1] == 0
    assert owen_products(steps, [[0, 1], [2]])[1] == 0
