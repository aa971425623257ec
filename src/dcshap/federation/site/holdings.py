"""A party's own table, read from where its configuration says, and cut to what takes part in a collaboration."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from dcshap.collaboration.agreement import Agreement
from dcshap.exceptions import InputError
from dcshap.federation.site.configuration import CollaborationConfig
from dcshap.schema import Schema

__all__ = ["Data", "load_data", "read_source"]


def read_source(source: Mapping[str, str], *, base: Path) -> pd.DataFrame:
    """Read a party's table.

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
    if kinds[0] == "sql":
        return _from_database(source["sql"], str(source.get("url", "")))
    path = base / source[kinds[0]]
    try:
        return pd.read_csv(path) if kinds[0] == "csv" else pd.read_parquet(path)
    except (ValueError, OSError) as error:  # pandas' and pyarrow's parsing errors are ValueErrors
        raise InputError(f"{path} cannot be read as a {kinds[0]} table.") from error


def _from_database(query: str, url: str) -> pd.DataFrame:
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


@dataclass(frozen=True)
class Data:
    """A party's table, cut to what takes part.

    Attributes
    ----------
    X : DataFrame of shape (n, M)
    y : Series of length n, optional
    agreement : Agreement
        Its schema is of the party's own columns.
    agreed_schema : Schema
        The schema as all parties have it.
    """

    X: pd.DataFrame
    y: pd.Series[Any] | None
    agreement: Agreement
    agreed_schema: Schema


def load_data(config: CollaborationConfig, *, base: Path) -> Data:
    """Read the table and check it against the schema.

    Raises
    ------
    SchemaError
        Naming every column that does not fit.
    """
    table, agreed = read_source(config.table, base=base), Schema.load(base / config.schema)
    lacking = [name for name in (config.id, config.target) if name is not None and name not in table.columns]
    if lacking:
        raise InputError(f"The table must have the columns {lacking}. It has {list(table.columns)}.")
    if config.id is not None:
        table = table.set_index(config.id)
    present = [name for name in agreed.names if name in set(table.columns)]
    schema = agreed.select(present) if config.kind == "vertical" else agreed
    agreement = Agreement(schema, **config.agreement)
    X = table[present]
    schema.codes(X, missing=agreement.missing)  # says what does not fit
    return Data(X, None if config.target is None else table[config.target], agreement, agreed)
