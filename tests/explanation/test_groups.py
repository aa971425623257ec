from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import FastICA
from sklearn.linear_model import LogisticRegression

from dcshap import HorizontalCollaboration, VerticalCollaboration
from dcshap.exceptions import InputError

GROUPS = {"body": ["a", "c"], "rest": ["b", "d"], "town": ["town"]}


@pytest.fixture(scope="module")
def data():
    rng, data = np.random.default_rng(0), {}
    for name in ("north", "south"):
        X = pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd")).assign(town=rng.choice(["x", "y"], 80))
        data[name] = (X, (X["a"] * X["b"] + X["c"] > 0).astype(int))
    return data


def brute_force(run, X, reference):
    """Shapley values of groups over all orders, from predictions of mixed rows."""
    players, values = list(GROUPS), np.zeros((len(X), len(GROUPS)))
    for order in itertools.permutations(range(len(players))):
        rows = pd.concat([reference] * len(X), ignore_index=True).astype(object)
        before = run.predict_proba(rows.infer_objects(), party="north")[:, 1]
        for at in order:
            for column in GROUPS[players[at]]:
                rows[column] = X[column].to_numpy()
            after = run.predict_proba(rows.infer_objects(), party="north")[:, 1]
            values[:, at] += after - before
            before = after
    return values / math.factorial(len(players))


@pytest.mark.parametrize("reduction", ["linear", "transformer"])
def test_groups_of_columns_are_players_of_one_game(data, reduction):
    if reduction == "linear":
        run = HorizontalCollaboration(LogisticRegression(), random_state=0).fit(data)
    else:
        ica = FastICA(3, random_state=0, max_iter=2000, tol=0.01)
        run = HorizontalCollaboration(LogisticRegression(), 3, span="private", reduction=ica, random_state=0).fit(data)
    X = data["north"][0].head(4)
    explained = run.explain(X, party="north", groups=GROUPS)
    assert explained.feature_names == tuple(GROUPS)
    reference = explained.reference.astype({"town": object})
    np.testing.assert_allclose(explained.values[..., 1], brute_force(run, X, reference), atol=1e-9)


def test_a_column_in_no_group_is_named(data):
    run = HorizontalCollaboration(random_state=0).fit(data)
    with pytest.raises(InputError, match="groups"):
        run.explain(data["north"][0], party="north", groups={"body": ["a", "c"]})


def test_vertical_players_are_single_columns(data):
    X, y = data["north"]
    tables = {"one": X[["a", "b", "town"]], "two": X[["c", "d"]]}
    run = VerticalCollaboration(LogisticRegression(), random_state=0).fit(tables, y)
    with pytest.raises(InputError, match="`groups` are for rows of a horizontal collaboration"):
        run.explain(tables, groups=GROUPS)
