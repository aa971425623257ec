"""What a vertical collaboration gives a party, and what each party's columns are worth: against direct computation."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score

from dcshap import Schema, VerticalCollaboration, datasets
from dcshap.collaboration.baseline import Baseline
from dcshap.exceptions import InputError, NotFittedError

HELD = {"clinic": ["age", "sex", "cp", "trestbps"], "laboratory": ["chol", "fbs", "thalach"], "ward": ["ca", "thal"]}


@pytest.fixture(scope="module")
def heart():
    data = datasets.load_heart()
    X, y = data.data, data.target
    rows = np.random.default_rng(0).permutation(len(X))
    train, test = ({name: X.iloc[part][held] for name, held in HELD.items()} for part in (rows[:220], rows[220:]))
    run = VerticalCollaboration(random_state=0).fit(train, y.iloc[rows[:220]])
    return run, train, y.iloc[rows[:220]], test, y.iloc[rows[220:]]


def test_without_a_model_it_is_logistic_or_ridge_regression(heart):
    run, train, y, *_ = heart
    assert isinstance(run.analyst_.model_, LogisticRegression)
    numbers = VerticalCollaboration(random_state=0).fit(train, y + 0.5)
    assert isinstance(numbers.analyst_.model_, Ridge)


@pytest.mark.filterwarnings("ignore::dcshap.exceptions.QualityWarning")
def test_scores_are_those_of_the_models_themselves(heart):
    run, train, y, test, y_test = heart
    found = run.quality(test, y_test, party="laboratory")
    assert list(found.scores.index) == ["alone", "together", "pooled"]
    proba = run.predict_proba(test)[:, 1]
    assert found.scores["auc"]["together"] == pytest.approx(roc_auc_score(y_test, proba))
    assert found.scores["accuracy"]["together"] == pytest.approx(run.score(test, y_test))
    X, X_test = train["laboratory"], test["laboratory"]
    alone = Baseline.fit(LogisticRegression(max_iter=1000), Schema.for_supervision([X]), X, y)
    assert found.scores["accuracy"]["alone"] == pytest.approx(alone.score(X_test, y_test), abs=0.03)
    assert found.scores["auc"]["pooled"] > found.scores["auc"]["alone"]


def test_joint_explanations_are_nearer_to_the_pooled_model_s(heart):
    run, _, _, test, y_test = heart
    found = run.quality(test, y_test, party="laboratory").fidelity
    assert found["pooled"].relative_error < found["alone"].relative_error
    assert found["pooled"].rank_correlation > 0.7


def test_an_exact_run_explains_as_the_pooled_model_where_nothing_is_reduced():
    """Ridge regression is linear: of a run without noise the explanations are those of its own weights."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
    y = X.to_numpy() @ [1.0, -2.0, 0.5, 1.5] + 0.01 * rng.normal(size=400)
    tables = {"one": X[["a", "b"]], "two": X[["c", "d"]]}
    run = VerticalCollaboration(Ridge(alpha=1e-6), 1, noise=1e-9, random_state=0).fit(tables, y)
    found = run.quality(tables, y, party="two")
    assert found.fidelity["pooled"].relative_error < 0.05
    assert float(found.scores["r2"]["together"]) > 0.99


def test_values_are_the_mean_gain_over_all_orders_of_parties(heart):
    run, _, _, test, y_test = heart
    before = len(run.sent_)
    found = run.contributions(test, y_test)
    assert len(run.sent_) == before
    held = run.analyst_.held_
    points = {name: party.represent(party.records_of(test[name])).rows for name, party in run.parties_.items()}

    def worth(parties):
        if not parties:
            return DummyClassifier().fit(np.zeros((220, 1)), held["ward"][1]).score(np.zeros((len(y_test), 1)), y_test)
        rows, asked = (
            np.concatenate([p[name] for name in sorted(parties)], axis=1)
            for p in ({n: r for n, (r, *_) in held.items()}, points)
        )
        return LogisticRegression(max_iter=1000).fit(rows, held["ward"][1]).score(asked, y_test)

    orders = list(permutations(held))
    for name in held:
        gains = [worth(order[: order.index(name) + 1]) - worth(order[: order.index(name)]) for order in orders]
        assert found["value"][name] == pytest.approx(np.mean(gains))
    assert run.contributions(test, y_test, metric="roc_auc")["value"].sum() > 0.2


def test_what_is_not_at_hand_is_said(heart, tmp_path):
    run, _, _, test, y_test = heart
    with pytest.raises(InputError, match="one label per row"):
        run.quality(test, y_test[:-1], party="ward")
    with pytest.raises(InputError, match="`party` must be one of"):
        run.quality(test, y_test, party="nobody")
    run.save(tmp_path / "run")
    again = VerticalCollaboration.load(tmp_path / "run")
    with pytest.raises(NotFittedError, match="no labels at hand"):
        again.quality(test, y_test, party="ward")
    with pytest.raises(NotFittedError, match="not from disk"):
        again.contributions(test, y_test)
