"""Games whose points a function gives are those of the rows that it makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap.shapley import coalition_shapley_values, shapley_values

RNG = np.random.default_rng(0)
X, REFERENCE = RNG.normal(size=(4, 6)), RNG.normal(size=6)
NAMES = tuple("abcdef")
BLOCKS = [[0, 3, 5], [1, 4], [2]]
GAMES: list[dict[str, Any]] = [
    {"index": "shapley"},
    {"index": "owen", "blocks": BLOCKS},
    {"index": "owen", "blocks": BLOCKS, "view": 1},
]


def _bend(rows):
    return np.stack([rows.prod(axis=1), np.sin(rows).sum(axis=1)], axis=1)


def _rows(sample, inside):
    assert inside.dtype == bool
    return np.where(inside, X[sample], REFERENCE)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("batch_size", [None, 8])
def test_values_are_those_of_the_rows(game, batch_size):
    found = coalition_shapley_values(_bend, _rows, n_samples=4, feature_names=NAMES, batch_size=batch_size, **game)
    wanted = shapley_values(_bend, X, REFERENCE, **game)
    np.testing.assert_allclose(found.values, wanted.values, atol=1e-12)
    np.testing.assert_allclose(found.base_values, wanted.base_values, atol=1e-12)


def test_outputs_have_the_names_of_the_model_s_classes():
    model = LogisticRegression().fit(X, ["no", "yes", "no", "yes"])
    found = coalition_shapley_values(model.predict_proba, _rows, n_samples=4, feature_names=NAMES)
    assert found.output_names == ("no", "yes")
    np.testing.assert_allclose(found.predictions, model.predict_proba(X))


def test_a_player_known_to_change_nothing_is_not_evaluated():
    null = np.zeros((4, 6), dtype=bool)
    null[2, 1] = True
    X_null = X.copy()
    X_null[2, 1] = REFERENCE[1]
    found = coalition_shapley_values(
        _bend,
        lambda sample, inside: np.where(inside, X_null[sample], REFERENCE),
        n_samples=4,
        feature_names=NAMES,
        null_players=null,
    )
    np.testing.assert_allclose(found.values, shapley_values(_bend, X_null, REFERENCE).values, atol=1e-12)
    assert found.n_evals.tolist() == [64, 64, 32, 64]


def test_no_samples_give_an_empty_explanation():
    found = coalition_shapley_values(_bend, _rows, n_samples=0, feature_names=NAMES)
    assert found.values.shape == (0, 6)


def test_every_sample_has_a_random_stream_of_its_own():
    same = np.tile(RNG.normal(size=6), (3, 1))
    drawn: list[list[bytes]] = [[], [], []]

    def watched(sample, inside):
        drawn[sample].append(inside.tobytes())
        return np.where(inside, same[sample], REFERENCE)

    coalition_shapley_values(
        _bend, watched, n_samples=3, feature_names=NAMES, method="sampled", max_evals=24, random_state=0
    )
    assert drawn[0] != drawn[1] != drawn[2]
