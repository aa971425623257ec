"""Tables whose cells are swapped: arrays, pandas frames, and other frames through narwhals.

Cells are swapped, never converted: a frame's column reaches the model in the dtype, and with the categories, that
it has in `X`. An array has one dtype; if `X` and the reference differ in it, numpy's common one is taken.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from dcshap._typing import Array, BoolArray, FloatArray, IntArray
from dcshap.exceptions import InputError

__all__ = ["ArrayCells", "Cells", "OtherCells", "PandasCells", "cells_of"]


# Columns that models compute with as they are, in float64.
_NUMBERS = tuple(map(np.dtype, ("f8", "f4", "i8", "i4", "i2", "i1", "u4", "u2", "u1")))
_NUMBERS_ELSEWHERE = (nw.Float64, nw.Float32, nw.Int64, nw.Int32, nw.Int16, nw.Int8, nw.UInt32, nw.UInt16, nw.UInt8)


class Cells(Protocol):
    """A table of samples, and reference rows whose cells may take the place of theirs."""

    @property
    def X(self) -> Any:
        """The samples."""

    @property
    def reference(self) -> Any:
        """The reference rows, in the samples' own dtypes."""

    @property
    def columns(self) -> list[Hashable]:
        """The names of the columns."""

    def same(self) -> BoolArray:
        """Where a sample's cell equals that of every reference row, shape (n, d). Missing equals missing."""

    def rows(self, sample: int, inside: BoolArray) -> Any:
        """One row per coalition and reference row: the sample's cells where `inside` (n_coalitions, d) holds."""

    def stacked(self, parts: Sequence[Any]) -> Any:
        """Several such tables as one."""

    def numbers(self) -> tuple[FloatArray, FloatArray] | None:
        """Samples and reference rows as float64; None if some are something else, or missing."""


def cells_of(X: Any, reference: Any) -> Cells:
    """The samples and the reference as they were given, checked to fit each other."""
    if isinstance(X, pd.DataFrame):
        return _pandas_cells(X, reference)
    if isinstance(X, np.ndarray | list | tuple):
        return _array_cells(np.asarray(X), reference)
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError as error:
        raise InputError(f"`X` must be an array or a DataFrame. Got {type(X).__name__}.") from error
    return _other_cells(frame, reference)


def _picks(inside: BoolArray, n_reference: int) -> IntArray:
    """Which row of (reference rows, then the sample) each cell is from, shape (n_coalitions * n_reference, d)."""
    from_reference = np.arange(n_reference)[None, :, None]
    return np.where(inside[:, None, :], n_reference, from_reference).reshape(-1, inside.shape[1])


@dataclass(frozen=True)
class ArrayCells:
    """Samples (n, d) and reference rows (r, d) as arrays of one dtype."""

    X: Array
    reference: Array

    @property
    def columns(self) -> list[Hashable]:
        """The columns `x0`, `x1`, …"""
        return [f"x{i}" for i in range(self.X.shape[1])]

    def same(self) -> BoolArray:
        """Where a sample's cell equals that of every reference row, shape (n, d). Missing equals missing."""
        return _equal_to_all(self.X, self.reference)

    def rows(self, sample: int, inside: BoolArray) -> Array:
        """The sample's cells where `inside`, the reference's elsewhere."""
        # Algorithm 1, lines 5 and 6: x'
        swapped = np.where(inside[:, None, :], self.X[sample], self.reference[None, :, :])
        return swapped.reshape(-1, self.X.shape[1])

    def stacked(self, parts: Sequence[Array]) -> Array:
        """Several arrays as one."""
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def numbers(self) -> tuple[FloatArray, FloatArray] | None:
        """Samples and reference rows as float64."""
        return _as_numbers(self.X, self.reference) if self.X.dtype in _NUMBERS else None


