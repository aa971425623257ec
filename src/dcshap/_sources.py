"""Tables from files and databases: the one reader that every command and every site uses.

A file is recognised by its first bytes, and by its name where these do not say: text with separators (also gzipped),
Excel, Feather and Parquet. Of text, the separator and the encoding are found out.
"""

from __future__ import annotations

import codecs
import decimal
import os
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pyarrow as pa

from dcshap._numerals import with_numbers
from dcshap._separated import read_separated
from dcshap.exceptions import InputError, TableWarning

__all__ = ["Reading", "is_database", "read_database", "read_file", "read_source"]

Kind = Literal["csv", "excel", "feather", "parquet"]

_STARTS: Mapping[bytes, Kind] = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"FEA1": "feather",
    b"PK\x03\x04": "excel",
    b"\x1f\x8b": "csv",  # gzip
}
_NAMES: Mapping[str, Kind] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".xlsx": "excel",
    ".xlsm": "excel",
}
_CALLED: Mapping[Kind, str] = {"csv": "a csv", "excel": "an Excel", "feather": "a Feather", "parquet": "a parquet"}
_OTHERS = {
    b"\xd0\xcf\x11\xe0": "an Excel file of the old kind: save it as .xlsx or csv",
    b"SQLite format 3": "an SQLite database: give sqlite:///FILE instead, and a query with --sql",
    b"%PDF": "a PDF document: save the table in it as csv",
    b'[{"': "JSON: save it as csv or Parquet",
    b'{"': "JSON: save it as csv or Parquet",
    b"<": "a web page or XML: save the table in it as csv",
}


@dataclass(frozen=True)
class Reading:
    """How a table is to be read, where its file does not say it."""

    sep: str | None = None  # what separates the columns of a text file; found out by default
    # Whether NA, None and the like are words in columns of text; they are missing values by default.
    keep_text: bool = False
    sql: str | None = None  # the query, where the table comes from a database


def read_source(source: Mapping[str, Any], *, base: Path) -> pd.DataFrame:
    """Read a table from wherever a configuration says it is.

    Parameters
    ----------
    source : mapping
        `{"file": path}` for any kind of file, `{"csv": path}`, `{"parquet": path}`, or
        `{"sql": query, "url": SQLAlchemy URL}`; a URL `env:NAME` is taken from the environment, so that no password
        stands in the file. `sep` and `keep_text` as in `Reading`.
    base : path
        What relative paths are relative to.
    """
    kinds = [kind for kind in ("file", "csv", "parquet", "sql") if kind in source]
    if len(kinds) != 1:
        raise InputError(f"A table must come from one of file, csv, parquet or sql. Got {sorted(source)}.")
    if "sql" in source:
        return read_database(str(source.get("url", "")), source["sql"])
    reading = Reading(source.get("sep"), str(source.get("keep_text", False)).lower() == "true")
    kind: Any = None if kinds[0] == "file" else kinds[0]
    return read_file(base / source[kinds[0]], kind, reading=reading)


def read_file(path: Path, kind: Kind | None = None, *, reading: Reading | None = None) -> pd.DataFrame:
    """Read a file of a kind; by default the one that its first bytes, or its name, say."""
    if not path.is_file():
        what = "It is a folder" if path.is_dir() else "There is no such file"
        raise InputError(f"{path} must be a table: csv, Excel, Feather or Parquet. {what}.")
    found = kind or _kind_of(path)
    try:
        table = _READERS[found](path, reading or Reading())
    except ImportError as error:
        raise InputError(f"{path} cannot be read: install {error.name or 'its reader'} first.") from error
    except InputError:
        raise
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read as {_CALLED[found]} table.") from error
    pa.default_memory_pool().release_unused()  # what a reader has held beside the table
    return _with_names(table, path)


def _kind_of(path: Path) -> Kind:
    with path.open("rb") as file:
        start = file.read(64).removeprefix(codecs.BOM_UTF8).lstrip()
    for mark, what in _OTHERS.items():
        if start.startswith(mark):
            raise InputError(f"{path} must be a table: csv, Excel, Feather or Parquet. It is {what}.")
    for mark, kind in _STARTS.items():
        if start.startswith(mark):
            return kind
    return _NAMES.get(path.suffix.lower(), "csv")


