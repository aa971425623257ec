"""A vertical party with more columns than exact Owen values can go through one by one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from dcshap import Schema
from dcshap.federation.site.configuration import Right

from .conftest import OFFICER


def wide(columns: int, n: int = 80) -> tuple[dict[str, pd.DataFrame], Schema]:
    rng = np.random.default_rng(3)
    index = pd.Index([f"person-{at:03d}" for at in range(n)], name="id")
    numbers = pd.DataFrame(rng.normal(size=(n, columns + 4)), index=index).add_prefix("x").round(4)
    bank, shop = numbers.iloc[:, :columns], numbers.iloc[:, columns:]
    label = np.where(bank["x0"] + shop.iloc[:, 0] > 0, "yes", "no")
    return {"bank": bank.assign(repaid=label), "shop": shop}, Schema.from_frames({"all": numbers})


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        RandomForestClassifier(5, max_depth=3, random_state=0),
        MLPClassifier((4,), max_iter=50, random_state=0),
    ],
    ids=["logistic", "forest", "network"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("columns", [22])
def test_a_vertical_party_with_many_columns_trains_and_answers_party_views(twin, columns, model):
    tables, schema = wide(columns)
    rights = {OFFICER: Right(("full", "bank"), 100)}
    run = twin(
        "vertical",
        ["bank", "shop"],
        tables=tables,
        schemas={"bank": schema, "shop": schema},
        rights=rights,
    )
    analyst = run.trained(model)
    requester = run.requester(analyst, OFFICER)
    record = tables["bank"].index[5]
    predicted = requester.predict([record]).values
    for view in ("bank", "full"):
        found = requester.explain([record], view=view, index="owen")
        assert np.allclose(found.base_values + found.values.sum(axis=1), predicted, atol=1e-6)
