from __future__ import annotations

import sqlite3

import pandas as pd
import pytest

from dcshap._sources import read_file, read_source
from dcshap.exceptions import InputError

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


@pytest.mark.parametrize("kind", ["csv", "parquet", "sql", "sql from the environment"])
def test_a_table_comes_from_a_file_or_a_database(folder, kind, monkeypatch):
    url = f"sqlite:///{folder / 't.db'}"
    monkeypatch.setenv("PEOPLE_URL", url)
    source = {
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
        ({}, "one of csv, parquet or sql"),
        ({"csv": "a", "parquet": "b"}, "one of csv, parquet or sql"),
        ({"csv": "missing.csv"}, "no such file"),
        ({"csv": "."}, "no such file"),
        ({"csv": "empty.csv"}, "as a csv table"),
        ({"csv": "odd.csv"}, "as a csv table"),
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
