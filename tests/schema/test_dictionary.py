from __future__ import annotations

import itertools
import traceback
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcshap.exceptions import InputError, RangeWarning, SchemaError
from dcshap.schema import Category, Number, Schema, Time

SECRET = 7741.125
WORD = "zanzibar"


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "age": [20, 40, 30, 60],
            "town": ["b", "a", "a", "c"],
            "size": pd.Categorical(["small", "large", "small", "middle"], ["small", "middle", "large"]),
            "member": [True, False, True, True],
            "income": [1.5, 2.5, 0.5, 9.5],
        }
    )


@pytest.fixture
def schema(frame):
    return Schema.from_frames([frame])


def categories_of(schema: Schema, name: str) -> tuple[Any, ...]:
    column = schema[name]
    assert isinstance(column, Category)
    return column.categories


def said(error: BaseException) -> str:
    """All that a user sees of an error, causes included."""
    return "".join(traceback.format_exception(error, limit=0))


# --- made from tables ----------------------------------------------------------------------------------------


def test_built_from_tables_it_covers_all_of_them():
    one = pd.DataFrame({"age": [30, 50], "town": ["a", "c"]})
    two = pd.DataFrame({"town": ["b", "c"], "age": [10, 40]})
    schema = Schema.from_frames({"one": one, "two": two})
    assert schema.columns == (Number("age", 10, 50, 35), Category("town", ("a", "b", "c"), "ordinal", "b"))


def test_category_order_is_kept_where_all_tables_agree_on_it_and_sorted_otherwise(frame):
    assert categories_of(Schema.from_frames([frame, frame]), "size") == ("small", "middle", "large")
    other = frame.assign(size=frame["size"].cat.reorder_categories(["large", "middle", "small"]))
    assert categories_of(Schema.from_frames([frame, other]), "size") == ("large", "middle", "small")


def test_unused_categories_of_a_dtype_belong_to_the_schema():
    table = pd.DataFrame({"x": pd.Categorical(["a", "b"], ["a", "b", "c"])})
    assert categories_of(Schema.from_frames([table]), "x") == ("a", "b", "c")


@pytest.mark.parametrize("dtype", [object, "string", "str", "category"])
def test_text_of_every_dtype_is_a_category(dtype):
    table = pd.DataFrame({"x": pd.Series(["b", "a", "b"], dtype=dtype)})
    schema = Schema.from_frames([table])
    assert categories_of(schema, "x") == ("a", "b")
    assert schema.codes(table).ravel().tolist() == [1, 0, 1]


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "Int64", "Float64"])
def test_numbers_of_every_dtype_are_numbers(dtype):
    table = pd.DataFrame({"x": pd.Series([1, 4, 2], dtype=dtype)})
    schema = Schema.from_frames([table])
    assert schema.columns == (Number("x", 1, 4, 2),)
    assert schema.codes(table).ravel().tolist() == [1, 4, 2]


@pytest.mark.parametrize("dtype", ["bool", "boolean", object])
def test_truth_values_are_a_category(dtype):
    table = pd.DataFrame({"x": pd.Series([True, False, True], dtype=dtype)})
    schema = Schema.from_frames([table])
    assert categories_of(schema, "x") == (False, True)
    assert schema.codes(table).ravel().tolist() == [1, 0, 1]


def test_typical_is_the_median_of_numbers_and_ordinals_and_the_mode_of_onehot_categories():
    table = pd.DataFrame({"n": [1.0, 2.0, 9.0, 3.0, 4.0], "o": list("aacde"), "h": list("aacde")})
    schema = Schema.from_frames([table], onehot=["h"])
    assert [column.typical for column in schema.columns] == [3, "c", "a"]


def test_typical_looks_over_missing_values():
    table = pd.DataFrame({"n": [1.0, np.nan, 5.0, 2.0], "o": ["a", None, "b", "b"]})
    assert [column.typical for column in Schema.from_frames([table]).columns] == [2, "b"]


