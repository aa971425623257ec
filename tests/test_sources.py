from __future__ import annotations

import decimal
import sqlite3

import pandas as pd
import pytest

from dcshap._sources import Reading, read_file, read_source
from dcshap.exceptions import InputError, TableWarning

TABLE = pd.DataFrame({"id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0], "label": [0, 1, 0]})


@pytest.fixture
def folder(tmp_path):
    for name in ("t.csv", "t", "T.CSV", "t.txt"):
        TABLE.to_csv(tmp_path / name, index=False)
    for name in ("t.parquet", "t.pq", "T.PARQUET"):
        TABLE.to_parquet(tmp_path / name)
    with sqlite3.connect(tmp_path / "t.db") as connection:
        TABLE.to_sql("people", connection, index=False)
    connection.close()
    (tmp_path / "empty.csv").touch()
    (tmp_path / "odd.csv").write_bytes(b"\xff\xfe\x00a,b")
    (tmp_path / "odd.parquet").write_text("no parquet")
    return tmp_path


@pytest.mark.parametrize("kind", ["file", "csv", "parquet", "sql", "sql from the environment"])
def test_a_table_comes_from_a_file_or_a_database(folder, kind, monkeypatch):
    url = f"sqlite:///{folder / 't.db'}"
    monkeypatch.setenv("PEOPLE_URL", url)
    source = {
        "file": {"file": "t.parquet"},
        "csv": {"csv": "t.csv"},
        "parquet": {"parquet": "t.parquet"},
        "sql": {"sql": "select * from people", "url": url},
        "sql from the environment": {"sql": "select * from people", "url": "env:PEOPLE_URL"},
    }[kind]
    assert read_source(source, base=folder).equals(TABLE)


@pytest.mark.parametrize("name", ["t.csv", "t", "T.CSV", "t.txt", "t.parquet", "t.pq", "T.PARQUET"])
def test_a_file_s_name_says_what_it_is(folder, name):
    assert read_file(folder / name).equals(TABLE)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ({}, "one of file, csv, parquet or sql"),
        ({"csv": "a", "parquet": "b"}, "one of file, csv, parquet or sql"),
        ({"csv": "missing.csv"}, "no such file"),
        ({"csv": "."}, "It is a folder"),
        ({"csv": "empty.csv"}, "It is empty"),
        ({"csv": "odd.csv"}, "must have several columns"),
        ({"parquet": "odd.parquet"}, "as a parquet table"),
        ({"parquet": "t.csv"}, "as a parquet table"),
        ({"sql": "select * from people", "url": "env:NOT_SET_ANYWHERE"}, "NOT_SET_ANYWHERE"),
        ({"sql": "select * from nothing", "url": "sqlite://"}, "query could not be run"),
        ({"sql": "select 1", "url": "no url"}, "query could not be run"),
        ({"sql": "select 1"}, "query could not be run"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(folder, source, text):
    with pytest.raises(InputError, match=text):
        read_source(source, base=folder)


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"])
def test_separator_and_encoding_of_a_text_file_are_found(tmp_path, sep, encoding):
    table = TABLE.assign(town=["Zürich", "a b", "x"])
    table.to_csv(tmp_path / "t.csv", index=False, sep=sep, encoding=encoding)
    assert read_file(tmp_path / "t.csv").equals(table)


def test_a_separator_inside_of_quotation_marks_separates_nothing(tmp_path):
    table = pd.DataFrame({"a;b;c;d": [1, 2], "text": ["x;y;z;w", "p|q"]})
    table.to_csv(tmp_path / "t.csv", index=False)
    assert read_file(tmp_path / "t.csv").equals(table)


def test_decimal_commas_are_numbers_where_the_comma_does_not_separate(tmp_path):
    (tmp_path / "t.csv").write_text("a;b;c\n1,5;1.234,5;x,y\n;2;z\n")
    table = read_file(tmp_path / "t.csv")
    assert table["a"].iloc[0] == 1.5
    assert table["a"].isna().tolist() == [False, True]
    assert table["b"].tolist() == [1234.5, 2.0]
    assert table["c"].tolist() == ["x,y", "z"]


def test_words_for_missing_values_are_kept_in_columns_of_text_only(tmp_path):
    (tmp_path / "t.csv").write_text("pool,depth\nNA,1\nNone,NA\ngood,\n,2\n")
    with pytest.warns(TableWarning, match="per column: pool 2. Where they are words"):
        plain = read_file(tmp_path / "t.csv")
    kept = read_file(tmp_path / "t.csv", reading=Reading(keep_text=True))
    assert plain["pool"].isna().tolist() == [True, True, False, True]
    assert kept["pool"].isna().tolist() == [False, False, False, True]
    assert kept["depth"].isna().tolist() == [False, True, True, False]


def test_decimals_of_a_parquet_file_are_numbers(tmp_path):
    given = pd.DataFrame({"price": [decimal.Decimal("1.50"), None, decimal.Decimal("2.25")], "n": [1, 2, 3]})
    given.to_parquet(tmp_path / "t.parquet")
    assert read_file(tmp_path / "t.parquet")["price"].dropna().tolist() == [1.5, 2.25]