@dataclass(frozen=True)
class PandasCells:
    """Samples and reference rows as pandas frames with the same columns and dtypes."""

    X: pd.DataFrame
    reference: pd.DataFrame

    @property
    def columns(self) -> list[Hashable]:
        """The frame's own columns."""
        return list(self.X.columns)

    def same(self) -> BoolArray:
        """Where a sample's cell equals that of every reference row, shape (n, d). Missing equals missing."""
        same = np.empty(self.X.shape, dtype=bool)
        for at in range(self.X.shape[1]):
            mine = self.X.iloc[:, at].to_numpy(dtype=object)
            theirs = self.reference.iloc[:, at].to_numpy(dtype=object)
            same[:, at] = _equal_to_all(mine, theirs)
        return same

    def rows(self, sample: int, inside: BoolArray) -> pd.DataFrame:
        """The sample's cells where `inside`, the reference's elsewhere."""
        both = pd.concat([self.reference, self.X.iloc[[sample]]], ignore_index=True)
        picks = _picks(inside, len(self.reference))
        taken = {at: both.iloc[:, at].array.take(picks[:, at]) for at in range(both.shape[1])}
        rows = pd.DataFrame(taken, index=pd.RangeIndex(len(picks)))
        rows.columns = self.X.columns
        return rows

    def stacked(self, parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
        """Several frames as one."""
        return parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)

    def numbers(self) -> tuple[FloatArray, FloatArray] | None:
        """Samples and reference rows as float64."""
        return _as_numbers(self.X, self.reference) if all(dtype in _NUMBERS for dtype in self.X.dtypes) else None


@dataclass(frozen=True)
class OtherCells:
    """Samples and reference rows as frames of another library, polars for one; the model sees that library's."""

    X: Any
    reference: Any

    @property
    def columns(self) -> list[Hashable]:
        """The frame's own columns."""
        return list(nw.from_native(self.X, eager_only=True).columns)

    def same(self) -> BoolArray:
        """Where a sample's cell equals that of every reference row, shape (n, d). Missing equals missing."""
        X, reference = nw.from_native(self.X, eager_only=True), nw.from_native(self.reference, eager_only=True)
        return np.stack([_equal_to_all(_objects(X[name]), _objects(reference[name])) for name in X.columns], axis=1)

    def rows(self, sample: int, inside: BoolArray) -> Any:
        """The sample's cells where `inside`, the reference's elsewhere."""
        X, reference = nw.from_native(self.X, eager_only=True), nw.from_native(self.reference, eager_only=True)
        both = nw.concat([reference, X[sample : sample + 1]])
        picks = _picks(inside, len(reference))
        return nw.from_dict({name: both[name][picks[:, at]] for at, name in enumerate(X.columns)}).to_native()

    def stacked(self, parts: Sequence[Any]) -> Any:
        """Several frames as one."""
        return nw.concat([nw.from_native(part, eager_only=True) for part in parts]).to_native()

    def numbers(self) -> tuple[FloatArray, FloatArray] | None:
        """Samples and reference rows as float64."""
        tables = [nw.from_native(each, eager_only=True) for each in (self.X, self.reference)]
        if not all(dtype in _NUMBERS_ELSEWHERE for dtype in tables[0].schema.values()):
            return None
        return _as_numbers(*(table.to_numpy() for table in tables))


