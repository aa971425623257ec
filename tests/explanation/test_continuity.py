"""Collaborations with many columns: exact, additive, and the same for all parties."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from dcshap import HorizontalCollaboration, VerticalCollaboration, disagreement
from dcshap.collaboration.continuity import is_continuous

N_COLUMNS = 60


@pytest.fixture(scope="module", name="table")
def _table() -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    names = [f"c{i:02}" for i in range(N_COLUMNS)]
    X = pd.DataFrame(rng.normal(size=(500, N_COLUMNS)), columns=names, index=[f"r{i}" for i in range(500)])
    return X, pd.Series((X @ rng.normal(size=N_COLUMNS) > 0).astype(int), index=X.index)


@pytest.mark.parametrize("model", [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())])
def test_horizontal_parties_agree_exactly(table, model):
    X, y = table
    parts = {"north": (X[:250], y[:250]), "south": (X[250:], y[250:])}
    run = HorizontalCollaboration(model, 20, span="shared", random_state=0).fit(parts)
    explained = {party: run.explain(X.head(3), party=party) for party in parts}
    for party, each in explained.items():
        assert each.method == "product"
        np.testing.assert_allclose(each.predictions, run.predict_proba(X.head(3), party=party), rtol=0, atol=1e-10)
    assert disagreement(explained).rmse < 1e-12


@pytest.mark.parametrize("n_parties", [2, 3])
def test_vertical_views_agree_exactly(table, n_parties):
    X, y = table
    columns = {f"p{k}": list(X.columns[k::n_parties]) for k in range(n_parties)}
    held: dict[str, Any] = {name: X[mine] for name, mine in columns.items()}
    run = VerticalCollaboration(LogisticRegression(), 8, random_state=0).fit(held, y)
    records = {name: part.head(2) for name, part in held.items()}
    predictions = run.predict_proba(records)
    indices: list[Literal["shapley", "owen"]] = ["shapley", "owen"]
    for index in indices:
        whole = run.explain(records, index=index)
        assert whole.method == "product"
        np.testing.assert_allclose(whole.predictions, predictions, rtol=0, atol=1e-10)
        for name, mine in columns.items():
            view = run.explain(records, view=name, index=index)
            assert view.exact
            np.testing.assert_allclose(view.predictions, predictions, rtol=0, atol=1e-10)
            if index == "owen":
                at = [whole.feature_names.index(column) for column in mine]
                np.testing.assert_allclose(view.values[:, : len(mine)], whole.values[:, at], rtol=0, atol=1e-12)


def test_only_models_that_jump_keep_the_grid(table):
    X, y = table
    parts = {"north": (X[:250], y[:250]), "south": (X[250:], y[250:])}
    for model, continuous in ((LogisticRegression(), True), (DecisionTreeClassifier(max_depth=3), False)):
        run = HorizontalCollaboration(model, 5, span="shared", random_state=0).fit(parts)
        assert is_continuous(run.parties_["north"].model_) == continuous
        assert (run.parties_["north"].alignment.resolution == 0.0) == continuous
