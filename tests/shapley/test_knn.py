"""Games of nearest neighbours have the values of the model's own answers, whatever the ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from dcshap._typing import FloatArray
from dcshap.shapley import additive_shapley_values, shapley_values
from dcshap.shapley.game.additive import AdditivePoints
from dcshap.shapley.game.cells import cells_of
from dcshap.shapley.game.games import Points, Span
from dcshap.shapley.game.masking import MaskedRows
from dcshap.shapley.models.knn import neighbors_evaluator
from dcshap.shapley.models.knn_tree import kd_tree, neighbors


def _all_values(predict, points: Points, sample: int = 0) -> tuple[FloatArray, FloatArray]:
    """Values of all coalitions by the kernel, and by the model itself."""
    m = points.n_players
    span = Span(sample, tuple((i,) for i in range(m)), m, proper=False, start=0, stop=2**m)
    evaluator = neighbors_evaluator(predict, points)
    assert evaluator is not None
    (values,) = evaluator(points, [[span]])
    own = np.asarray(predict(points.of_span(span)))
    return values[:, 0], own.reshape(len(own), -1)


def _data(kind: str, n: int, d: int, seed: int):
    rng = np.random.default_rng(seed)
    rows = {
        "continuous": rng.normal(size=(n, d)),
        "lattice": rng.integers(0, 3, size=(n, d)).astype(float),
        "duplicates": rng.normal(size=(max(1, n // 10), d))[rng.integers(0, max(1, n // 10), n)],
        "badly scaled": rng.normal(size=(n, d)) * np.logspace(-3, 6, d),
        "far away": rng.normal(size=(n, d)) + 1e6,
        "tiny": rng.normal(size=(n, d)) * 1e-8,
        "huge": rng.normal(size=(n, d)) * 1e20,
    }[kind]
    return rows, rng.integers(0, 3, n), rng


KINDS = ["continuous", "lattice", "duplicates", "badly scaled", "far away", "tiny", "huge"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree", "brute"])
@pytest.mark.parametrize("k", [1, 7])
def test_every_coalition_has_the_models_own_probabilities(kind, algorithm, k):
    rows, y, _ = _data(kind, 700, 8, seed=k)
    model = KNeighborsClassifier(k, algorithm=algorithm).fit(rows, y)
    points = MaskedRows(cells_of(rows[:2], np.median(rows, axis=0)), tuple((i,) for i in range(8)))
    values, own = _all_values(model.predict_proba, points)
    np.testing.assert_array_equal(values, own)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree"])
def test_every_coalition_has_the_models_own_answer_with_weights_by_distance(kind, algorithm):
    rows, y, _ = _data(kind, 500, 7, seed=3)
    points = MaskedRows(cells_of(rows[:1], rows[1]), tuple((i,) for i in range(7)))
    options = {"n_neighbors": 5, "algorithm": algorithm, "weights": "distance"}
    classifier = KNeighborsClassifier(**options).fit(rows, y)
    values, own = _all_values(classifier.predict_proba, points)
    np.testing.assert_allclose(values, own, rtol=0, atol=1e-12)
    regressor = KNeighborsRegressor(**options).fit(rows, np.stack([y, y**2], axis=1))
    values, own = _all_values(regressor.predict, points)
    np.testing.assert_allclose(values, own, rtol=0, atol=1e-12)


@pytest.mark.parametrize("resolution", [0.0, 2.0**-20, 0.25])
def test_points_are_those_of_the_grid(resolution):
    rows, y, rng = _data("continuous", 600, 4, seed=5)
    grid = np.round(rows * 4) / 4
    model = KNeighborsClassifier(5, algorithm="kd_tree").fit(grid, y)
    points = AdditivePoints(rng.normal(size=(1, 4)), rng.normal(size=(3, 9, 4)), resolution)
    for sample in range(3):
        values, own = _all_values(model.predict_proba, points, sample)
        np.testing.assert_array_equal(values, own)


@pytest.mark.parametrize("n_rows", [3, 64, 65, 130])
def test_any_number_of_training_rows_and_all_of_them_as_neighbours(n_rows):
    rows, y, _ = _data("continuous", n_rows, 5, seed=7)
    points = MaskedRows(cells_of(rows[:1], np.zeros(5)), tuple((i,) for i in range(5)))
    for k in (1, 3, n_rows):
        model = KNeighborsRegressor(k, algorithm="kd_tree").fit(rows, y)
        values, own = _all_values(model.predict, points)
        np.testing.assert_allclose(values, own, rtol=0, atol=1e-12)


class _Listening:
    """Stands in for a model's bound method, and keeps what is asked of it."""

    __name__ = "predict_proba"

    def __init__(self, model):
        self.__self__ = model
        self.asked: list[FloatArray] = []

    def __call__(self, X):
        self.asked.append(X)
        return self.__self__.predict_proba(X)


