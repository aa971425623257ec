"""Records that were kept out of a training, to score it on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from dcshap import HorizontalCollaboration, VerticalCollaboration
from dcshap.cli.tables import About, Reader, named_files, select_columns
from dcshap.exceptions import InputError

__all__ = ["held_out_records", "worth"]


def held_out_records(
    reader: Reader, files: Sequence[str], about: About, columns: Mapping[str, Sequence[str]]
) -> tuple[dict[str, pd.DataFrame], pd.Series[Any]]:
    """Held-out records by party, and their labels in the order of the first party's."""
    if len(files) == 1 and not re.match(r"[\w .@-]+=", files[0]):
        named = dict.fromkeys(columns, files[0])
    else:
        named = named_files(files, option="--test")
    if set(named) != set(columns):
        raise InputError(f"--test must be one file, or one for each of {list(columns)} as NAME=FILE.")
    tables = {name: reader.read(named[name], party=name, index=about.identifier) for name in columns}
    labels = [table[about.target] for table in tables.values() if about.target in table.columns]
    if not labels:
        raise InputError(f"--test must have the target column {about.target!r} in one of its files.")
    records = {name: select_columns(tables[name], columns[name], named[name]) for name in columns}
    order = next(iter(records.values())).index
    lacking = len(order.difference(labels[0].index))
    if lacking:
        raise InputError(f"--test must have a label for every record. {lacking} of {len(order)} have none.")
    return records, labels[0].loc[order]


def worth(
    collaboration: HorizontalCollaboration | VerticalCollaboration, held_out: tuple[Any, Any], party: str
) -> dict[str, float]:
    """What a party has of collaborating: the same score alone and pooled, and how far explanations are from pooled."""
    found = collaboration.quality(*held_out, party=party)
    first = found.scores.columns[0]
    pooled = found.fidelity["pooled"]
    return {
        "alone": float(found.scores[first]["alone"]),
        "pooled": float(found.scores[first]["pooled"]),
        "explanations: error": pooled.relative_error,
        "wrong signs": pooled.wrong_signs,
    }