def test_the_middle_of_the_range_is_typical_unless_said():
    assert Number("x", 0, 10).typical_code == 5
    assert Number("x", 0, 10, 2).typical_code == 2
    assert Category("x", ("a", "b")).typical_code is None
    assert Category("x", ("a", "b"), typical="b").typical_code == 1


def test_arrays_give_numbered_columns():
    assert Schema.from_frames([np.arange(6.0).reshape(3, 2)]).names == ("x0", "x1")


def test_polars_and_pandas_tables_give_the_same_schema_and_codes(frame, schema):
    table = pl.from_pandas(frame).with_columns(pl.col("size").cast(pl.Enum(["small", "middle", "large"])))
    assert Schema.from_frames([table]) == schema
    np.testing.assert_array_equal(schema.codes(table), schema.codes(frame))


def test_categories_in_order_of_appearance_are_sorted():
    table = pl.DataFrame({"x": ["b", "a", "c"]}, schema={"x": pl.Categorical})
    assert categories_of(Schema.from_frames([table]), "x") == ("a", "b", "c")


def test_polars_nulls_are_missing_values(frame, schema):
    table = pl.from_pandas(frame.astype({"size": "str"})).with_columns(
        pl.when(pl.int_range(pl.len()) == 1).then(None).otherwise(pl.all()).name.keep()
    )
    codes = schema.codes(table, missing="reference")
    assert np.isnan(codes).all(axis=1).tolist() == [False, True, False, False]


# --- written and compared ------------------------------------------------------------------------------------


def test_yaml_round_trip_is_exact(schema, tmp_path):
    assert Schema.from_yaml(schema.to_yaml()) == schema
    schema.save(tmp_path / "schema.yaml")
    assert Schema.load(tmp_path / "schema.yaml") == schema
    assert Schema.load(tmp_path / "schema.yaml").fingerprint == schema.fingerprint


names = st.text(min_size=1, max_size=8)
numbers = st.builds(
    lambda name, low, width: Number(name, low, low + width),
    names,
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
)
times = st.builds(
    lambda name, low, width: Time(name, float(low), float(min(low + width, 1440))),
    names,
    st.integers(0, 1439),
    st.integers(1, 1440),
)
labels = st.text(max_size=5) | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
categories = st.builds(
    Category,
    names,
    st.lists(labels, min_size=2, max_size=5, unique=True).map(tuple),
    st.sampled_from(["ordinal", "onehot"]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(numbers | times | categories, min_size=1, max_size=4, unique_by=lambda column: column.name))
def test_any_schema_survives_yaml(columns):
    schema = Schema(tuple(columns))
    again = Schema.from_yaml(schema.to_yaml())
    assert again == schema
    assert again.fingerprint == schema.fingerprint
    assert schema.differences(again) == []


def test_a_schema_written_by_hand_is_read():
    schema = Schema.from_yaml(
        """
        columns:
          age: {kind: number, low: 17, high: 90, typical: 37}
          sex: {kind: category, categories: [Female, Male], encoding: onehot}
          paid: {kind: category, categories: [true, false]}
        """
    )
    assert schema["age"] == Number("age", 17, 90, 37)
    assert schema["sex"] == Category("sex", ("Female", "Male"), "onehot")
    assert schema.codes(pd.DataFrame({"age": [20], "sex": ["Male"], "paid": [False]})).tolist() == [[20, 1, 1]]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "columns",
        "columns: [a, b]",
        "columns: {}",
        "columns: {a: 3}",
        "columns: {a: {kind: date}}",
        "columns: {a: {kind: number, low: 0}}",
        "columns: {a: {kind: number, low: zero, high: 1}}",
        "columns: {a: {kind: number, low: 0, high: .inf}}",
        "columns: {a: {kind: number, low: 1, high: 1}}",
        "columns: {a: {kind: number, low: 0, high: 1, typical: 2}}",
        "columns: {a: {kind: number, low: 0, high: 1, unit: years}}",
        "columns: {a: {kind: category, categories: 3}}",
        "columns: {a: {kind: category, categories: [x]}}",
        "columns: {a: {kind: category, categories: [x, x]}}",
        "columns: {a: {kind: category, categories: [x, .nan]}}",
        "columns: {a: {kind: category, categories: [x, 2020-01-01]}}",
        "columns: {a: {kind: category, categories: [[x], [y]]}}",
        "columns: {a: {kind: category, categories: [x, y], encoding: binary}}",
        "columns: {a: {kind: category, categories: [x, y], typical: z}}",
        "columns: {no: {kind: number, low: 0, high: 1}}",
        "columns: {a: {kind: number",
    ],
)
def test_a_malformed_schema_is_refused(text):
    with pytest.raises(SchemaError):
        Schema.from_yaml(text)