def test_the_model_is_asked_only_where_its_pick_among_ties_matters():
    rows, y, _ = _data("lattice", 900, 6, seed=9)
    listening = _Listening(KNeighborsClassifier(7, algorithm="ball_tree").fit(rows, y))
    points = MaskedRows(cells_of(rows[:5] + 0.25, np.full(6, 0.75)), tuple((i,) for i in range(6)))
    values, own = _all_values(listening, points)
    np.testing.assert_array_equal(values, own)
    assert sum(map(len, listening.asked[:-1])) < 64


def test_points_in_which_records_meet_are_asked_once():
    rows, y, _ = _data("lattice", 900, 6, seed=9)
    listening = _Listening(KNeighborsClassifier(7, algorithm="ball_tree").fit(rows, y))
    records = np.repeat(rows[:2], 3, axis=0)
    explained = shapley_values(listening, records, np.full(6, 0.75))
    ties = listening.asked[2]  # the first are the base, and ties of the records themselves
    assert len(ties) == len(np.unique(ties, axis=0)) > 0
    # Equal to rounding: where a column stands in a matrix product may change the order of its sums.
    np.testing.assert_allclose(explained.values, np.repeat(explained.values[::3], 3, axis=0), rtol=0, atol=1e-15)


@pytest.mark.parametrize("leaf_size", [1, 30, 1000])
@pytest.mark.parametrize("k", [1, 2, 7, 40])
@pytest.mark.parametrize("kind", ["lattice", "duplicates", "continuous"])
def test_the_pick_of_a_kd_tree_among_ties_is_known(kind, k, leaf_size):
    rows, y, rng = _data(kind, 900, 4, seed=k)
    model = KNeighborsClassifier(k, algorithm="kd_tree", leaf_size=leaf_size).fit(rows, y)
    tree = kd_tree(model)
    assert tree is not None
    places = np.concatenate([rows[:50], rng.integers(0, 5, size=(300, 4)) / 2, rows[:50] / 2 + rows[50:100] / 2])
    found, own = neighbors(tree, places, k), model.kneighbors(places, return_distance=False)
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(own, axis=1))


def test_a_model_with_a_kd_tree_is_not_asked_about_ties():
    rows, y, _ = _data("lattice", 900, 6, seed=9)
    listening = _Listening(KNeighborsClassifier(7, algorithm="kd_tree").fit(rows, y))
    points = MaskedRows(cells_of(rows[:5] + 0.25, np.full(6, 0.75)), tuple((i,) for i in range(6)))
    np.testing.assert_array_equal(*_all_values(listening, points))
    assert len(listening.asked) == 1  # by the test


def test_a_tree_that_picks_otherwise_is_asked(monkeypatch):
    rows, y, _ = _data("lattice", 300, 4, seed=1)
    model = KNeighborsClassifier(3, algorithm="kd_tree").fit(rows, y)
    picked = model.kneighbors(rows[:32], return_distance=False)
    monkeypatch.setattr(model, "kneighbors", lambda *_, **__: picked)
    assert kd_tree(model) is None


def test_many_games_at_once_have_the_values_of_each():
    rows, y, rng = _data("lattice", 500, 5, seed=4)
    model = KNeighborsClassifier(5, algorithm="kd_tree").fit(rows, y)
    points = AdditivePoints(rng.normal(size=(1, 5)), rng.integers(-1, 2, size=(6, 6, 5)) / 2, 2.0**-20)
    spans = [Span(sample, tuple((i,) for i in range(6)), 6, proper=False, start=0, stop=64) for sample in range(6)]
    evaluator = neighbors_evaluator(model.predict_proba, points)
    assert evaluator is not None
    (together,) = evaluator(points, [spans])
    for sample, span in enumerate(spans):
        np.testing.assert_array_equal(together[:, sample], model.predict_proba(points.of_span(span)))


