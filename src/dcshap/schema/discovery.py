"""The columns of a data dictionary, found from the tables that hold them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dcshap.exceptions import SchemaError, TableWarning
from dcshap.schema.columns import Category, Column, Date, Encoding, Label, Number, Time, column_codes, plain_number
from dcshap.schema.kinds import alike_names, kind_of, no_numbers, rows_text, warn_of_spellings
from dcshap.schema.knots import choose_knots, robust_range

__all__ = ["column_differences", "column_from_tables", "require_names"]


def column_from_tables(
    name: str,
    tables: Mapping[str, pd.DataFrame],
    encoding: Encoding,
    *,
    category: bool = False,
    knots: int = 0,
    robust: bool = False,
) -> Column:
    """The column that all tables have in common under one name: ranges and categories cover them all.

    `category` takes numbers for the codes of categories. `robust` ranges leave out the lowest and highest hundredth of
    a number's values, which are clipped.
    """
    kinds = {party: kind_of(frame[name]) for party, frame in tables.items()}
    found = {kind for kind in kinds.values() if kind}
    if not found:
        raise SchemaError(f"Column {name!r} is empty in every table: leave it out.")
    present = [frame[name] for party, frame in tables.items() if kinds[party]]
    if category or found == {"category"}:
        return _category_from(name, present, encoding)
    if len(found) > 1:
        raise SchemaError(_mixed(name, tables, kinds))
    if found <= {"date", "time"}:
        kind = Date(name, 0, 1) if found == {"date"} else Time(name, 0, 1)
        return _in_whole_units(kind, present, knots=knots, robust=robust)
    finite = [values[np.isfinite(values.to_numpy(np.float64, na_value=np.nan))] for values in present]
    values = np.concatenate([part.to_numpy(np.float64) for part in finite])
    if not len(values):
        raise SchemaError(f"Column {name!r} holds no finite number in any table: leave it out.")
    low, high = robust_range(values) if robust else (float(values.min()), float(values.max()))
    chosen = choose_knots(values, knots, low=low, high=high) if knots and low < high else ()
    return Number(name, low, high, float(np.clip(np.median(values), low, high)), chosen, robust)


def _mixed(name: str, tables: Mapping[str, pd.DataFrame], kinds: Mapping[str, Any]) -> str:
    """Which tables hold which kind of values; where one has text among numbers, how much of it."""
    words = {"number": "numbers", "category": "categories", "date": "dates", "time": "times of day"}
    found = [words[kind] for kind in words if kind in kinds.values()]
    text = f"Column {name!r} holds {found[0]} for some and {found[-1]} for others: {dict(kinds)}."
    for party, frame in tables.items():
        if "number" in kinds.values() and kinds[party] == "category":
            text += _no_numbers(party, frame[name])
    return text


def _no_numbers(party: str, values: pd.Series[Any]) -> str:
    if pd.api.types.is_bool_dtype(values.dtype):
        return f" {party!r} holds true and false: write the same at all parties, 1 and 0 or true and false."
    wrong = no_numbers(values)
    where = f" ({rows_text(wrong)})" if wrong.any() else ""
    return (
        f" {int(wrong.sum())} of {len(wrong)} values of {party!r} are not numbers{where}: make them numbers, or leave "
        f"these cells empty."
    )


def _in_whole_units(column: Number, present: Sequence[pd.Series[Any]], *, knots: int, robust: bool) -> Number:
    """Days or minutes: a range of moments would show single rows' times."""
    values = np.concatenate([column.read(each) for each in present])
    values = values[~np.isnan(values)]
    low, high = robust_range(values) if robust else (float(values.min()), float(values.max()))
    low, high = float(np.floor(low)), float(np.ceil(high))
    chosen = choose_knots(np.floor(values), knots, low=low, high=high) if knots and low < high else ()
    whole = np.unique(np.rint(chosen)).tolist() if chosen else []
    typical = float(np.clip(np.rint(np.median(values)), low, high))
    found = tuple(whole) if len(whole) >= 3 else ()
    return replace(column, low=low, high=high, typical=typical, knots=found, clipped=robust)


def _category_from(name: str, present: Sequence[pd.Series[Any]], encoding: Encoding) -> Category:
    column = Category(name, _common_categories(present), encoding)
    warn_of_spellings(name, column.categories)
    _warn_of_nothing_in_common(name, present)
    codes = np.concatenate([column_codes(column, values) for values in present])
    counts = np.bincount(codes[~np.isnan(codes)].astype(np.int64), minlength=len(column.categories))
    middle = int(np.searchsorted(np.cumsum(counts), counts.sum() / 2)) if encoding == "ordinal" else counts.argmax()
    return replace(column, typical=column.categories[int(middle)])


def _warn_of_nothing_in_common(name: str, present: Sequence[pd.Series[Any]]) -> None:
    """Say where a table's categories are none of the others': they may be the same in other words."""
    if any(isinstance(values.dtype, pd.CategoricalDtype) for values in present) or len(present) < 2:
        return
    own = [_distinct(values) for values in present]
    if any(not mine & set().union(*(own[:at] + own[at + 1 :])) for at, mine in enumerate(own)):
        warnings.warn(
            f"Column {name!r}: a table has no category in common with the others. If they mean the same in other "
            f"words, write them alike.",
            TableWarning,
            stacklevel=6,
        )


def _common_categories(columns: Sequence[pd.Series[Any]]) -> tuple[Label, ...]:
    """The categories of all tables: in the order they already have where all agree on it, sorted otherwise."""
    lists = []
    for values in columns:
        if isinstance(values.dtype, pd.CategoricalDtype):
            lists.append([plain_number(label) for label in values.cat.categories])
        else:
            lists.append(sorted(_distinct(values), key=_label_order))
    if all(labels == lists[0] for labels in lists):
        return tuple(lists[0])
    return tuple(sorted({label for labels in lists for label in labels}, key=_label_order))


def _distinct(values: pd.Series[Any]) -> set[Label]:
    try:
        labels = {plain_number(label) for label in values.dropna().unique()}
    except TypeError:  # lists and the like cannot be told apart
        labels = {None}
    if not all(isinstance(label, str | int | float) for label in labels):
        raise SchemaError(f"Column {values.name!r} must hold numbers, text or truth values: turn others to text.")
    return labels


def _label_order(label: Any) -> tuple[bool, Any]:
    return (isinstance(label, str), label)


def column_differences(tables: Mapping[str, pd.DataFrame], names: Sequence[str]) -> list[str]:
    """Which tables lack a column that the first one has, or have one that it lacks, a sentence each."""
    first = next(iter(tables))
    problems = []
    for party, frame in tables.items():
        lacking = [name for name in names if name not in frame.columns]
        extra = [name for name in frame.columns if name not in names]
        said = [f"{party!r} lacks {lacking}, which {first!r} has."] if lacking else []
        said += [f"{party!r} has {extra}, which {first!r} lacks."] if extra else []
        if said:
            problems.append(f"All tables must have the same columns: {' '.join(said)}{alike_names(extra, lacking)}")
    return problems


def require_names(tables: Mapping[str, pd.DataFrame]) -> None:
    """Refuse columns whose names are no text, or not their own."""
    for party, frame in tables.items():
        unnamed = sum(not isinstance(name, str) for name in frame.columns)
        if unnamed:
            raise SchemaError(f"Column names must be strings. {unnamed} of {party!r} are not: rename the columns.")
        if not frame.columns.is_unique:
            twice = sorted(set(frame.columns[frame.columns.duplicated()]))
            raise SchemaError(f"Column names must differ. These stand twice in {party!r}: {twice}.")