def _as_numbers(X: Any, reference: Any) -> tuple[FloatArray, FloatArray] | None:
    tables = np.asarray(X, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    return tables if all(np.isfinite(table).all() for table in tables) else None


def _objects(column: nw.Series[Any]) -> Array:
    return np.array(column.to_list(), dtype=object)


def _equal_to_all(cells: Array, reference: Array) -> BoolArray:
    """Where cells (n, …) equal those of every reference row (r, …): these are all alike then, and equal the first."""
    return np.asarray(_equal(cells, reference[:1]) & _equal(reference, reference[:1]).all(axis=0), dtype=bool)


def _equal(left: Array, right: Array) -> Array:
    """Cell by cell equality, missing cells being equal to each other."""
    if left.dtype.kind in "biuSU":
        return np.asarray(left == right)
    if left.dtype == object:
        left, right = np.broadcast_arrays(left, right)
        no_left, no_right = pd.isna(left), pd.isna(right)
        equal = no_left & no_right
        known = ~(no_left | no_right)  # pandas' missing value has no answer to whether it equals another
        equal[known] = left[known] == right[known]
        return np.asarray(equal)
    return np.asarray((left == right) | (np.isnan(left) & np.isnan(right)))


def _array_cells(X: Array, reference: Any) -> ArrayCells:
    if X.ndim != 2:
        raise InputError(f"`X` must have two dimensions, rows and columns. Got shape {X.shape}.")
    rows = np.asarray(reference)
    rows = rows[None, :] if rows.ndim == 1 else rows
    _check_reference_shape(X.shape, rows.shape)
    if X.dtype == rows.dtype:
        return ArrayCells(X, rows)
    if (X.dtype.kind in "biuf") != (rows.dtype.kind in "biuf"):
        raise InputError(f"`X` and `reference` must be of the same kind. Got {X.dtype} and {rows.dtype}.")
    common = np.result_type(X.dtype, rows.dtype)
    return ArrayCells(X.astype(common), rows.astype(common))


def _check_reference_shape(x_shape: tuple[int, ...], reference_shape: tuple[int, ...]) -> None:
    if len(reference_shape) != 2 or reference_shape[1] != x_shape[1]:
        raise InputError(
            f"`reference` must be one row, or a table of rows, with the columns of `X`. "
            f"Got `X` of shape {x_shape} and `reference` of shape {reference_shape}."
        )
    if reference_shape[0] == 0:
        raise InputError("`reference` must hold at least one row. Got none.")


def _pandas_cells(X: pd.DataFrame, reference: Any) -> PandasCells:
    rows = _reference_frame(reference, list(X.columns))
    _check_reference_shape(X.shape, rows.shape)
    if list(rows.columns) != list(X.columns):
        raise InputError(
            f"`reference` must have the columns of `X` in the same order. "
            f"Got {list(rows.columns)} for {list(X.columns)}."
        )
    kept = {at: _in_dtype(rows.iloc[:, at], X.iloc[:, at].dtype) for at in range(X.shape[1])}
    like_x = pd.DataFrame(kept, index=pd.RangeIndex(len(rows)))
    like_x.columns = X.columns
    return PandasCells(X, like_x)


def _reference_frame(reference: Any, columns: list[Hashable]) -> pd.DataFrame:
    if isinstance(reference, pd.DataFrame):
        return reference.reset_index(drop=True)
    if isinstance(reference, Mapping | pd.Series):
        missing = [name for name in columns if name not in reference]
        if missing:
            raise InputError(f"`reference` must hold a cell for every column of `X`. Missing: {missing}.")
        cells: Mapping[Any, Any] = reference if isinstance(reference, Mapping) else reference.to_dict()
        return pd.DataFrame({name: pd.Series([cells[name]]) for name in columns}, columns=columns)
    rows = np.asarray(reference)
    rows = rows[None, :] if rows.ndim == 1 else rows
    _check_reference_shape((0, len(columns)), rows.shape)
    return pd.DataFrame(rows, columns=columns)


def _in_dtype(column: pd.Series[Any], dtype: Any) -> Any:
    """The reference's cells in the dtype of the samples' column, if it can hold them as they are."""
    if column.dtype == dtype:
        return column.array
    if isinstance(dtype, pd.CategoricalDtype) and not column.dropna().isin(dtype.categories).all():
        raise _dtype_error(column.name, column.dtype, dtype)
    try:
        cast = column.astype(dtype)
    except (TypeError, ValueError) as error:
        raise _dtype_error(column.name, column.dtype, dtype) from error
    before, after = column.to_numpy(dtype=object), cast.to_numpy(dtype=object)
    if not _equal(before, after).all():
        raise _dtype_error(column.name, column.dtype, dtype)
    return cast.array


def _dtype_error(name: Hashable, got: Any, wanted: Any) -> InputError:
    return InputError(
        f"`reference` must hold cells that column {name!r} of `X`, of dtype {wanted}, can hold unchanged. "
        f"Got dtype {got} with cells that it cannot. Convert that column of `X` first, or choose another reference."
    )


def _other_cells(X: nw.DataFrame[Any], reference: Any) -> OtherCells:
    try:
        rows = nw.from_native(reference, eager_only=True)
    except TypeError as error:
        raise InputError(
            f"`reference` must be a DataFrame where `X` is one. Got {type(reference).__name__}."
        ) from error
    _check_reference_shape(X.shape, rows.shape)
    if dict(rows.schema) != dict(X.schema) or rows.columns != X.columns:
        differ = [name for name in X.columns if rows.schema.get(name) != X.schema[name]]
        raise InputError(f"`reference` must have the columns of `X` in the same order and dtypes. Different: {differ}.")
    return OtherCells(X.to_native(), rows.to_native())
