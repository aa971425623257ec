from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd
import pytest

from dcshap import HorizontalCollaboration
from dcshap.exceptions import SchemaError, TableWarning
from dcshap.schema import Category, Date, Number, Schema, Time
from dcshap.schema.dates import as_days, date_of, holds_dates
from dcshap.schema.kinds import looks_like_categories

RNG = np.random.default_rng(0)
N = 60
DAYS = pd.Series(pd.date_range("2020-01-30", periods=N, freq="3D"))


def of(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"x": RNG.normal(size=N)} | columns)


# --- dates ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    [
        DAYS,
        DAYS.dt.tz_localize("UTC"),
        DAYS.dt.strftime("%Y-%m-%d"),
        DAYS.dt.strftime("%Y-%m-%dT%H:%M:%S"),
        DAYS.dt.strftime("%Y/%m/%d"),
        DAYS.dt.strftime("%d.%m.%Y"),
        pd.Series([day.date() for day in DAYS]),
    ],
)
def test_dates_of_every_unambiguous_notation_are_days_since_the_agreed_date(written):
    table = of(day=written)
    schema = Schema.from_frames([table])
    column = schema["day"]
    assert isinstance(column, Date)
    expected = [(day.date() - datetime.date(1970, 1, 1)).days for day in DAYS]
    assert schema.codes(table)[:, 1].tolist() == expected
    assert column.to_dict() | {"typical": ""} == {
        "kind": "date", "low": "2020-01-30", "high": "2020-07-25", "typical": "", "since": "1970-01-01",
    }  # fmt: skip


def test_a_date_schema_survives_yaml_and_shows_dates_again():
    table = of(day=DAYS.dt.strftime("%Y-%m-%d"))
    schema = Schema.from_frames([table], knots=5, robust=True)
    again = Schema.from_yaml(schema.to_yaml())
    assert again == schema
    assert again.fingerprint == schema.fingerprint
    assert schema.frame(schema.codes(table))["day"].tolist() == table["day"].tolist()


def test_a_date_written_by_hand_may_stand_without_quotation_marks():
    schema = Schema.from_yaml("columns: {day: {kind: date, low: 2000-01-01, high: 2001-01-01, since: 2000-01-01}}")
    assert schema["day"] == Date("day", 0, 366, since="2000-01-01")
    assert schema.codes(pd.DataFrame({"day": ["2000-01-02", "2000-03-01T12:00"]})).ravel().tolist() == [1, 60.5]


def test_what_can_be_read_in_two_ways_is_no_date():
    unclear = pd.Series(["03/04/2024"] * N)
    assert not holds_dates(unclear)
    with pytest.warns(TableWarning, match="'day'.*read in two ways: write them as YYYY-MM-DD"):
        assert Schema.from_frames([of(day=unclear)]).names == ("x",)


def test_a_value_that_is_no_date_is_counted_with_its_row():
    schema = Schema.from_frames([of(day=DAYS)])
    with pytest.raises(SchemaError, match=r"'day' must hold dates; it has 1 values that are no dates.*\(row 2\)"):
        schema.codes(pd.DataFrame({"x": [1.0, 2.0], "day": ["2020-02-01", "soon"]}))


def test_days_and_dates_are_each_other_s_inverse():
    for day in (-40000.0, 0.0, 19000.0, 2932896.0):
        assert as_days(pd.Series([date_of(day)]))[0] == day


def test_a_collaboration_learns_from_a_date():
    tables = {}
    for name in ("north", "south"):
        days = RNG.integers(0, 3000, N)
        X = of(day=[date_of(float(day)) for day in days], z=RNG.normal(size=N))
        tables[name] = (X, np.where(days > 1500, "late", "early"))
    run = HorizontalCollaboration(random_state=0).fit(tables)
    X, y = tables["north"]
    assert run.score(X, y, party="south") > 0.85
    explained = run.explain(X.head(3), party="north")
    assert explained.data["day"].tolist() == X["day"].head(3).tolist()


# --- times of day ----------------------------------------------------------------------------------------------