def _read_excel(path: Path, reading: Reading) -> pd.DataFrame:
    with pd.ExcelFile(path, engine="openpyxl") as book:
        if len(book.sheet_names) > 1:
            _warn(f"{path} has {len(book.sheet_names)} sheets: the first one is read.")
        words: dict[str, Any] = {"keep_default_na": False, "na_values": [""]} if reading.keep_text else {}
        table: pd.DataFrame = pd.read_excel(book, sheet_name=book.sheet_names[0], **words)
    unnamed = sum(str(name).startswith("Unnamed: ") for name in table.columns)
    if 2 * unnamed > table.shape[1]:
        raise InputError(
            f"{path} must have the names of its columns in the first row. {unnamed} of {table.shape[1]} cells there "
            f"are empty: remove titles and merged cells above the names."
        )
    table, noted = with_numbers(table, None)
    if noted:
        _warn(
            f"{path}: the columns {noted} are read as numbers, without thousands separators, percent or currency signs."
        )
    return table


_READERS: Mapping[Kind, Callable[[Path, Reading], pd.DataFrame]] = {
    "csv": lambda path, reading: read_separated(path, sep=reading.sep, keep_text=reading.keep_text),
    "excel": _read_excel,
    "feather": lambda path, _: pd.read_feather(path),
    "parquet": lambda path, _: pd.read_parquet(path, pre_buffer=False),  # a buffer would be a copy of the file
}


def _with_names(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The table with names of text, in which blanks are single, without columns that have neither name nor value."""
    blank = [name for name in table.columns if str(name).startswith("Unnamed: ") and table[name].isna().all()]
    table = table.drop(columns=blank) if blank else table
    decimals = [name for name in table.columns if isinstance(next(iter(table[name].dropna()), None), decimal.Decimal)]
    table = table.astype(dict.fromkeys(decimals, "float64")) if decimals else table  # as Parquet has them
    durations = [name for name in table.columns if pd.api.types.is_timedelta64_dtype(table[name].dtype)]
    if durations:
        table = table.assign(**{name: table[name].dt.total_seconds() / 3600 for name in durations})
        _warn(f"{path}: the columns {durations} are durations: they are read as hours.")
    names = [" ".join(str(name).split()) for name in table.columns]  # blanks of any kind, once
    if names != list(table.columns):
        table = table.set_axis(names, axis=1)
    if not table.shape[1]:
        raise InputError(f"{path} must hold a table. It is empty.")
    if not len(table):
        raise InputError(f"{path} must hold at least one row. It has a header of {table.shape[1]} columns and no rows.")
    return table


# --- databases ----------------------------------------------------------------------------------------------------


def is_database(source: str) -> bool:
    """Whether what was given for a table is a database's URL rather than a file."""
    return "://" in source or source.startswith("env:")


def read_database(url: str, query: str) -> pd.DataFrame:
    """The result of a query. A URL `env:NAME` is taken from the environment."""
    try:
        import sqlalchemy  # noqa: PLC0415 - only where a database is used
    except ImportError as error:
        raise InputError("A table from a database needs SQLAlchemy: install it first.") from error
    if url.startswith("env:"):
        name = url.removeprefix("env:")
        if name not in os.environ:
            raise InputError(f"The environment variable {name!r} must hold the database's URL. It is not set.")
        url = os.environ[name]
    try:
        engine = sqlalchemy.create_engine(url)
        try:
            with engine.connect() as connection:
                table: pd.DataFrame = pd.read_sql_query(sqlalchemy.text(query), connection)
        finally:
            engine.dispose()
    except (sqlalchemy.exc.SQLAlchemyError, pd.errors.DatabaseError, ImportError) as error:
        raise InputError(
            f"The query could not be run ({type(error).__name__}). Check the URL, the database's driver and the query."
        ) from error
    if not len(table):
        raise InputError(f"The query must give at least one row. It gives {table.shape[1]} columns and no rows.")
    return table


def _warn(text: str) -> None:
    warnings.warn(text, TableWarning, stacklevel=3)
