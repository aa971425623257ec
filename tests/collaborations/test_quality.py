"""What collaborating gives a party: scores against scikit-learn's, fidelity against a closed form, and the warning."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score

from dcshap import HorizontalCollaboration, datasets
from dcshap.collaborations.quality import _warn_if_worse, compared
from dcshap.exceptions import InputError, NotFittedError, QualityWarning


@pytest.fixture(scope="module")
def heart():
    data = datasets.load_heart()
    X, y = data.data, data.target
    train, test = np.arange(0, 220), np.arange(220, len(X))
    parts = np.array_split(train, 2)
    held = {name: (X.iloc[rows], y.iloc[rows]) for name, rows in zip(("north", "south"), parts, strict=True)}
    return held, (X.iloc[test], y.iloc[test])


def test_scores_are_those_of_the_models_themselves(heart):
    held, (X, y) = heart
    run = HorizontalCollaboration(random_state=0).fit(held)
    found = run.quality(X, y, party="north")
    assert list(found.scores.index) == ["alone", "together", "pooled"]
    proba = run.predict_proba(X, party="north")[:, 1]
    assert found.scores["auc"]["together"] == pytest.approx(roc_auc_score(y, proba))
    assert found.scores["brier"]["together"] == pytest.approx(
        np.mean((proba - (y == run.analyst_.model_.classes_[1])) ** 2)
    )
    assert found.scores["accuracy"]["together"] == pytest.approx(run.score(X, y, party="north"))
    encode = run.parties_["north"].encode
    alone = LogisticRegression(max_iter=1000).fit(encode(held["north"][0]), held["north"][1])
    assert found.scores["accuracy"]["alone"] == pytest.approx(alone.score(encode(X), y))


def test_joint_explanations_are_nearer_to_the_pooled_model_s_than_to_one_s_own(heart):
    held, (X, y) = heart
    found = HorizontalCollaboration(random_state=0).fit(held).quality(X, y, party="north")
    assert found.fidelity["pooled"].relative_error < 0.3 < found.fidelity["alone"].relative_error
    assert found.fidelity["pooled"].wrong_signs <= 0.02
    assert "pooled model: relative error" in str(found)


def test_the_same_attributions_are_no_distance_and_opposite_ones_all_wrong():
    values = np.random.default_rng(0).normal(size=(5, 4, 2))
    same, opposite = compared(values, values), compared(-values, values)
    assert (same.relative_error, same.wrong_signs) == (0.0, 0.0)
    assert same.rank_correlation == pytest.approx(1.0)
    assert opposite.relative_error == pytest.approx(2.0)
    assert opposite.wrong_signs == 1.0


def test_being_worse_than_alone_warns():
    table = pd.DataFrame({"auc": [0.9, 0.5, 0.9]}, index=["alone", "together", "pooled"])
    with pytest.warns(QualityWarning, match="'north' does better alone: auc 0.900 against 0.500"):
        _warn_if_worse("north", table)


def test_numbers_are_scored_by_r2():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 5)), columns=list("abcde"))
    y = pd.Series(X.to_numpy() @ [1.0, -2.0, 0.5, 0.0, 0.0] + 0.1 * rng.normal(size=300))
    held = {"a": (X.iloc[:100], y.iloc[:100]), "b": (X.iloc[100:200], y.iloc[100:200])}
    run = HorizontalCollaboration(random_state=0).fit(held)
    assert isinstance(run.analyst_.model_, Ridge)
    scores = run.quality(X.iloc[200:], y.iloc[200:], party="b").scores
    assert list(scores.columns) == ["r2"]
    assert float(scores["r2"]["together"]) > 0.9


def test_labels_and_rows_must_match_and_a_loaded_run_has_no_rows(heart, tmp_path):
    held, (X, y) = heart
    run = HorizontalCollaboration(random_state=0).fit(held)
    with pytest.raises(InputError, match="one label per row"):
        run.quality(X, y[:-1], party="north")
    run.save(tmp_path / "run")
    again = HorizontalCollaboration.load(tmp_path / "run")
    with pytest.raises(NotFittedError):
        again.quality(X, y, party="north")
    with pytest.raises(NotFittedError):
        again.contributions(X, y)
