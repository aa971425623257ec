"""A schema that may be shown to others: every figure in it rests on several rows, and is rounded.

A party makes one from its own table, sends it to the others, and all of them merge what they have got.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dcshap._tables import as_frame
from dcshap._typing import FloatArray
from dcshap.exceptions import InputError, SchemaError, TableWarning
from dcshap.schema.clock import DAY
from dcshap.schema.columns import Category, Column, Date, Label, Number, Time, column_codes
from dcshap.schema.dates import date_of, day_of
from dcshap.schema.dictionary import Schema
from dcshap.schema.knots import choose_knots

__all__ = ["AT_LEAST", "OTHER", "coarsen", "join", "merge"]

AT_LEAST = 10  # rows behind every figure
OTHER = "other"
_TAIL = 0.01  # of the rows, on either side of a range
_MONTH, _YEAR = 30, 365


def coarsen(schema: Schema, tables: Mapping[str, Any] | Iterable[Any], *, at_least: int = AT_LEAST) -> Schema:
    """The schema of tables, which it was made from, fit to be shown.

    A range ends where at least `at_least` rows lie beyond it or at its end, and is rounded outward; values beyond are
    clipped. Categories of fewer rows are merged into one called "other". A column that differs in fewer rows is left
    out, with a warning.
    """
    if at_least < 2:
        raise InputError(f"`at_least` must be 2 or more, or single rows would show. Got {at_least}.")
    frames = [as_frame(each) for each in (tables.values() if isinstance(tables, Mapping) else tables)]
    columns, left_out = [], []
    for column in schema.columns:
        values = pd.concat([frame[column.name] for frame in frames], ignore_index=True)
        codes = column_codes(column, values)
        given = codes[np.isfinite(codes)]
        coarse: Column | None
        if isinstance(column, Category):
            coarse = _coarse_category(column, given, at_least)
        else:
            coarse = _coarse_number(column, given, at_least)
        if coarse is None:
            left_out.append(column.name)
        else:
            columns.append(coarse)
    if left_out:
        warnings.warn(
            f"The columns {left_out} are left out of the schema: fewer than {at_least} rows differ from the others.",
            TableWarning,
            stacklevel=2,
        )
    return Schema(tuple(columns))


def _coarse_number(column: Number, codes: FloatArray, at_least: int) -> Number | None:
    ends = _ends(codes, max(at_least, int(np.ceil(_TAIL * len(codes)))))
    ends = _ends(codes, at_least) if ends is None else ends
    if ends is None:
        return None
    knots: tuple[float, ...]
    if isinstance(column, Date):
        low, high, typical, knots = _coarse_days(column, codes, *ends)
    else:
        step = 10.0 ** np.floor(np.log10((ends[1] - ends[0]) / 10))
        step = max(step, 1.0) if isinstance(column, Time) else step
        low, high = _rounded(np.floor(ends[0] / step), step), _rounded(np.ceil(ends[1] / step), step)
        high = min(high, DAY) if isinstance(column, Time) else high
        inside = np.clip(codes, low, high)
        typical = _rounded(np.rint(np.median(inside) / step), step)
        chosen = choose_knots(inside, len(column.knots), low=low, high=high)
        knots = tuple(sorted({_rounded(np.rint(knot / step), step) for knot in chosen}))
    typical = float(np.clip(typical, low, high))
    return replace(column, low=low, high=high, typical=typical, knots=knots if len(knots) >= 3 else (), clipped=True)


def _ends(codes: FloatArray, rank: int) -> tuple[float, float] | None:
    """The values of these ranks from below and above; None where they are the same."""
    if len(codes) < 2 * rank:
        return None
    ordered = np.sort(codes)
    low, high = float(ordered[rank - 1]), float(ordered[-rank])
    return (low, high) if low < high else None


def _rounded(count: float, step: float) -> float:
    """So many steps, without the noise of binary fractions."""
    return float(round(float(count * step), max(0, -int(np.floor(np.log10(step))))))


def _coarse_days(
    column: Date, codes: FloatArray, low: float, high: float
) -> tuple[float, float, float, tuple[float, ...]]:
    """First days of years, of months for a range below ten years, whole weeks below one."""
    unit = "Y" if high - low > 10 * _YEAR else "M" if high - low > _YEAR else "W"

    def floor(day: float) -> float:
        if unit == "W":
            return float(np.floor(day / 7) * 7)
        first = np.datetime64(date_of(day, column.since)[:10]).astype(f"datetime64[{unit}]")
        return day_of(str(first.astype("datetime64[D]")), column.since)

    bottom, top = floor(low), floor(high + {"Y": _YEAR, "M": _MONTH, "W": 7}[unit])
    inside = np.clip(codes, bottom, top)
    chosen = choose_knots(inside, len(column.knots), low=bottom, high=top)
    return bottom, top, floor(float(np.median(inside))), tuple(sorted({floor(knot) for knot in chosen}))


def _coarse_category(column: Category, codes: FloatArray, at_least: int) -> Category | None:
    counts = np.bincount(codes.astype(np.int64), minlength=len(column.categories))
    order = sorted(range(len(counts)), key=lambda code: int(counts[code]))
    rare = {code for code in order if counts[code] < at_least}
    if not any(counts[code] for code in rare):
        rare = set()
    for code in order:  # the merged ones must be enough together, too
        if not rare or sum(counts[r] for r in rare) >= at_least:
            break
        rare.add(code)
    kept: list[Label] = [label for code, label in enumerate(column.categories) if code not in rare and counts[code]]
    rest = column.rest
    if rare:
        rest = OTHER
        kept = [label for label in kept if label != OTHER] + [OTHER]
    if len(kept) < 2:
        return None
    typical = column.typical if column.typical in kept else kept[0]
    return replace(column, categories=tuple(kept), typical=typical, rest=rest if rest in kept else None)


# --- merging ------------------------------------------------------------------------------------------------------


def merge(schemas: Mapping[str, Schema]) -> Schema:
    """One schema of several parties': ranges and categories cover all of them.

    Raises
    ------
    SchemaError
        Naming every column that not all have, or of which they say different kinds or encodings.
    """
    if not schemas:
        raise SchemaError("At least one schema must be given. Got none.")
    first = next(iter(schemas.values()))
    names = list(dict.fromkeys(name for schema in schemas.values() for name in schema.names))
    columns, problems = [], []
    for name in names:
        lacking = [party for party, schema in schemas.items() if name not in schema.names]
        if lacking:
            problems.append(f"Column {name!r} is lacking in {lacking}: leave it out of the others, or add it there.")
            continue
        try:
            columns.append(_merged([schema[name] for schema in schemas.values()]))
        except SchemaError as error:
            problems.append(str(error))
    if problems:
        raise SchemaError("No common schema. " + " ".join(problems))
    return Schema(tuple(sorted(columns, key=lambda column: first.names.index(column.name))))


def join(schemas: Mapping[str, Schema]) -> Schema:
    """One schema of parties that hold different columns: the columns of the first, then those of the second, ….

    Raises
    ------
    SchemaError
        Naming every column that more than one of them has.
    """
    columns = [column for schema in schemas.values() for column in schema.columns]
    shared = [name for name, times in Counter(column.name for column in columns).items() if times > 1]
    if shared:
        raise SchemaError(f"Each column must be one party's. Several have {shared}: leave them out of all but one.")
    return Schema(tuple(columns))


def _merged(columns: Sequence[Column]) -> Column:
    first = columns[0]
    if len({type(column) for column in columns}) > 1:
        raise SchemaError(f"Column {first.name!r} must be of one kind. It is {[c.to_dict()['kind'] for c in columns]}.")
    sensitive = any(column.sensitive for column in columns)
    if isinstance(first, Category):
        return _merged_category(first, [c for c in columns if isinstance(c, Category)], sensitive=sensitive)
    numbers = [column for column in columns if isinstance(column, Number)]
    if len({column.since for column in numbers if isinstance(column, Date)}) > 1:
        raise SchemaError(f"Column {first.name!r} must count days since one date. The schemas have several.")
    low, high = min(column.low for column in numbers), max(column.high for column in numbers)
    typical = float(np.median([column.typical_code for column in numbers]))
    knots = first.knots if all((c.knots, c.low, c.high) == (first.knots, low, high) for c in numbers) else ()
    clipped = any(column.clipped for column in numbers)
    if isinstance(first, Date | Time):
        typical = float(np.rint(typical))
    return replace(first, low=low, high=high, typical=typical, knots=knots, clipped=clipped, sensitive=sensitive)


def _merged_category(first: Category, columns: Sequence[Category], *, sensitive: bool) -> Category:
    if len({column.encoding for column in columns}) > 1:
        raise SchemaError(f"Column {first.name!r} must have one encoding. It has {[c.encoding for c in columns]}.")
    rest = next((column.rest for column in columns if column.rest is not None), None)
    labels = first.categories
    if any(column.categories != labels for column in columns):
        every = {label for column in columns for label in column.categories}
        labels = tuple(sorted(every, key=lambda label: (label == rest, isinstance(label, str), label)))
    typicals = [column.typical for column in columns if column.typical is not None]
    typical = max(typicals, key=typicals.count) if typicals else None
    return replace(first, categories=labels, typical=typical, sensitive=sensitive, rest=rest)
