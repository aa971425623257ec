"""Cells as people type them into a form, within what the schema allows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dcshap.exceptions import InputError
from dcshap.schema.columns import Column, Date, Number
from dcshap.schema.dates import as_days, date_of

__all__ = ["bounds_typed", "cell_of", "code_typed", "typed"]


def code_typed(column: Column, text: str) -> float:
    """The code of what was typed.

    Raises
    ------
    InputError
        If it is none of the column's; what was typed is not repeated.
    """
    if not isinstance(column, Number):
        for code, label in enumerate(column.categories):
            if str(label) == text:
                return float(code)
        raise InputError(f"{column.name!r} must be one of the categories that the parties agreed on.")
    if isinstance(column, Date):
        number = float(as_days(pd.Series([text], dtype=object), column.since)[0])
    else:
        try:
            number = float(text.replace(",", ""))
        except ValueError:
            number = np.nan
    if np.isnan(number):
        what = "a date (YYYY-MM-DD)" if isinstance(column, Date) else "a number"
        raise InputError(f"{column.name!r} must be {what}.")
    if not column.low <= number <= column.high:
        low, high = bounds_typed(column)
        raise InputError(f"{column.name!r} must be from {low} to {high}, as the parties agreed.")
    return number


def cell_of(column: Column, code: float) -> Any:
    """The cell that a code stands for."""
    if isinstance(column, Date):
        return date_of(code, column.since)
    return code if isinstance(column, Number) else column.categories[int(code)]


def typed(column: Column, code: float) -> str:
    """How people would type the cell of a code; empty where it is missing. What is out of range is at its end."""
    if np.isnan(code):
        return ""
    if not isinstance(column, Number):
        return str(column.categories[int(code)])
    inside = float(np.clip(code, column.low, column.high))
    return date_of(inside, column.since) if isinstance(column, Date) else f"{inside:.12g}"


def bounds_typed(column: Number) -> tuple[str, str]:
    """The ends of a number's or date's range, as people would type them."""
    return typed(column, column.low), typed(column, column.high)