def test_all_differences_are_named():
    one = Schema((Number("a", 0, 1), Number("b", 0, 1), Category("c", ("x", "y")), Number("d", 0, 1)))
    two = Schema((Number("a", 0, 2), Category("b", ("x", "y")), Category("c", ("y", "x")), Number("e", 0, 1)))
    assert one.differences(two) == [
        "column 'd' is only in the first",
        "column 'e' is only in the second",
        "column 'a' differs in high",
        "column 'b' differs in categories",
        "column 'b' differs in encoding",
        "column 'b' differs in high",
        "column 'b' differs in kind",
        "column 'b' differs in low",
        "column 'c' differs in categories",
    ]


def test_column_order_is_a_difference():
    columns = (Number("a", 0, 1), Number("b", 0, 1))
    assert Schema(columns).differences(Schema(columns[::-1])) == ["the columns stand in another order"]
    assert Schema(columns).differences(Schema(columns)) == []


def test_fingerprints_are_equal_exactly_where_schemas_are():
    columns: list[Any] = [
        Number("a", 0, 1),
        Number("a", 0, 1.5),
        Number("b", 0, 1),
        Category("a", (1, 2)),
        Category("a", (2, 1)),
    ]
    for one, two in itertools.product(columns, repeat=2):
        equal = Schema((one,)).fingerprint == Schema((two,)).fingerprint
        assert equal == (one == two)
    assert Schema((Category("a", (1.0, 2.0)),)).fingerprint == Schema((Category("a", (1, 2)),)).fingerprint
    assert Schema((Number("a", np.float64(0), 1),)).fingerprint == Schema((Number("a", 0, 1),)).fingerprint


def test_a_schema_keeps_its_fingerprint_from_one_version_to_the_next():
    schema = Schema.from_yaml(
        """
        columns:
          age: {kind: number, low: 17, high: 90, typical: 37}
          sex: {kind: category, categories: [Female, Male], encoding: onehot}
        """
    )
    assert schema.fingerprint == "f95deecb07365a1364b32da2b37d4bc1b5add5a914bfd9a654ff3e6467022429"


def test_part_of_a_schema_is_a_schema(schema):
    assert schema.select(["size", "age"]).names == ("size", "age")
    with pytest.raises(SchemaError, match="no column 'height'"):
        schema["height"]


# --- codes ----------------------------------------------------------------------------------------------------


def test_column_order_of_a_table_does_not_matter(frame, schema):
    for order in itertools.permutations(frame.columns):
        np.testing.assert_array_equal(schema.codes(frame[list(order)]), schema.codes(frame))


def test_codes_are_numbers_and_positions_of_categories(frame, schema):
    assert schema.codes(frame).tolist() == [
        [20, 1, 0, 1, 1.5],
        [40, 0, 2, 0, 2.5],
        [30, 0, 0, 1, 0.5],
        [60, 2, 1, 1, 9.5],
    ]


def test_codes_and_frames_are_inverse(frame, schema):
    again = schema.frame(schema.codes(frame))
    assert list(again["size"]) == list(frame["size"])
    np.testing.assert_array_equal(schema.codes(again), schema.codes(frame))


def test_an_array_of_codes_is_taken_as_it_is(frame, schema):
    codes = schema.codes(frame)
    np.testing.assert_array_equal(schema.codes(codes), codes)
    np.testing.assert_array_equal(schema.codes(codes.tolist()), codes)


