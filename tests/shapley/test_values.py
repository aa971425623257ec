"""Nothing is changed silently, and what cannot be done is said."""

from __future__ import annotations

from typing import Any

import joblib
import numpy as np
import pytest

from dcshap._typing import FloatArray
from dcshap.exceptions import ConvergenceWarning, InputError, ModelError
from dcshap.shapley import additive_shapley_values, shapley_values

X = np.random.default_rng(0).normal(size=(3, 4)) + 5
ZEROS = np.zeros(4)


def _sum(rows: FloatArray) -> FloatArray:
    return np.asarray(rows.sum(axis=1))


def _wide(n_players: int):
    return np.ones((1, n_players)), np.zeros(n_players)


def _bent(rows: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(rows.sum(axis=1) - rows.shape[1] / 2, 0) * (1 + rows[:, 0] * rows[:, -1]))


@pytest.mark.parametrize(
    ("X", "reference", "says"),
    [
        (np.ones(4), ZEROS, r"two dimensions.*\(4,\)"),
        (X, np.zeros(3), r"\(3, 4\).*\(1, 3\)"),
        (X, np.zeros((0, 4)), "at least one row"),
        (X, np.zeros((2, 2, 2)), r"\(2, 2, 2\)"),
    ],
)
def test_shapes_that_do_not_match_are_named(X, reference, says):
    with pytest.raises(InputError, match=says):
        shapley_values(_sum, X, reference)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"index": "banzhaf"}, r"`index` must be one of \['shapley', 'owen'\]. Got 'banzhaf'"),
        ({"method": "kernel"}, r"`method` must be one of \['auto', 'exact', 'sampled'\]"),
        ({"max_evals": 0}, "`max_evals` must be"),
        ({"max_evals": "many"}, "`max_evals` must be"),
        ({"max_evals": True}, "`max_evals` must be"),
        ({"batch_size": 0}, "`batch_size` must be"),
        ({"tol": 0.0}, "`tol` must be"),
        ({"method": "exact", "max_evals": 8}, "at least 16 for exact values.*Got 8"),
        ({"method": "sampled", "max_evals": 5}, "`max_evals` must be at least 10 to sample"),
        ({"groups": [[0, 1], [1, 2, 3]]}, "exactly once. Held more than once: \\['x1'\\]"),
        ({"groups": [[0, 1], [3]]}, "exactly once. Missing: \\['x2'\\]"),
        ({"groups": {"a": [0, 1, 2, 3], "b": []}}, "at least one column"),
        ({"groups": ["x0", "x1", "x2", "x3"]}, "must be a list of columns. Got str"),
        ({"groups": [[0, 1], [2, "colour"]]}, "that exist. Got 'colour'"),
        ({"index": "owen"}, "needs `blocks`"),
        ({"blocks": [[0, 1], [2, 3]]}, '`blocks` and `view` belong to `index="owen"`'),
        ({"index": "owen", "blocks": [[0, 1], [2, 3]], "view": "west"}, "`view` must be one of"),
        ({"index": "owen", "blocks": [[0, 1], [2]]}, "Missing: \\['x3'\\]"),
        ({"index": "owen", "blocks": [[0, 1], [2, 3]], "max_evals": 11}, "at least 26 to sample Owen values"),
        (
            {"index": "owen", "blocks": [[0, 1], [2, 3]], "max_evals": 11, "method": "exact"},
            "at least 12 for exact values",
        ),
    ],
)
def test_arguments_that_cannot_be_met_are_refused(options, says):
    with pytest.raises(InputError, match=says):
        shapley_values(_sum, X, ZEROS, **options)


def test_exact_values_of_more_than_20_players_are_refused_with_their_cost():
    with pytest.raises(InputError, match=r'Got 21, which would need 2097152 evaluations.*`method="sampled"`'):
        shapley_values(_sum, *_wide(21), method="exact")


def test_owen_values_of_a_game_that_is_too_large_are_refused_with_their_cost():
    with pytest.raises(InputError, match="at most 20 players at a time"):
        shapley_values(_sum, *_wide(22), index="owen", blocks=[range(20), range(20, 22)], method="exact")


def test_twenty_players_differing_from_the_reference_among_more_are_exact():
    X, reference = _wide(30)
    X[0, 6:] = 0
    explanation = shapley_values(_sum, X, reference, method="exact")
    np.testing.assert_allclose(explanation.values, X, atol=1e-12)


def test_no_samples_give_an_empty_explanation():
    explanation = shapley_values(_sum, np.empty((0, 4)), ZEROS)
    assert explanation.values.shape == (0, 4)
    assert len(explanation) == 0


def test_a_model_that_raises_keeps_its_error_as_the_cause():
    def broken(rows):
        raise KeyError("lost")

    with pytest.raises(ModelError, match=r"KeyError on a batch of shape \(4, 4\)") as caught:
        shapley_values(broken, X, ZEROS)
    assert isinstance(caught.value.__cause__, KeyError)


def test_answers_that_are_not_numbers_are_counted():
    def gaps(rows):
        return np.where(rows[:, 0] == 0, np.nan, 1.0)

    with pytest.raises(ModelError, match="NaN or infinity in 1 of 4 rows"):
        shapley_values(gaps, X, ZEROS)


