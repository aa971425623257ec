from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcshap.exceptions import InputError, SchemaError, TableWarning
from dcshap.schema import Category, Date, Number, Schema, Time
from dcshap.schema.coarsening import coarsen, join, merge

RNG = np.random.default_rng(0)
N = 400


@pytest.fixture
def table():
    town = ["a"] * 200 + ["b"] * 180 + ["c"] * 12 + ["rare"] * 3 + ["once"] * 5
    return pd.DataFrame(
        {
            "age": RNG.integers(18, 95, N),
            "income": np.exp(RNG.normal(10, 1, N)),
            "town": town,
            "day": pd.date_range("1990-03-05", periods=N, freq="11D"),
        }
    )


def test_every_figure_of_a_coarse_schema_rests_on_enough_rows(table):
    schema = Schema.for_supervision([table])
    coarse = coarsen(schema, [table], at_least=10)
    for name in ("age", "income"):
        column = coarse[name]
        assert isinstance(column, Number)
        # Rounded outward, the ends may lie a step beyond the tenth value.
        ordered, step = np.sort(table[name]), (column.high - column.low) / 10
        assert ordered[9] - step <= column.low <= ordered[9]
        assert ordered[-10] <= column.high <= ordered[-10] + step
    town = coarse["town"]
    assert isinstance(town, Category)
    assert town.categories == ("a", "b", "other")
    assert town.rest == "other"
    assert not {"rare", "once"} & set(town.categories)


def test_rounded_numbers_have_two_digits_of_their_range(table):
    coarse = coarsen(Schema.for_supervision([table]), [table])
    age, income, day = coarse["age"], coarse["income"], coarse["day"]
    assert isinstance(age, Number)
    assert isinstance(income, Number)
    assert isinstance(day, Date)
    assert age.low % 1 == age.high % 1 == 0
    assert income.low % 1000 == income.high % 1000 == 0
    assert day.to_dict()["low"].endswith("-01-01")


def test_coarse_times_are_rounded_and_stay_within_the_day():
    late = pd.DataFrame({"at": [f"{minute // 60:02d}:{minute % 60:02d}" for minute in RNG.integers(611, 1440, N)]})
    coarse = coarsen(Schema.for_supervision([late]), [late])["at"]
    assert isinstance(coarse, Time)
    tenth = np.sort(Schema.from_frames([late]).codes(late).ravel())[[9, -10]]
    assert [coarse.low, coarse.high] == [10 * np.floor(tenth[0] / 10), 10 * np.ceil(tenth[1] / 10)]
    assert coarse.low % 10 == coarse.high % 10 == coarse.typical_code % 10 == 0
    both = merge({"a": Schema((coarse,)), "b": Schema((Time("at", 0, 1440),))})
    assert both["at"].to_dict()["high"] == "24:00"


def test_one_row_more_or_less_does_not_show_a_value(table):
    odd = pd.DataFrame({"age": [117], "income": [1e9], "town": ["Atlantis"], "day": [pd.Timestamp("2099-09-09")]})
    more = pd.concat([table, odd], ignore_index=True)
    text = coarsen(Schema.for_supervision([more]), [more]).to_yaml()
    for trace in ("117", "1000000000", "Atlantis", "2099"):
        assert trace not in text


def test_a_coarse_schema_takes_all_rows_of_its_table(table):
    coarse = coarsen(Schema.for_supervision([table]), [table])
    assert not np.isnan(coarse.codes(table)).any()


def test_a_column_that_hardly_varies_is_left_out_with_a_warning(table):
    flat = table.assign(flag=[1.0] * (N - 4) + [2.0] * 4, kind=["x"] * (N - 3) + ["y"] * 3)
    with pytest.warns(TableWarning, match=r"\['flag', 'kind'\] are left out.*fewer than 10 rows"):
        coarse = coarsen(Schema.from_frames([flat]), [flat])
    assert coarse.names == tuple(table.columns)


def test_fewer_than_two_rows_are_no_crowd(table):
    with pytest.raises(InputError, match="`at_least` must be 2 or more"):
        coarsen(Schema.from_frames([table]), [table], at_least=1)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=20, max_size=60), st.integers(2, 10))
def test_no_coarse_range_shows_an_extreme_that_fewer_rows_reach(values, at_least):
    table = pd.DataFrame({"x": values, "y": np.arange(len(values)) % 2 * 1.0})
    if table["x"].nunique() < 2:
        return
    ordered = np.sort(values)
    if ordered[at_least - 1] >= ordered[-at_least]:
        return
    column = coarsen(Schema.from_frames([table]), [table], at_least=at_least)["x"]
    assert isinstance(column, Number)
    step = 10.0 ** np.floor(np.log10((ordered[-at_least] - ordered[at_least - 1]) / 10))
    assert column.low >= ordered[at_least - 1] - step * 1.01
    assert column.high <= ordered[-at_least] + step * 1.01


def test_merged_schemas_cover_all_of_them():
    one = Schema((Number("a", 0, 5, 2, clipped=True), Category("c", ("x", "other"), "onehot", "x", rest="other")))
    two = Schema((Category("c", ("x", "y"), "onehot", "y"), Number("a", -1, 4, 3)))
    assert merge({"one": one, "two": two}) == Schema(
        (
            Number("a", -1, 5, 2.5, clipped=True),
            Category("c", ("x", "y", "other"), "onehot", "x", rest="other"),
        )
    )
    assert merge({"one": one, "two": one}) == one


def test_all_that_keeps_schemas_from_being_merged_is_named():
    one = Schema((Number("a", 0, 5), Number("b", 0, 1), Category("c", ("x", "y")), Number("d", 0, 1)))
    two = Schema((Number("a", 0, 5), Category("b", ("x", "y")), Category("c", ("x", "y"), "onehot")))
    with pytest.raises(SchemaError) as caught:
        merge({"one": one, "two": two})
    for words in ("'b' must be of one kind", "'c' must have one encoding", "'d' is lacking in ['two']"):
        assert words in str(caught.value)


def test_schemas_of_parties_with_different_columns_are_joined_and_columns_of_several_are_named():
    one, two = Schema((Number("b", 0, 5), Number("a", 0, 1))), Schema((Category("c", ("x", "y")),))
    assert join({"one": one, "two": two}) == Schema((*one.columns, *two.columns))
    with pytest.raises(SchemaError, match=r"Several have \['b', 'a'\]"):
        join({"one": one, "two": two, "three": one})
