"""What every way of getting exact values must fulfil, run on every one of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor

from dcshap.shapley import Explanation, additive_shapley_values, shapley_values
from dcshap.shapley.game.cells import cells_of
from dcshap.shapley.game.games import ModelEvaluator
from dcshap.shapley.game.masking import MaskedRows
from dcshap.shapley.models.evaluators import evaluator_for
from tests.shapley.independent import algorithm_1, masked_game, owen_by_permutations, shapley_by_permutations

Predict = Callable[[Any], Any]
Explain = Callable[..., Explanation]

M = 6
BLOCKS = [[0, 3, 5], [1, 4], [2]]


@dataclass(frozen=True)
class Way:
    """A model's method, how its values are asked for, and whether the model is recognised."""

    predict: Predict
    explain: Explain
    recognised: bool


def _rows(n: int, *, seed: int) -> np.ndarray:
    # Few distinct values: neighbours tie, and samples share cells with the reference.
    return np.random.default_rng(seed).integers(0, 4, size=(n, M)).astype(float)


TRAIN = _rows(300, seed=1)
CLASSES = (TRAIN @ [1, -2, 1, 0.5, -1, 2] + np.sin(TRAIN[:, 0] * TRAIN[:, 1])).round() % 3
TARGETS = np.cos(TRAIN @ [0.3, 0.2, -0.5, 0.1, 0.7, -0.2]).round(1)
X = _rows(4, seed=2)
REFERENCE = np.array([0.0, 1.0, 2.0, 1.0, 3.0, 0.5])