def test_median_is_a_row_that_could_be_there(schema, frame):
    codes = schema.codes(frame)
    assert schema.median(codes).tolist() == [35, 0, 0, 1, 2]
    codes[:, 0] = np.nan
    assert np.isnan(schema.median(codes)).tolist() == [True, False, False, False, False]


# --- missing values ---------------------------------------------------------------------------------------------


def test_missing_values_are_an_error_that_names_columns_and_counts(frame, schema):
    frame = frame.astype({"age": float})
    frame.loc[[0, 1], "age"] = np.nan
    frame.loc[2, "size"] = np.nan
    with pytest.raises(InputError, match=r"age 2 \(rows 1, 2\), size 1 \(row 3\).*missing='reference'"):
        schema.codes(frame)


def test_missing_values_stay_missing_where_they_mean_absence(frame, schema):
    frame = frame.astype({"age": float})
    frame.loc[1, ["age", "town", "size"]] = None
    assert np.isnan(schema.codes(frame, missing="reference")).sum() == 3
    with pytest.raises(InputError, match="`missing` must be 'error' or 'reference'"):
        schema.codes(frame, missing="drop")


# --- what bad input gets, and that no value is told ----------------------------------------------------------------


def test_every_problem_of_a_table_is_named_at_once(frame, schema):
    bad = frame.drop(columns="income").assign(age=WORD, town=["a", WORD, WORD, "b"], size=SECRET, extra=1)
    with pytest.raises(SchemaError) as caught:
        schema.codes(bad)
    message = str(caught.value)
    assert "['income'] are lacking" in message
    assert "['extra'] are not in the schema" in message
    assert "'age' must hold numbers" in message
    assert "'town' has 2 values that are none of its 3 categories" in message
    assert "'size' has 4 values" in message
    assert WORD not in said(caught.value)
    assert str(SECRET) not in said(caught.value)


def test_every_difference_between_tables_is_named_at_once(frame):
    other = frame.drop(columns="age").assign(income=WORD, extra=1)
    constant = {"member": True}
    with pytest.raises(SchemaError) as caught:
        Schema.from_frames({"north": frame.assign(**constant), "south": other.assign(**constant)})
    message = str(caught.value)
    assert "'south' lacks ['age']" in message
    assert "'south' has ['extra']" in message
    assert "'income' holds numbers for some and categories for others" in message
    assert "'member' must have at least two categories" in message
    assert WORD not in said(caught.value)


def test_all_constant_columns_are_named():
    with pytest.raises(SchemaError, match=r"'a' must have a finite range.*'b' must have a finite range") as caught:
        Schema.from_frames([pd.DataFrame({"a": [SECRET] * 3, "b": [SECRET] * 3, "c": [1, 2, 3]})])
    assert str(SECRET) not in said(caught.value)


def test_text_in_an_array_is_refused_without_quoting_it(schema):
    with pytest.raises(SchemaError, match="must hold numbers") as caught:
        schema.codes(np.array([[1, 2, 3, 4, WORD]], dtype=object))
    assert WORD not in said(caught.value)


def test_every_wrong_code_column_of_an_array_is_named(schema):
    with pytest.raises(SchemaError, match=r"'town' the codes 0 to 2, 2 are not; in column 'size'.* 1 are not"):
        schema.codes(np.array([[20, 3, 0.5, 1, 1], [20, -1, 0, 1, 1]]))


@pytest.mark.parametrize("shape", [(3,), (3, 4), (3, 6), (1, 3, 5)])
def test_an_array_of_another_shape_is_refused(schema, shape):
    with pytest.raises(SchemaError, match=r"shape \(n, 5\)"):
        schema.codes(np.zeros(shape))


def test_rows_of_different_lengths_are_refused(schema):
    with pytest.raises(InputError, match="same length"):
        schema.codes([[1, 2], [3]])


def test_infinite_values_are_refused_by_count(frame, schema):
    frame.loc[[0, 3], "income"] = [np.inf, -np.inf]
    with pytest.raises(InputError, match="Infinite values per column: income 2"):
        schema.codes(frame)