MINUTES = RNG.integers(8 * 60, 20 * 60, N)
CLOCK = [datetime.time(minute // 60, minute % 60) for minute in MINUTES]


@pytest.mark.parametrize(
    "written",
    [
        CLOCK,
        [time.strftime("%H:%M") for time in CLOCK],
        [time.strftime("%H:%M:00") for time in CLOCK],
        [time.strftime("%I:%M %p") for time in CLOCK],
        [time.strftime("%H:%M").removeprefix("0") for time in CLOCK],
    ],
)
def test_times_of_day_are_minutes_since_midnight(written):
    table = of(at=written)
    schema = Schema.from_frames([table], knots=5, robust=True)
    column = schema["at"]
    assert isinstance(column, Time)
    assert schema.codes(table)[:, 1].tolist() == MINUTES.tolist()
    assert column.low % 1 == column.high % 1 == 0
    assert schema.frame(schema.codes(table))["at"].tolist() == [time.strftime("%H:%M") for time in CLOCK]
    assert Schema.from_yaml(schema.to_yaml()) == schema
    assert [column.to_dict()[key] for key in ("kind", "high")] == ["time", date_of(column.high / 1440)[11:16]]


@pytest.mark.parametrize("text", ["24:01", "25:00", "9:5", "12:60", "13:00 pm", "0:10 am", "12:00:60", "noon", "12"])
def test_what_is_no_time_of_day_is_counted_with_its_row(text):
    schema = Schema.from_frames([of(at=CLOCK)])
    with pytest.raises(SchemaError, match=r"must hold times of day; it has 1 values .* \(HH:MM\) \(row 2\)"):
        schema.codes(pd.DataFrame({"x": [1.0, 2.0], "at": ["12:00", text]}))


def test_a_time_without_quotation_marks_is_asked_for_with_them():
    with pytest.raises(SchemaError, match="'HH:MM', in quotation marks"):
        Schema.from_yaml("columns: {at: {kind: time, low: 12:00, high: '24:00'}}")
    assert Schema.from_yaml("columns: {at: {kind: time, low: '12:00', high: '24:00'}}")["at"] == Time("at", 720, 1440)
    with pytest.raises(SchemaError, match="between 00:00 and 24:00"):
        Time("at", 0, 1500)


def test_times_at_one_party_and_text_at_another_are_told_apart():
    with pytest.raises(SchemaError, match="holds categories for some and times of day for others"):
        Schema.from_frames({"a": of(at=CLOCK), "b": of(at=["early", "late"] * (N // 2))})


def test_durations_are_called_so():
    with pytest.warns(TableWarning, match=r"\['stay'\], durations: turn them into numbers"):
        assert Schema.from_frames([of(stay=pd.to_timedelta(np.arange(N), "h"))]).names == ("x",)


# --- identifiers, free text, codes -----------------------------------------------------------------------------


def test_identifiers_and_free_text_are_left_out_and_never_listed():
    table = of(
        name=[f"person {i}" for i in range(N)],
        note=[f"said {i} things" for i in RNG.integers(0, 50, N)],
        patient=np.arange(1000, 1000 + N),
        record_id=RNG.choice(10**9, N, replace=False),
        income=RNG.choice(10**6, N, replace=False),
    )
    with pytest.warns(TableWarning, match=r"\['name', 'note'\], nearly.*\['patient', 'record_id'\], whole numbers"):
        schema = Schema.from_frames([table])
    assert schema.names == ("x", "income")
    assert "person" not in schema.to_yaml()


def test_a_column_that_is_said_to_be_a_category_is_one():
    table = of(ward=np.arange(N) % 4)
    assert isinstance(Schema.from_frames([table])["ward"], Number)
    column = Schema.from_frames([table], category=["ward"])["ward"]
    assert isinstance(column, Category)
    assert column.categories == (0, 1, 2, 3)
    with pytest.raises(SchemaError, match=r"`category` must name columns.*\['bed'\]"):
        Schema.from_frames([table], category=["bed"])


def test_whole_numbers_of_few_values_look_like_categories():
    table = of(ward=np.arange(N) % 4, flag=np.arange(N) % 2, age=np.arange(N), grade=(np.arange(N) % 5) / 2)
    assert looks_like_categories([table]) == ["ward"]
    assert looks_like_categories([table.head(40)]) == []


def test_spellings_of_a_category_are_counted():
    with pytest.warns(TableWarning, match="'sex': 4 categories are 2 in different spellings"):
        Schema.from_frames([of(sex=["M", "m", "F", "f"] * (N // 4))])


# --- what the schema does not know --------------------------------------------------------------------------------


@pytest.fixture
def schema():
    return Schema((Number("x", -9, 9), Category("town", ("a", "b"))))


def test_columns_that_are_not_in_the_schema_are_ignored_with_a_warning(schema):
    table = pd.DataFrame({"x": [1.0], "town": ["a"], "note": ["hm"]})
    with pytest.warns(TableWarning, match=r"\['note'\] are not in the schema and are ignored"):
        assert schema.codes(table).tolist() == [[1, 0]]


def test_unknown_categories_are_an_error_with_rows_or_count_as_absent(schema):
    table = pd.DataFrame({"x": [1.0] * 8, "town": ["a", *"cdefgh", "b"]})
    with pytest.raises(
        SchemaError, match=r"6 values that are none of its 2 categories \(rows 2, 3, 4, 5, 6 and 1 more"
    ):
        schema.codes(table)
    codes = schema.codes(table, unknown="reference")
    assert np.isnan(codes[:, 1]).tolist() == [False, *[True] * 6, False]


def test_an_unknown_category_is_not_taken_for_a_missing_value(schema):
    table = pd.DataFrame({"x": [1.0, np.nan], "town": ["c", "a"]})
    with pytest.raises(ValueError, match=r"x 1 \(row 2\)\. Fill"):
        schema.codes(table, unknown="reference")
    codes = schema.codes(table, unknown="reference", missing="reference")
    assert np.isnan(codes).tolist() == [[False, True], [True, False]]


def test_a_value_that_is_none_of_the_categories_counts_as_the_rest():
    schema = Schema((Category("town", ("a", "b", "other"), rest="other"),))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        codes = schema.codes(pd.DataFrame({"town": ["b", "zz", None]}), missing="reference")
    np.testing.assert_array_equal(codes.ravel(), [1, 2, np.nan])
    assert Schema.from_yaml(schema.to_yaml()) == schema


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("columns:\n  a: {kind: category, categories: [yes, maybe]}", r"Line 2: YAML reads yes as a truth value"),
        ("columns:\n  a:\n    kind: category\n    categories:\n    - x\n    - NO", "Line 6: YAML reads NO"),
        (
            "columns:\n  b: {kind: number, low: 0, high: 1}\n  on: {kind: number, low: 0, high: 1}",
            "Line 3: YAML reads on",
        ),
        ("columns:\n  1: {kind: number, low: 0, high: 1}", "Line 2: a column's name must be text"),
        ("columns:\n  a: {kind: number, low: 0, high: 1}\n  a: {kind: number, low: 0, high: 2}", "Lines 2 and 3"),
        ("columns:\n  a: {kind: number\n  b: 2", "not valid YAML. Look at line 3"),
    ],
)
def test_what_yaml_reads_otherwise_than_it_was_meant_is_refused_with_its_line(text, words):
    with pytest.raises(SchemaError, match=words):
        Schema.from_yaml(text)
