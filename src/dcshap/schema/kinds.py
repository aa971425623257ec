"""What the values of a column look like: numbers, dates, times or categories, identifiers or free text."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from dcshap._tables import as_frame
from dcshap._typing import BoolArray
from dcshap.exceptions import TableWarning
from dcshap.schema.clock import holds_times
from dcshap.schema.dates import holds_ambiguous_dates, holds_dates

__all__ = [
    "Kind",
    "alike",
    "alike_names",
    "kind_of",
    "looks_like_categories",
    "no_numbers",
    "rows_text",
    "warn_of_spellings",
    "without_identifiers",
]

Kind = Literal["number", "date", "time", "category"]

# An identifier or free text has more values than this, and more than half as many as there are rows.
FEW_VALUES = 20
# Whole numbers of so few values, in so many rows, may be the codes of categories. Two values need no indicators.
CODES, ENOUGH_ROWS = range(3, 11), 50
LARGEST = 2**53  # whole numbers beyond cannot all be told apart as numbers
_NUMBERED = re.compile(r"(^|.*[_ .-])(id|ids|nr|no|key|uuid|index|number|unnamed: 0)", re.IGNORECASE)
_UNREADABLE: Mapping[Callable[[pd.Series[Any]], bool], str] = {
    pd.api.types.is_timedelta64_dtype: "durations: turn them into numbers, such as hours",
    holds_ambiguous_dates: "dates that can be read in two ways: write them as YYYY-MM-DD",
}
_SHOWN = 5


def kind_of(values: pd.Series[Any]) -> Kind | None:
    """The kind of a column's values; None where all are missing."""
    if isinstance(values.dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(values.dtype):
        return "category"
    if not values.notna().any():
        return None
    if pd.api.types.is_numeric_dtype(values.dtype):
        return "number"
    return "date" if holds_dates(values) else "time" if holds_times(values) else "category"


def looks_like_categories(frames: Mapping[str, Any] | Iterable[Any]) -> list[str]:
    """The columns of tables that hold few different whole numbers, and may be the codes of categories."""
    tables = [as_frame(each) for each in (frames.values() if isinstance(frames, Mapping) else frames)]
    found = []
    for name in tables[0].columns if tables else ():
        columns = [table[name] for table in tables if name in table.columns]
        if all(pd.api.types.is_numeric_dtype(c.dtype) and not pd.api.types.is_bool_dtype(c.dtype) for c in columns):
            values = pd.concat([column.dropna() for column in columns])
            distinct = values.unique()
            if len(values) >= ENOUGH_ROWS and len(distinct) in CODES and not np.any(np.mod(distinct.astype(float), 1)):
                found.append(str(name))
    return found


def without_identifiers(tables: Mapping[str, pd.DataFrame], *, keep: Sequence[str] = ()) -> dict[str, pd.DataFrame]:
    """Tables without the columns that look like identifiers, free text or dates of unclear order, which are named."""
    reasons: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for table in tables.values() for name in table.columns):
        columns = [table[name] for table in tables.values() if name in table.columns]
        reason = None if name in keep else _why_left_out(str(name), columns)
        if reason is not None:
            reasons.setdefault(reason, []).append(name)
    if not reasons:
        return dict(tables)
    said = "; ".join(f"{names}, {reason}" for reason, names in reasons.items())
    warnings.warn(f"Columns that are left out of the schema: {said}.", TableWarning, stacklevel=4)
    dropped = [name for names in reasons.values() for name in names]
    return {party: table.drop(columns=dropped, errors="ignore") for party, table in tables.items()}


def _why_left_out(name: str, columns: Sequence[pd.Series[Any]]) -> str | None:
    plain = [column.dropna() for column in columns if not isinstance(column.dtype, pd.CategoricalDtype)]
    if len(plain) < len(columns) or any(pd.api.types.is_bool_dtype(column.dtype) for column in plain):
        return None
    numeric = [pd.api.types.is_numeric_dtype(column.dtype) for column in plain]
    if any(numeric):
        numbered = all(numeric) and _are_numbered(name, plain)
        return "whole numbers that are all different: record numbers" if numbered else None
    for holds, reason in _UNREADABLE.items():
        if any(holds(column) for column in plain):
            return reason
    text = pd.Series([str(value) for column in plain for value in column], dtype=object)
    if text.nunique() <= FEW_VALUES or any(holds_dates(column) or holds_times(column) for column in plain):
        return None
    if pd.to_numeric(text, errors="coerce").notna().mean() > 0.5:
        return "numbers with text among them: make all of them numbers"
    # At one party alone, too: the same names, or the same text, may stand at several.
    many = any(column.nunique() > max(FEW_VALUES, len(column) / 2) for column in [text, *plain])
    return "nearly as many values as rows: identifiers or free text" if many else None


def _are_numbered(name: str, columns: Sequence[pd.Series[Any]]) -> bool:
    """Whether every table's values are whole numbers, all different, and a series, called an identifier, or huge."""
    for column in columns:
        if len(column) <= FEW_VALUES or not pd.api.types.is_integer_dtype(column.dtype) or not column.is_unique:
            return False
        series = int(column.max()) - int(column.min()) < 2 * len(column)
        if not series and not _NUMBERED.fullmatch(name) and int(column.abs().max()) <= LARGEST:
            return False
    return bool(columns)


def alike(labels: Iterable[Any]) -> list[list[Any]]:
    """Groups of labels that differ in capitals, blanks, or in being text or a number."""
    groups: dict[str, list[Any]] = {}
    for label in labels:
        groups.setdefault(_folded(label), []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def alike_names(names: Iterable[Any], others: Iterable[Any]) -> str:
    """A hint at names that differ from others in capitals or blanks only; nothing where none do."""
    known = {_folded(name): name for name in others}
    pairs = [f"{name!r} and {known[_folded(name)]!r}" for name in names if _folded(name) in known]
    return f" These look alike, but for capitals or blanks: {', '.join(pairs)}." if pairs else ""


def _folded(label: Any) -> str:
    if isinstance(label, float | np.floating) and float(label).is_integer():
        label = int(label)
    text = " ".join(str(label).split()).casefold()
    return text.removesuffix(".0") if re.fullmatch(r"-?\d+\.0", text) else text


def no_numbers(values: pd.Series[Any]) -> BoolArray:
    """Which values (n,) are neither missing nor numbers."""
    numbers = pd.to_numeric(values.astype(object), errors="coerce")
    return np.asarray(values.notna() & numbers.isna())


def rows_text(wrong: BoolArray) -> str:
    """Which rows a mask (n,) marks, counted from 1: the first few of them, and how many more."""
    rows = (np.flatnonzero(wrong) + 1).tolist()
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return f"row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows[:_SHOWN]))}{more}"


def warn_of_spellings(name: str, labels: Iterable[Any]) -> None:
    """Say how many categories of a column differ from others in capitals or blanks only."""
    groups = alike(labels)
    if groups:
        warnings.warn(
            f"Column {name!r}: {sum(map(len, groups))} categories are {len(groups)} in different spellings (capitals, "
            f"blanks, text or number). They count as different.",
            TableWarning,
            stacklevel=5,
        )