def test_more_players_than_the_tables_hold():
    rows, y, rng = _data("continuous", 300, 3, seed=11)
    model = KNeighborsClassifier(3, algorithm="kd_tree").fit(rows, y)
    points = AdditivePoints(np.zeros((1, 3)), rng.normal(size=(1, 14, 3)) / 3)
    np.testing.assert_array_equal(*_all_values(model.predict_proba, points))


def test_values_are_the_same_in_threads():
    rows, y, _ = _data("lattice", 400, 6, seed=13)
    model = KNeighborsClassifier(5, algorithm="kd_tree").fit(rows, y)
    alone = shapley_values(model.predict_proba, rows[:6], np.ones(6), batch_size=64)
    together = shapley_values(model.predict_proba, rows[:6], np.ones(6), batch_size=64, n_jobs=2)
    np.testing.assert_array_equal(alone.values, together.values)


def test_whoever_has_the_nearest_neighbour_on_their_side_gets_the_change():
    model = KNeighborsRegressor(1, algorithm="kd_tree").fit([[0.0, 0.0], [2.0, 0.0]], [0.0, 1.0])
    offsets = np.array([[[2.0, 0.0], [0.0, 0.5]]])
    explanation = additive_shapley_values(model.predict, np.zeros(2), offsets)
    np.testing.assert_array_equal(explanation.values, [[1.0, 0.0]])


def test_single_precision_and_integers_take_the_general_way():
    rows, y, _ = _data("lattice", 100, 4, seed=15)
    model = KNeighborsClassifier(3).fit(rows, y)
    for dtype in (np.float32, np.int64):
        points = MaskedRows(cells_of(rows[:2].astype(dtype), np.ones(4, dtype)), tuple((i,) for i in range(4)))
        assert neighbors_evaluator(model.predict_proba, points) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree", "brute"])
def test_any_coalition_of_many_players_has_the_models_own_answer(kind, algorithm):
    rows, y, rng = _data(kind, 700, 26, seed=4)
    model = KNeighborsClassifier(7, algorithm=algorithm).fit(rows, y)
    points = MaskedRows(cells_of(rows[:2], np.median(rows, axis=0)), tuple((i,) for i in range(26)))
    evaluator = neighbors_evaluator(model.predict_proba, points)
    assert evaluator is not None
    places = points.of_coalitions(1, rng.random((300, 26)) < 0.5)
    np.testing.assert_array_equal(evaluator._of_rows(places), model.predict_proba(places))
    assert (evaluator.of_rows is None) == (algorithm == "brute")


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_sampled_values_are_those_of_the_model_itself(weights):
    rows, y, _ = _data("continuous", 600, 24, seed=6)
    model = KNeighborsClassifier(7, weights=weights, algorithm="kd_tree").fit(rows, y)
    options: dict[str, Any] = {"max_evals": 400, "random_state": 0}
    found = shapley_values(model.predict_proba, rows[:2], rows.mean(axis=0), **options)
    wanted = shapley_values(lambda X: model.predict_proba(X), rows[:2], rows.mean(axis=0), **options)  # noqa: PLW0108
    np.testing.assert_allclose(found.values, wanted.values, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.standard_errors, wanted.standard_errors, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("index", ["shapley", "owen"])
def test_many_reference_rows_are_averaged(kind, index):
    rows, y, _ = _data(kind, 600, 8, seed=8)
    model = KNeighborsClassifier(7, algorithm="kd_tree").fit(rows, y)
    game: dict[str, Any] = {"index": "owen", "blocks": [[0, 1, 2], [3, 4], [5, 6, 7]]} if index == "owen" else {}
    found = shapley_values(model.predict_proba, rows[:3], rows[10:17], **game)
    wanted = shapley_values(lambda X: model.predict_proba(X), rows[:3], rows[10:17], **game)  # noqa: PLW0108
    np.testing.assert_allclose(found.values, wanted.values, rtol=0, atol=1e-13)
