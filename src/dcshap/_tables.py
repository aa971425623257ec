"""Tables of any make, as pandas frames."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2 import selectors

from dcshap._typing import Array
from dcshap.exceptions import InputError


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
