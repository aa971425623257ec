"""Tables of any make, as pandas frames, and their cells as people write them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2 import selectors

from dcshap._typing import Array
from dcshap.exceptions import InputError

MISSING = "missing"


def as_frame(table: Any) -> pd.DataFrame:
    """A pandas DataFrame of whatever table was given; an array's columns are called `x0`, `x1`, …"""
    if isinstance(table, pd.DataFrame):
        return table
    if is_array(table):
        values = as_array(table)
        if values.ndim != 2:
            raise InputError(f"A table must have two dimensions. Got shape {values.shape}.")
        return pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError as error:
        raise InputError(
            f"A table must be a pandas or polars DataFrame or an array. Got {type(table).__name__}."
        ) from error
    # Where categories stand in the order of their appearance, the order means nothing: as text they are sorted.
    plain: pd.DataFrame = frame.with_columns(selectors.by_dtype(nw.Categorical).cast(nw.String)).to_pandas()
    return plain


def as_array(values: Any) -> Array:
    """An array of whatever numbers or lists were given."""
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InputError("Rows must all have the same length. Got rows of different lengths.") from error


def is_array(table: Any) -> bool:
    """Whether a table comes without column names."""
    return isinstance(table, np.ndarray | list | tuple)


@dataclass(frozen=True)
class Cells:
    """A table that was read into lists, by column: looking up single cells of a frame takes much longer."""

    columns: Mapping[str, Sequence[Any]]

    @classmethod
    def of(cls, table: pd.DataFrame | Cells, names: Mapping[str, str] | None = None) -> Self:
        """The cells of a table, some of its columns called by other names."""
        called = names or {}
        if isinstance(table, Cells):
            return cls({called.get(name, name): column for name, column in table.columns.items()})
        return cls({called.get(str(name), str(name)): column.tolist() for name, column in table.items()})

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def take(self, rows: Sequence[int]) -> Self:
        """Some of the rows."""
        return type(self)({name: [column[row] for row in rows] for name, column in self.columns.items()})


def row_cells(table: Any, row: int, names: Sequence[str]) -> dict[str, Any]:
    """The cells of one row, by name; names that are no columns are left out. Arrays have their columns in order."""
    if table is None:
        return {}
    if isinstance(table, pd.Series):
        table = table.to_frame().T
    if isinstance(table, Cells):
        return {name: column[row] for name, column in table.columns.items() if name in names}
    if not is_array(table):
        frame = as_frame(table)
        return {str(name): column.array[row] for name, column in frame.items() if str(name) in names}
    cells = np.atleast_2d(as_array(table))[row]
    return dict(zip(names, cells, strict=True)) if len(cells) == len(names) else {}


def is_missing(value: Any) -> bool:
    """Whether a cell is empty."""
    if isinstance(value, str | int):
        return False
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (np.ndim(value) == 0 and bool(pd.isna(value)))


def plain_value(value: Any) -> str:
    """One cell of a table as a reader would write it: whole numbers without decimals, categories as text."""
    if is_missing(value):
        return MISSING
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return " ".join(str(value).split())
    number = float(value) + 0.0
    size = abs(number)
    if number.is_integer() and size < 1e15:
        # Four digits are often a year, which takes no separator.
        text = f"{number:.0f}" if size < 1e4 else f"{number:,.0f}"
    elif 1e4 <= size < 1e9:
        text = f"{number:,.0f}"
    else:
        text = f"{number:.4g}"
    return text.replace("-", "−")
