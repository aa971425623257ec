from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from dcshap import shapley_values
from dcshap.exceptions import InputError
from dcshap.shapley import additive_shapley_values

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(200, 3))
LABELS = (POINTS[:, 0] * POINTS[:, 1] > 0).astype(int)
OFFSETS = RNG.normal(size=(1, 15, 3)) / 4


def test_where_all_coalitions_are_cheaper_than_sampling_auto_evaluates_them():
    tree = DecisionTreeClassifier(random_state=0).fit(POINTS, LABELS)
    found = additive_shapley_values(tree.predict_proba, np.zeros(3), OFFSETS)
    assert found.exact
    assert found.n_evals[0] == 1 << 15


def test_a_model_of_unknown_cost_is_sampled_and_so_is_one_with_few_evaluations_allowed():
    forest = RandomForestClassifier(5, random_state=0).fit(POINTS, LABELS)
    assert not additive_shapley_values(forest.predict_proba, np.zeros(3), OFFSETS, random_state=0).exact
    tree = DecisionTreeClassifier(random_state=0).fit(POINTS, LABELS)
    few = additive_shapley_values(tree.predict_proba, np.zeros(3), OFFSETS, max_evals=500, random_state=0)
    assert not few.exact


def test_what_an_error_advises_can_be_done_by_whoever_asks():
    def many(rows):
        return np.tanh(rows).prod(axis=1)

    with pytest.raises(InputError) as caught:
        shapley_values(many, RNG.normal(size=(1, 24)), np.zeros(24), method="exact")
    assert 'Use `method="sampled"`, or "auto"' in str(caught.value)
    assert "groups" not in str(caught.value)
