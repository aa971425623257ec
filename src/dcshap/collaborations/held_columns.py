"""The tables of vertical parties: columns of their own, of the same records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import pandas as pd

from dcshap._tables import as_frame, is_array
from dcshap.collaboration.records import Records
from dcshap.collaboration.vertical_party import VerticalParty
from dcshap.collaborations.estimator import for_each
from dcshap.exceptions import InputError
from dcshap.schema import Absent, Schema
from dcshap.shapley.game.players import Groups, named_groups

__all__ = ["components_of", "groups_asked", "records_of", "require_holder", "require_references", "require_tables"]


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


def records_of(X: Any, parties: Mapping[str, VerticalParty], **absent: Unpack[Absent]) -> dict[str, Records]:
    """Every party's columns of the records that are asked for."""
    if not isinstance(X, Mapping) or set(X) != set(parties):
        given = sorted(map(str, X)) if isinstance(X, Mapping) else type(X).__name__
        raise InputError(f"Each of {list(parties)} must bring its columns. Got {given}.")
    held: dict[str, Records] = {}

    def find(name: str) -> None:
        held[name] = parties[name].records_of(X[name], **absent)

    for_each(X, find)
    return held


def components_of(n_components: Any, party: str) -> Any:
    """A party's `n_components`, where every party has its own."""
    if not isinstance(n_components, Mapping):
        return n_components
    if party not in n_components:
        raise InputError(f"`n_components` must name every party. It names {sorted(map(str, n_components))}.")
    return n_components[party]


def require_holder(X: Mapping[str, Any], y: Any, label_party: str | None) -> str:
    """The party that holds the labels, which must be there: the first one unless another is named."""
    if y is None:
        raise InputError("One party must bring labels. Got None as `y`.")
    holder = next(iter(X)) if label_party is None else label_party
    if holder not in X:
        raise InputError(f"`label_party` must be one of {list(X)}. Got {holder!r}.")
    return holder


def groups_asked(groups: Groups | None, parties: Mapping[str, VerticalParty], *, view: str) -> dict[str, list[str]]:
    """Groups of columns by name, of which each must have one; nothing where columns are not grouped.

    For one party's `view` it is enough to group its own: groups of others' columns alone are left out.
    """
    if groups is None:
        return {}
    every = [column for party in parties.values() for column in party.agreement.schema.names]
    own = list(parties[view].agreement.schema.names) if view in parties else every
    named = {each for group in (groups.values() if isinstance(groups, Mapping) else groups) for each in group}
    columns = every if named & set(every) - set(own) else own
    found = named_groups(groups, columns, what="groups", of="column")
    return {name: members for name, members in found.items() if set(members) & set(own)}


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