@pytest.mark.parametrize("answer", [np.zeros(3), np.zeros((4, 2, 2)), np.float64(1)])
def test_answers_of_another_shape_are_refused(answer):
    with pytest.raises(ModelError, match=r"shape \(n,\) or \(n, outputs\)"):
        shapley_values(lambda _: answer, X, ZEROS)


def test_answers_that_are_words_are_refused():
    with pytest.raises(ModelError, match="predict_proba"):
        shapley_values(lambda rows: np.array(["yes"] * len(rows)), X, ZEROS)


@pytest.mark.parametrize("method", ["exact", "sampled"])
def test_a_model_that_answers_the_same_row_differently_is_reported(method):
    rng = np.random.default_rng(0)
    with pytest.raises(ModelError, match="same row alike every time"):
        shapley_values(lambda rows: _bent(rows) + rng.normal(size=len(rows)), *_wide(6), method=method)


def test_a_model_in_single_precision_is_not_mistaken_for_one():
    weights = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)

    def single(rows: FloatArray) -> Any:
        return np.exp(rows.astype(np.float32) @ weights)

    X = np.random.default_rng(1).normal(size=(20, 8))
    explanation = shapley_values(single, X, np.zeros(8), batch_size=16)
    np.testing.assert_allclose(explanation.predictions, single(X), rtol=1e-4)


def test_auto_is_exact_as_long_as_the_budget_allows_and_says_so_when_not():
    X, reference = _wide(8)
    assert shapley_values(_bent, X, reference, max_evals=256).method == "exact"
    sampled = shapley_values(_bent, X, reference, max_evals=255, random_state=0)
    assert (sampled.method, sampled.exact) == ("sampled", False)
    assert 0 < sampled.n_evals[0] <= 255
    assert sampled.standard_errors.any()


def test_sampled_values_add_up():
    X, reference = _wide(12)
    explanation = shapley_values(_bent, X, reference, method="sampled", max_evals=200, random_state=0)
    np.testing.assert_allclose(explanation.predictions, _bent(X), rtol=1e-8)


def test_samples_with_few_players_of_their_own_are_exact_beside_sampled_ones():
    X = np.ones((2, 10))
    X[1, 3:] = 0
    explanation = shapley_values(_bent, X, np.zeros(10), max_evals=64, random_state=0)
    assert explanation.n_evals[1] == 8
    assert not explanation.standard_errors[1].any()
    assert not explanation.exact


def test_standard_errors_above_tol_are_warned_of():
    X, reference = _wide(14)
    with pytest.warns(ConvergenceWarning, match="in 1 of 1 samples"):
        explanation = shapley_values(_bent, X, reference, method="sampled", max_evals=60, tol=1e-9, random_state=0)
    assert not explanation.converged.any()


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_the_same_seed_gives_the_same_values_whatever_the_jobs(backend):
    X = np.random.default_rng(0).normal(size=(3, 9))
    options: dict[str, Any] = {"method": "sampled", "max_evals": 80, "random_state": 7}
    alone = shapley_values(_bent, X, np.zeros(9), **options)
    with joblib.parallel_config(backend=backend):
        together = shapley_values(_bent, X, np.zeros(9), n_jobs=2, **options)
    np.testing.assert_array_equal(alone.values, together.values)


@pytest.mark.parametrize(
    ("base", "offsets", "options", "says"),
    [
        (np.zeros(2), np.zeros((3, 2)), {}, r"`offsets` must have shape \(samples, players, d\). Got \(3, 2\)"),
        (np.zeros(3), np.zeros((1, 4, 2)), {}, r"`base` must have shape \(2,\) or \(1, 2\).*\(3,\)"),
        (np.full(2, np.nan), np.zeros((1, 4, 2)), {}, "must be finite"),
        (np.zeros(2), np.zeros((1, 4, 2)), {"resolution": -1.0}, "`resolution` must be"),
        (np.zeros(2), np.zeros((1, 4, 2)), {"feature_names": ["a"]}, "must name 4 players. Got 1"),
    ],
)
def test_offsets_that_do_not_fit_are_refused(base, offsets, options, says):
    with pytest.raises(InputError, match=says):
        additive_shapley_values(_sum, base, offsets, **options)


def test_each_sample_may_have_a_base_of_its_own():
    rng = np.random.default_rng(0)
    bases, offsets = rng.normal(size=(3, 2)), rng.normal(size=(3, 4, 2))

    def predict(points):
        return np.exp(points).sum(axis=1)

    together = additive_shapley_values(predict, bases, offsets).values
    each = [additive_shapley_values(predict, bases[i], offsets[i : i + 1]).values[0] for i in range(3)]
    np.testing.assert_allclose(together, each, rtol=0, atol=1e-12)


def test_the_model_sees_points_of_the_grid_only():
    def predict(points):
        assert np.all(points % 0.25 == 0)
        return points.sum(axis=1)

    rng = np.random.default_rng(0)
    additive_shapley_values(predict, rng.normal(size=2), rng.normal(size=(2, 5, 2)), resolution=0.25)


def test_values_that_cancel_but_for_rounding_are_no_alarm():
    worth = np.zeros((16, 2))
    worth[[4, 11], 0] = 3.0  # both ends are 0, and so is every player's value

    def game(rows: FloatArray) -> FloatArray:
        return np.asarray(worth[rows.astype(int) @ [1, 2, 4, 8]])

    explained = shapley_values(game, np.ones((1, 4)), ZEROS)
    np.testing.assert_allclose(explained.values, 0.0, atol=1e-15)
