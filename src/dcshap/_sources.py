"""Tables from csv and parquet files and from databases."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pandas as pd

from dcshap.exceptions import InputError


def read_source(source: Mapping[str, str], *, base: Path) -> pd.DataFrame:
    """Read a table from wherever a configuration says it is.

    Parameters
    ----------
    source : mapping
        `{"csv": path}`, `{"parquet": path}`, or `{"sql": query, "url": SQLAlchemy URL}`; a URL `env:NAME` is taken
        from the environment, so that no password stands in the file.
    base : path
        What relative paths are relative to.
    """
    kinds = [kind for kind in ("csv", "parquet", "sql") if kind in source]
    if len(kinds) != 1:
        raise InputError(f"A table must come from one of csv, parquet or sql. Got {sorted(source)}.")
    if "sql" in source:
        return _read_database(source["sql"], str(source.get("url", "")))
    return read_file(base / source[kinds[0]], "csv" if kinds[0] == "csv" else "parquet")


def read_file(path: Path, kind: Literal["csv", "parquet"] | None = None) -> pd.DataFrame:
    """Read a file of a kind; by default the one that its name ends in, csv if it does not say."""
    if not path.is_file():
        raise InputError(f"{path} must be a csv or parquet file. There is no such file.")
    if kind is None:
        kind = "parquet" if path.suffix.lower() in (".parquet", ".pq") else "csv"
    try:
        return pd.read_csv(path) if kind == "csv" else pd.read_parquet(path)
    except (ValueError, OSError) as error:  # pandas' and pyarrow's parsing errors are ValueErrors
        raise InputError(f"{path} cannot be read as a {kind} table.") from error


def _read_database(query: str, url: str) -> pd.DataFrame:
    import sqlalchemy  # noqa: PLC0415 - only where a database is used

    if url.startswith("env:"):
        name = url.removeprefix("env:")
        if name not in os.environ:
            raise InputError(f"The environment variable {name!r} must hold the database's URL. It is not set.")
        url = os.environ[name]
    try:
        engine = sqlalchemy.create_engine(url)
        with engine.connect() as connection:
            table: pd.DataFrame = pd.read_sql_query(sqlalchemy.text(query), connection)
        engine.dispose()
    except (sqlalchemy.exc.SQLAlchemyError, pd.errors.DatabaseError, ImportError) as error:
        raise InputError(
            f"The query could not be run ({type(error).__name__}). Check the URL, the database's driver and the query."
        ) from error
    return table