def test_infinite_values_are_left_out_of_a_range():
    table = pd.DataFrame({"x": [1.0, np.inf, 3.0, -np.inf]})
    assert Schema.from_frames([table]).columns == (Number("x", 1, 3, 2),)
    with pytest.raises(SchemaError, match="no finite number"):
        Schema.from_frames([pd.DataFrame({"x": [np.inf, -np.inf]})])


def test_values_outside_the_range_are_kept_with_a_warning_that_counts(frame, schema):
    frame.loc[[0, 1], "income"] = [SECRET, -SECRET]
    frame.loc[2, "age"] = int(SECRET)
    with pytest.warns(RangeWarning, match="age 1, income 2") as caught:
        codes = schema.codes(frame)
    assert codes[0, 4] == SECRET
    assert str(int(SECRET)) not in str(caught[0].message)


def test_values_inside_the_range_give_no_warning_even_beside_missing_ones(frame, schema):
    frame.loc[0, "income"] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schema.codes(frame, missing="reference")


def test_values_outside_the_range_are_counted_beside_missing_ones(frame, schema):
    frame.loc[[0, 1], "income"] = [np.nan, SECRET]
    with pytest.warns(RangeWarning, match="income 1"):
        schema.codes(frame, missing="reference")


@pytest.mark.parametrize("table", [None, 3, "table", pd.Series([1.0]), {"a": [1]}, pl.LazyFrame({"a": [1]})])
def test_what_is_no_table_is_refused(schema, table):
    with pytest.raises(InputError, match="must be a pandas or polars DataFrame"):
        schema.codes(table)


def test_columns_of_one_name_are_refused(frame, schema):
    twice = pd.concat([frame, frame[["age"]]], axis=1)
    with pytest.raises(SchemaError, match=r"twice in 'table 0': \['age'\]"):
        Schema.from_frames([twice])
    with pytest.raises(SchemaError, match="1 columns repeat another's name"):
        schema.codes(twice)
    with pytest.raises(SchemaError, match=r"must differ.*\['a'\]"):
        Schema((Number("a", 0, 1), Number("a", 0, 1)))


def test_columns_without_a_text_name_are_refused():
    with pytest.raises(SchemaError, match=r"must be strings\. 2 of 'table 0' are not"):
        Schema.from_frames([pd.DataFrame([[1, 2], [3, 4]])])


def test_lists_are_refused_as_categories():
    table = pd.DataFrame({"list": [[1], [2]], "x": [1, 2]})
    with pytest.raises(SchemaError, match=r"'list' must hold numbers, text"):
        Schema.from_frames([table])


def test_a_list_where_a_category_belongs_is_an_unknown_value(schema, frame):
    with pytest.raises(SchemaError, match="'town' has 4 values"):
        schema.codes(frame.assign(town=[["a"]] * 4))


def test_no_tables_and_no_columns_are_refused(frame):
    with pytest.raises(SchemaError, match="at least one table"):
        Schema.from_frames([])
    with pytest.raises(SchemaError, match="at least one column"):
        Schema(())
    with pytest.raises(SchemaError, match=r"`onehot` must name columns.*\['height'\]"):
        Schema.from_frames([frame], onehot=["height"])


def test_an_empty_column_is_refused():
    with pytest.raises(SchemaError, match="'b' is empty in every table"):
        Schema.from_frames([pd.DataFrame({"a": [1, 2], "b": [None, None]})])


def test_a_column_that_is_empty_in_one_table_takes_its_kind_from_the_others():
    full, empty = pd.DataFrame({"a": ["x", "y"]}), pd.DataFrame({"a": [None, None]})
    schema = Schema.from_frames([full, empty])
    assert categories_of(schema, "a") == ("x", "y")
    assert np.isnan(schema.codes(empty, missing="reference")).all()


def test_a_column_marked_sensitive_stays_so_when_it_is_written_and_read():
    columns = (Number("age", 0, 9, sensitive=True), Category("sex", ("f", "m"), sensitive=True), Number("pay", 0, 1))
    again = Schema.from_yaml(Schema(columns).to_yaml())
    assert [column.sensitive for column in again.columns] == [True, True, False]
    assert "sensitive" not in again["pay"].to_dict()
