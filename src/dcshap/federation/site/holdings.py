"""A party's own table, read from where its configuration says, and cut to what takes part in a collaboration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from dcshap._sources import read_source
from dcshap.collaboration.agreement import Agreement
from dcshap.exceptions import InputError
from dcshap.federation.site.configuration import CollaborationConfig
from dcshap.schema import Schema

__all__ = ["Data", "load_data"]


@dataclass(frozen=True)
class Data:
    """A party's table, cut to what takes part."""

    X: pd.DataFrame  # (n, M)
    y: pd.Series[Any] | None
    agreement: Agreement  # its schema is of the party's own columns
    agreed_schema: Schema  # the schema as all parties have it


def load_data(config: CollaborationConfig, *, base: Path, task: str = "classes") -> Data:
    """Read the table and check it against the schema; every column that does not fit is named."""
    table, agreed = read_source(config.table, base=base), Schema.load(base / config.schema)
    lacking = [name for name in (config.id, config.target) if name is not None and name not in table.columns]
    if lacking:
        raise InputError(f"The table must have the columns {lacking}. It has {list(table.columns)}.")
    if config.id is not None:
        table = table.set_index(config.id)
    present = [name for name in agreed.names if name in set(table.columns)]
    schema = agreed.select(present) if config.kind == "vertical" else agreed
    agreement = Agreement(schema, **config.agreement, task=task)  # type: ignore[arg-type]  # checked when it is made
    y = None if config.target is None else table[config.target]
    if config.target is not None and config.target not in present:
        del table[config.target]
    X = table if list(table.columns) == present else table[present]  # which copies it
    schema.codes(X, missing=agreement.missing)  # says what does not fit
    return Data(X, y, agreement, agreed)