def _fitted(model: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a network that stops early is as good a game as any
        return model.fit(TRAIN, CLASSES if hasattr(model, "predict_proba") else TARGETS)


def _through_arrays(predict: Predict) -> Explain:
    return lambda **options: shapley_values(predict, X, REFERENCE, **options)


def _through_frames(predict: Predict) -> Explain:
    columns = [f"x{i}" for i in range(M)]
    return lambda **options: shapley_values(
        lambda rows: predict(rows.to_numpy()), pd.DataFrame(X, columns=columns), REFERENCE, **options
    )


def _through_offsets(predict: Predict) -> Explain:
    offsets = (X - REFERENCE)[:, :, None] * np.eye(M)
    return lambda **options: additive_shapley_values(predict, REFERENCE, offsets, **options)


def _tanh(rows):
    return np.tanh(rows @ np.linspace(-1, 1, M * 3).reshape(M, 3))


def _product(rows):
    return (rows + 1).prod(axis=1)


MODELS: dict[str, tuple[Any, str | None]] = {
    "7-nn, kd-tree": (KNeighborsClassifier(7, algorithm="kd_tree"), "predict_proba"),
    "3-nn by distance, kd-tree": (KNeighborsClassifier(3, algorithm="kd_tree", weights="distance"), "predict_proba"),
    "5-nn, ball tree": (KNeighborsClassifier(5, algorithm="ball_tree"), "predict_proba"),
    "4-nn, brute force": (KNeighborsClassifier(4, algorithm="brute"), "predict_proba"),
    "1-nn regression": (KNeighborsRegressor(1, algorithm="kd_tree"), "predict"),
    "6-nn regression by distance": (KNeighborsRegressor(6, algorithm="ball_tree", weights="distance"), "predict"),
    "logistic regression": (LogisticRegression(max_iter=50), "predict_proba"),
    "linear regression": (LinearRegression(), "predict"),
    "ridge": (Ridge(), "predict"),
    "network": (MLPClassifier((8, 5), activation="tanh", max_iter=20, random_state=0), "predict_proba"),
    "network regression": (MLPRegressor(hidden_layer_sizes=(8,), max_iter=20, random_state=0), "predict"),
    "forest": (RandomForestClassifier(5, random_state=0), None),
    "nn by another metric": (KNeighborsClassifier(3, metric="manhattan"), None),
    "nn by own weights": (KNeighborsClassifier(3, weights=lambda d: np.exp(-d)), None),
}


def _ways() -> dict[str, Way]:
    ways = {}
    for through in (_through_arrays, _through_frames, _through_offsets):
        for f in (_tanh, _product):
            ways[f"{f.__name__[1:]}{through.__name__.replace('_', ' ')}"] = Way(f, through(f), recognised=False)
    for name, (model, method) in MODELS.items():
        fitted = _fitted(model)
        predict = getattr(fitted, method or "predict_proba")
        ways[name] = Way(predict, _through_arrays(predict), recognised=method is not None)
        ways[f"{name}, offsets"] = Way(predict, _through_offsets(predict), recognised=method is not None)
    return ways


WAYS = _ways()


@pytest.fixture(params=WAYS, name="way")
def _way(request) -> Way:
    return WAYS[request.param]


def _values(explanation: Explanation) -> np.ndarray:
    return explanation.values.reshape(*explanation.values.shape[:2], -1)


def _games(way: Way):
    return [masked_game(way.predict, x, REFERENCE) for x in X]


def test_values_are_the_mean_contribution_over_all_orders_of_arrival(way):
    expected = [shapley_by_permutations(game, M) for game in _games(way)]
    np.testing.assert_allclose(_values(way.explain()), expected, rtol=0, atol=1e-10)


def test_values_solve_algorithm_1(way):
    expected = [algorithm_1(game, M) for game in _games(way)]
    np.testing.assert_allclose(_values(way.explain()), expected, rtol=0, atol=1e-10)


def test_values_and_base_add_up_to_the_models_own_answers(way):
    np.testing.assert_allclose(way.explain().predictions, way.predict(X), rtol=1e-8, atol=1e-12)


def test_values_do_not_depend_on_the_size_of_batches(way):
    small = way.explain(batch_size=8)
    np.testing.assert_allclose(small.values, way.explain().values, rtol=0, atol=1e-12)


def test_players_equal_to_the_reference_get_exactly_nothing_and_cost_nothing(way):
    explanation = way.explain()
    same = X == REFERENCE
    assert same.any()
    assert np.all(_values(explanation)[same] == 0)
    np.testing.assert_array_equal(explanation.n_evals, 2 ** (~same).sum(axis=1))


def test_owen_values_are_the_mean_over_orders_that_interrupt_no_block(way):
    expected = [owen_by_permutations(game, BLOCKS) for game in _games(way)]
    explanation = way.explain(index="owen", blocks=BLOCKS)
    np.testing.assert_allclose(_values(explanation), expected, rtol=0, atol=1e-10)


def test_owen_values_do_not_depend_on_the_size_of_batches(way):
    small = way.explain(index="owen", blocks=BLOCKS, batch_size=4)
    np.testing.assert_allclose(small.values, way.explain(index="owen", blocks=BLOCKS).values, rtol=0, atol=1e-12)


@pytest.mark.parametrize("block", [0, 1, 2])
def test_a_blocks_view_is_the_full_set_with_other_blocks_folded(way, block):
    full = way.explain(index="owen", blocks=BLOCKS)
    folded = full.block_view(list(full.blocks or ())[block])
    view = way.explain(index="owen", blocks=BLOCKS, view=block)
    assert view.feature_names == folded.feature_names
    np.testing.assert_allclose(view.values, folded.values, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_models_are_recognised_where_they_should_be(name):
    way = WAYS[name]
    points = MaskedRows(cells_of(X, REFERENCE), tuple((i,) for i in range(M)))
    assert isinstance(evaluator_for(way.predict, points), ModelEvaluator) != way.recognised


@pytest.mark.parametrize("name", [name for name, (_, method) in MODELS.items() if method])
def test_a_wrapped_method_gives_the_same_values_the_general_way(name):
    predict = WAYS[name].predict
    general = shapley_values(partial(predict), X, REFERENCE)
    np.testing.assert_allclose(WAYS[name].explain().values, general.values, rtol=0, atol=1e-12)
