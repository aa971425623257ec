"""The cells that codes stand for, and cells as people type them into a form, within what the schema allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dcshap._tables import Cells
from dcshap._typing import FloatArray
from dcshap.exceptions import InputError
from dcshap.schema.columns import Column, Date, Number, Time

__all__ = ["bounds_typed", "cell_of", "cells_of", "code_typed", "typed"]

_FORMS = {"number": "a number", "date": "a date (YYYY-MM-DD)", "time": "a time (HH:MM)"}


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
    if isinstance(column, Date | Time):
        number = float(column.read(pd.Series([text], dtype=object))[0])
    else:
        try:
            number = float(text.replace(",", ""))
        except ValueError:
            number = np.nan
    if np.isnan(number):
        raise InputError(f"{column.name!r} must be {_FORMS[column.kind]}.")
    if not column.low <= number <= column.high:
        low, high = bounds_typed(column)
        raise InputError(f"{column.name!r} must be from {low} to {high}, as the parties agreed.")
    return number


def cell_of(column: Column, code: float) -> Any:
    """The cell that a code stands for."""
    if type(column) is Number:
        return code
    return column.cell(code) if isinstance(column, Number) else column.categories[int(code)]


def cells_of(columns: Sequence[Column], codes: FloatArray) -> Cells:
    """The cells that codes (n, M) stand for; None where one is missing."""
    return Cells(
        {
            column.name: [None if np.isnan(code) else cell_of(column, code) for code in codes[:, j].tolist()]
            for j, column in enumerate(columns)
        }
    )


def typed(column: Column, code: float) -> str:
    """How people would type the cell of a code; empty where it is missing. What is out of range is at its end."""
    if np.isnan(code):
        return ""
    if not isinstance(column, Number):
        return str(column.categories[int(code)])
    inside = float(np.clip(code, column.low, column.high))
    return f"{inside:.12g}" if type(column) is Number else str(column.cell(inside))


def bounds_typed(column: Number) -> tuple[str, str]:
    """The ends of a number's, date's or time's range, as people would type them."""
    return typed(column, column.low), typed(column, column.high)
