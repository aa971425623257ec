"""How good a model is said to be is what it is on points that it has not seen."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from dcshap.collaboration.validation import validate


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 3))
    return points, points[:, 0] + 0.5 * rng.normal(size=n)


def test_a_classifier_s_accuracy_is_that_on_fresh_points():
    points, score = table(4000)
    fresh, fresh_score = table(20_000, seed=1)
    found = validate(LogisticRegression(), points, score > 0)
    truth = LogisticRegression().fit(points, score > 0).score(fresh, fresh_score > 0)
    assert found is not None
    assert found.measure == "accuracy"
    assert found.value == pytest.approx(truth, abs=0.03)
    assert found.chance == pytest.approx(0.5, abs=0.03)
    assert found.points == 800


def test_a_model_that_knows_its_rows_by_heart_is_not_called_good():
    points, _ = table(400)
    noise = np.random.default_rng(2).random(400) > 0.5
    model = KNeighborsClassifier(1)
    assert model.fit(points, noise).score(points, noise) == 1.0
    found = validate(model, points, noise)
    assert found is not None
    assert found.value < 0.7


def test_a_regression_is_compared_with_its_mean():
    points, score = table(500)
    found = validate(LinearRegression(), points, score, np.ones(500))
    assert found is not None
    assert (found.measure, found.chance) == ("R²", 0.0)
    assert found.value == pytest.approx(0.8, abs=0.1)


def test_of_many_points_some_are_drawn():
    points, score = table(50_000)
    found = validate(LogisticRegression(), points, score > 0)
    assert found is not None
    assert found.points == 4000


def test_of_too_few_points_or_a_rare_class_nothing_is_said():
    points, score = table(200)
    assert validate(LogisticRegression(), points[:15], score[:15] > 0) is None
    assert validate(LogisticRegression(), points, np.arange(200) < 4) is None
