"""Tables of any make in an explanation's file: arrays, objects, and frames of several libraries. No pickle."""

from __future__ import annotations

import io
import json
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from dcshap._bytes import array_bytes, read_array, read_table, table_bytes
from dcshap._tables import Cells
from dcshap.exceptions import StorageError

__all__ = ["table_from", "written_table"]


def written_table(table: Any, *, what: str) -> tuple[str, bytes]:
    """A table as bytes, and what it was: `none`, `array`, `objects`, `cells`, or the library of a frame."""
    if table is None:
        return "none", b""
    if isinstance(table, np.ndarray) and table.dtype != object:
        return "array", array_bytes(table)
    try:
        if isinstance(table, np.ndarray):
            columns = pa.table({str(at): pa.array(column) for at, column in enumerate(np.atleast_2d(table).T)})
            shape = {"shape": json.dumps(table.shape)}
            return "objects", table_bytes(columns.replace_schema_metadata(shape))
        if isinstance(table, Cells):
            return "cells", table_bytes(pa.table({name: pa.array(column) for name, column in table.columns.items()}))
        if isinstance(table, pd.DataFrame | pd.Series):
            frame = table.to_frame() if isinstance(table, pd.Series) else table
            return "pandas", table_bytes(pa.Table.from_pandas(frame))
        frame = nw.from_native(table, eager_only=True)
        return frame.implementation.name.lower(), table_bytes(frame.to_arrow())
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        raise StorageError(
            f"`{what}` must be a table whose columns hold one kind of value each. It is not, and is not saved."
        ) from error


def table_from(kind: str, content: bytes) -> Any:
    """The table that `written_table` wrote."""
    if kind == "none":
        return None
    if kind == "array":
        return read_array(io.BytesIO(content))
    table = read_table(io.BytesIO(content))
    if kind == "objects":
        shape = json.loads(table.schema.metadata[b"shape"])
        cells = np.empty((table.num_rows, table.num_columns), dtype=object)
        for at, column in enumerate(table.columns):
            cells[:, at] = column.to_pylist()
        return cells.reshape(shape)
    if kind == "cells":
        return Cells({name: column.to_pylist() for name, column in zip(table.column_names, table.columns, strict=True)})
    if kind == "pandas":
        return table.to_pandas()
    # The library was found by narwhals when the table was saved; if it is not installed now, narwhals says so.
    backend: Any = kind
    return nw.from_arrow(table, backend=backend).to_native()
