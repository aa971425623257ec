from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dcshap import Schema
from dcshap.cli.columns import Columns
from dcshap.schema import Number

RNG = np.random.default_rng(0)
N = 20_000  # enough for numbers to bend
TABLE = pd.DataFrame({
    "income": RNG.lognormal(size=N),
    "town": RNG.choice(["Bern", "Basel", "Chur"], N),
    "sex": RNG.choice(["f", "m"], N),
})  # fmt: skip


@pytest.mark.parametrize("split", [False, True], ids=["horizontal", "vertical"])
def test_naming_a_column_to_encode_as_indicators_changes_no_number(split):
    columns = Columns(None, onehot=["town"])
    if split:
        found, _ = columns.of_each({"north": TABLE[["income", "sex"]], "south": TABLE[["town"]]})
    else:
        found, _ = columns.of({"north": TABLE})
    wanted = Schema.for_supervision({"north": TABLE})
    income = wanted["income"]
    assert isinstance(income, Number)
    assert income.knots
    assert income.clipped
    assert found["income"] == income
    assert found["town"] == wanted["town"]
    assert [found[name].to_dict()["encoding"] for name in ("town", "sex")] == ["onehot", "ordinal"]


def test_all_categories_are_encoded_as_indicators_where_none_is_named():
    found, _ = Columns(None).of({"north": TABLE})
    assert [found[name].to_dict()["encoding"] for name in ("town", "sex")] == ["onehot", "onehot"]
