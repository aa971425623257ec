"""Owen values from random orders are right on average, and say how far off they may be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcshap.exceptions import ConvergenceWarning
from dcshap.shapley import shapley_values

RNG = np.random.default_rng(0)
N = 12
W1, W2 = RNG.normal(size=(N, 8)), RNG.normal(size=(8, 2))
X, REFERENCE = RNG.normal(size=(6, N)), np.zeros(N)
BLOCKS = {"a": [0, 1, 2, 3, 4], "b": [5, 6, 7], "c": [8, 9, 10, 11]}
OWEN: Any = {"index": "owen", "blocks": BLOCKS}


def _network(rows):
    return np.maximum(rows @ W1, 0.0) @ W2


def _product(rows):
    return rows.prod(axis=1)


@pytest.fixture(scope="module", name="exact")
def _exact():
    return shapley_values(_network, X, REFERENCE, **OWEN)


def test_sampled_values_are_within_their_standard_errors(exact):
    found = shapley_values(_network, X, REFERENCE, method="sampled", max_evals=1200, random_state=0, **OWEN)
    assert (found.method, found.exact) == ("sampled", False)
    z = (found.values - exact.values) / found.standard_errors
    assert 0.7 < np.sqrt(np.mean(z**2)) < 1.4
    assert (np.abs(z) < 6).all()


def test_every_estimate_adds_up_to_the_prediction():
    found = shapley_values(_network, X, REFERENCE, method="sampled", max_evals=100, random_state=0, **OWEN)
    np.testing.assert_allclose(found.predictions, _network(X), rtol=0, atol=1e-12)
    assert (found.n_evals <= 100).all()


@pytest.mark.parametrize("view", list(BLOCKS))
def test_a_view_is_sampled_by_itself(exact, view):
    found = shapley_values(_network, X, REFERENCE, method="sampled", max_evals=800, view=view, random_state=1, **OWEN)
    wanted = exact.block_view(view)
    assert found.feature_names == wanted.feature_names
    assert (np.abs(found.values - wanted.values) <= 6 * found.standard_errors + 1e-12).all()


def test_blocks_of_pairs_that_interact_pairwise_need_no_luck():
    found = shapley_values(
        lambda rows: rows[:, 0] * rows[:, 1] + rows[:, 5] * rows[:, 8],
        X,
        REFERENCE,
        method="sampled",
        max_evals=200,
        random_state=0,
        **OWEN,
    )
    wanted = np.zeros((len(X), N))
    wanted[:, [0, 1]] = (X[:, 0] * X[:, 1] / 2)[:, None]
    wanted[:, [5, 8]] = (X[:, 5] * X[:, 8] / 2)[:, None]
    np.testing.assert_allclose(found.values, wanted, atol=1e-12)


def test_more_players_than_can_be_enumerated_are_sampled():
    rows = np.random.default_rng(1).normal(size=(2, 40))
    blocks = [list(range(25)), list(range(25, 40))]
    found = shapley_values(lambda x: np.maximum(x, 0.2).sum(axis=1), rows, np.zeros(40), index="owen", blocks=blocks)
    assert found.method == "sampled"
    np.testing.assert_allclose(found.values, np.maximum(rows, 0.2) - 0.2, atol=1e-12)
    assert found.converged.all()


def test_a_tolerance_ends_sampling_or_is_missed_with_a_warning():
    options: Any = {"method": "sampled", "random_state": 0, **OWEN}
    loose = shapley_values(_network, X, REFERENCE, tol=1.0, **options)
    assert loose.converged.all()
    assert (loose.n_evals < 2048).all()
    with pytest.warns(ConvergenceWarning):
        tight = shapley_values(_network, X, REFERENCE, tol=1e-9, max_evals=300, **options)
    assert not tight.converged.any()


def test_the_same_seed_gives_the_same_values_whatever_the_jobs():
    options: Any = {"method": "sampled", "max_evals": 300, "random_state": 5, **OWEN}
    one, two = (shapley_values(_product, X, REFERENCE, n_jobs=jobs, **options) for jobs in (1, 2))
    np.testing.assert_array_equal(one.values, two.values)


def test_a_view_of_sampled_values_carries_their_errors():
    found = shapley_values(_network, X, REFERENCE, method="sampled", max_evals=300, random_state=0, **OWEN)
    view = found.block_view("b")
    np.testing.assert_array_equal(view.standard_errors[:, :3], found.standard_errors[:, 5:8])
    np.testing.assert_allclose(view.standard_errors[:, 3], found.standard_errors[:, :5].sum(axis=1))
