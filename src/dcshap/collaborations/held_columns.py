"""The tables of vertical parties: columns of their own, of the same records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from dcshap._tables import as_frame, is_array
from dcshap.collaboration.vertical_party import VerticalParty
from dcshap.exceptions import InputError, SchemaError
from dcshap.schema import Schema

__all__ = ["require_disjoint", "require_references", "require_tables"]


def require_tables(X: Any, schema: Schema | None) -> Mapping[str, Any]:
    """Every party's table by its name, with columns that have names; arrays must be matched row by row."""
    if not isinstance(X, Mapping):
        raise InputError("Data must be a mapping of party name to table.")
    if len(X) < 2:
        raise InputError(f"A collaboration needs at least two parties. Got {len(X)}.")
    arrays = [name for name, table in X.items() if is_array(table)]
    if schema is not None and arrays:
        raise InputError(f"With a given schema {arrays} must bring DataFrames, so that columns are known.")
    lengths = {name: len(as_frame(table)) for name, table in X.items() if not isinstance(table, pd.DataFrame)}
    if len(set(lengths.values())) > 1:
        raise InputError(
            f"Arrays are matched row by row and must have the same length. Got {lengths}. Pass pandas DataFrames with "
            f"the record identifier as index to match by it."
        )
    return {name: _with_names(name, table) if is_array(table) else table for name, table in X.items()}


def _with_names(party: str, array: Any) -> pd.DataFrame:
    """An array's columns carry the party's name, or two parties' x0 would be two features of one name."""
    frame = as_frame(array)
    return frame.set_axis([f"{party}.{column}" for column in frame.columns], axis=1)


def require_disjoint(parties: Mapping[str, VerticalParty], schema: Schema | None) -> None:
    """Refuse a column that several parties hold, or that nobody brings though a given schema has it."""
    names = [column for party in parties.values() for column in party.agreement.schema.names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SchemaError(f"Each column must belong to one party. Held by several: {twice}. Rename or drop them.")
    unheld = [] if schema is None else [column for column in schema.names if column not in names]
    if unheld:
        raise SchemaError(f"Each column of the schema must belong to a party. Nobody brings {unheld}.")


def require_references(reference: Any, parties: Mapping[str, VerticalParty]) -> Mapping[str, pd.DataFrame]:
    """Every party's rows to compare with, by its name and all of the same length."""
    if not isinstance(reference, Mapping) or set(reference) != set(parties):
        raise InputError(
            f"In a vertical collaboration `reference` must be a kind, or rows for each of {list(parties)} by its name: "
            f"each party has its own columns."
        )
    rows = {
        name: pd.DataFrame([dict(each)]) if isinstance(each, Mapping | pd.Series) else each
        for name, each in reference.items()
    }
    lengths = {name: len(as_frame(each)) for name, each in rows.items()}
    if len(set(lengths.values())) > 1 or not min(lengths.values()):
        raise InputError(f"The parties' rows to compare with must be as many, and at least one. Got {lengths}.")
    return rows
