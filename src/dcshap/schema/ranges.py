"""Which values of a table are missing, infinite or outside their column's range."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

import numpy as np

from dcshap._typing import BoolArray, FloatArray
from dcshap.exceptions import InputError, RangeWarning
from dcshap.schema.columns import Column, Number, Unknown
from dcshap.schema.kinds import rows_text

__all__ = ["Absent", "Missing", "count_outside", "require_values"]

Missing = Literal["error", "reference"]


class Absent(TypedDict, total=False):
    """What stands for an absent feature in rows to predict or explain; `Schema.codes` says what the choices mean.

    A missing value is what was agreed by default, an unknown category an error.
    """

    missing: Missing
    unknown: Unknown


def require_values(
    columns: Sequence[Column], codes: FloatArray, missing: Missing, *, absent: BoolArray | None = None
) -> None:
    """Refuse codes (n, M) that are infinite, or missing where that is a mistake; warn of those outside their range.

    `absent` (n, M) says which values are missing, where some codes are NaN for another reason.
    """
    if not len(codes):
        return
    names = [column.name for column in columns]
    lowest, highest = _extremes(codes)
    if not np.isfinite(highest - lowest).all():
        infinite = _where(names, np.isinf(codes))
        if infinite:
            raise InputError(f"Values must be finite. Infinite values per column: {infinite}.")
        lacking = _where(names, np.isnan(codes) if absent is None else absent)
        if lacking and missing == "error":
            raise InputError(
                f"Values must not be missing. Missing values per column: {lacking}. Fill or drop them, "
                f"or say missing='reference', where a missing value means that the feature is absent."
            )
    outside = _outside(columns, codes, lowest, highest, clipped=False)
    if outside:
        warnings.warn(
            f"Values outside the schema's range, per column: {_counts(outside)}. They are used as they are; "
            f"widen the range in the schema if they are right.",
            RangeWarning,
            stacklevel=3,
        )


def count_outside(columns: Sequence[Column], codes: FloatArray, *, clipped: bool) -> dict[str, int]:
    """How many values of each numeric column, clipped or not, are outside its range, where any are."""
    return _outside(columns, codes, *_extremes(codes), clipped=clipped) if len(codes) else {}


def _outside(
    columns: Sequence[Column], codes: FloatArray, lowest: FloatArray, highest: FloatArray, *, clipped: bool
) -> dict[str, int]:
    counts = {
        column.name: int(np.sum((codes[:, j] < column.low) | (codes[:, j] > column.high)))
        for j, column in enumerate(columns)
        if isinstance(column, Number)
        and (column.clipped or bool(column.knots)) == clipped
        and not (column.low <= lowest[j] and highest[j] <= column.high)
    }
    return {name: count for name, count in counts.items() if count}


def _extremes(codes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The lowest and highest of each column of codes (n, M); NaN where a value is missing."""
    chunks = (codes[start : start + 4096] for start in range(0, len(codes), 4096))  # few enough to stay in the cache
    found = np.array([(chunk.min(axis=0), chunk.max(axis=0)) for chunk in chunks])
    return found[:, 0].min(axis=0), found[:, 1].max(axis=0)


def _where(names: Sequence[str], wrong: BoolArray) -> str:
    """How many values of each column a mask (n, M) marks, and in which rows."""
    counts = wrong.sum(axis=0)
    marked = [j for j, count in enumerate(counts) if count]
    return ", ".join(f"{names[j]} {int(counts[j])} ({rows_text(wrong[:, j])})" for j in marked)


def _counts(by_column: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {int(count)}" for name, count in by_column.items())
