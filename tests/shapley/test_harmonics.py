from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from dcshap.shapley import shapley_values
from dcshap.shapley.exact.harmonics import Waves, values_of_waves, waves_of
from dcshap.shapley.exact.products import shapley_products
from dcshap.shapley.game.forms import ComplexArray, ProjectionForm, Smooth
from tests.shapley.test_many_players import games

KINDS = ["even", "a few add much", "heavy tails", "most add nothing", "all alike", "nobody adds anything in one game"]


def followed(low, high) -> Waves:
    waves = waves_of(expit, low, high)
    assert waves is not None
    return waves


def exact_values(added, empty, waves):
    """Every player's value with all factors multiplied, and quadrature that is exact for polynomials."""
    frequencies = waves.frequency * np.arange(1, len(waves.coefficients) + 1)
    found = np.empty(added.shape)
    for at, row in enumerate(added):
        steps = np.exp(1j * np.multiply.outer(row, frequencies)) - 1.0
        weights = waves.coefficients[:, 0] * np.exp(1j * frequencies * (empty[at] - waves.centre))
        found[at] = (shapley_products(steps) @ weights).real
    return found


@pytest.mark.parametrize("n_players", [5, 8, 40, 301])
@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_all_factors_multiplied_within_their_bound(kind, n_players):
    rng = np.random.default_rng(5)
    added, empty = games(kind, 5, n_players), rng.normal(size=5)
    slow: ComplexArray = rng.normal(size=90) + 1j * rng.normal(size=90)
    rough = Waves(0.11, 0.3, slow[:, None], np.zeros(1))  # no coefficient falls off: every wave needs all digits
    smooth = Waves(0.09, -0.2, (slow * np.exp(-0.2 * np.arange(90)))[:70, None], np.zeros(1))
    boxes = np.array([0, 1, 1, 0, 1])
    ends = np.stack([empty, empty + added.sum(axis=1)], axis=1)
    values, errors = values_of_waves(added, ends, boxes, [rough, smooth], 0)
    for box, waves in enumerate([rough, smooth]):
        mine = boxes == box
        off = np.abs(values[mine] - exact_values(added[mine], empty[mine], waves)).max(axis=1)
        assert (off <= errors[mine]).all()
        assert (errors[mine] <= 1e-10 * np.abs(waves.coefficients).sum()).all()
    assert not values[added == 0.0].any()


def test_a_games_values_depend_on_no_other_game():
    waves = [followed(-9.0, 7.0), followed(-20.0, 20.0)]
    added = np.random.default_rng(0).normal(size=(6, 33)) / 4.0
    ends = np.stack([np.zeros(6), added.sum(axis=1)], axis=1)
    boxes = np.array([0, 1, 0, 1, 1, 0])
    together, errors = values_of_waves(added, ends, boxes, waves, 0)
    for at in range(6):
        alone, error = values_of_waves(added[[at]], ends[[at]], np.zeros(1, dtype=np.int64), [waves[boxes[at]]], 0)
        np.testing.assert_array_equal(alone[0], together[at])
        assert error[0] == pytest.approx(errors[at])


@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (-9.0, 30.0), (-60.0, 55.0), (-40.0, -20.0)])
def test_waves_follow_the_function_and_fall_off(low, high):
    waves = followed(low, high)
    u = np.linspace(low, high, 5000)
    m = np.arange(1, len(waves.coefficients) + 1)
    fitted = (np.exp(1j * np.multiply.outer(u - waves.centre, m * waves.frequency)) @ waves.coefficients[:, 0]).real
    apart = fitted - expit(u)
    assert np.ptp(apart) <= 2.0 * waves.error[0] <= 1e-10 * expit(high)
    sizes = np.abs(waves.coefficients[:, 0])
    assert sizes[3 * len(sizes) // 4 :].max() < 1e-4 * sizes.max()


def test_a_function_that_is_too_rough_has_no_waves_and_is_left_to_other_ways():
    assert waves_of(np.abs, -300.0, 200.0) is None
    weights = np.random.default_rng(1).normal(size=(22, 1, 1))
    corner = Smooth(np.abs)
    form = ProjectionForm(weights, np.zeros((1, 1)), corner, np.ones((1, 1, 1)), np.zeros(1))

    class Model:
        def __init__(self):
            self.form = form

        def __call__(self, rows):
            return form(np.asarray(rows))

    X = np.random.default_rng(0).normal(size=(3, 22))
    found = shapley_values(Model(), X[:1], X[2], max_evals=200)
    assert found.method == "sampled"
    assert found.notes
