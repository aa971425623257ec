"""The agreed data dictionary: which columns there are, and what may stand in them.

A schema is all that the parties of a horizontal collaboration must agree on before they begin. It is built from
data (`Schema.from_frames`) or written by hand:

>>> schema = Schema.from_yaml('''
... columns:
...   age: {kind: number, low: 17, high: 90}
...   sex: {kind: category, categories: [Female, Male]}
... ''')
>>> schema.names
('age', 'sex')

A table becomes *codes*: one float column per raw column, numbers as they are, categories as the position in their
list, missing values as NaN.

>>> import pandas as pd
>>> schema.codes(pd.DataFrame({"sex": ["Male"], "age": [40]}))
array([[40.,  1.]])
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from dcshap._tables import as_array, as_frame, is_array
from dcshap._typing import BoolArray, FloatArray
from dcshap.exceptions import InputError, SchemaError, TableWarning
from dcshap.schema.columns import (
    Category,
    Column,
    Encoding,
    Number,
    Unknown,
    code_misfit,
    column_codes,
    column_from_dict,
    column_median,
)
from dcshap.schema.discovery import column_differences, column_from_tables, require_names
from dcshap.schema.kinds import without_identifiers
from dcshap.schema.knots import n_knots
from dcshap.schema.notation import read_notation, write_notation
from dcshap.schema.ranges import Absent, Missing, count_outside, require_values

__all__ = ["Absent", "Missing", "Schema"]


@dataclass(frozen=True)
class Schema:
    """The agreed data dictionary.

    Parameters
    ----------
    columns : tuple of Number, Date, Time or Category
        In the order in which plain arrays hold them.
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        if not self.columns:
            raise SchemaError("A schema must have at least one column. Got none.")
        if len(set(self.names)) < len(self.names):
            twice = sorted({name for name in self.names if self.names.count(name) > 1})
            raise SchemaError(f"Column names must differ. These stand there twice: {twice}.")

    # --- what it says --------------------------------------------------------------------------------------

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The names of the columns that are marked as sensitive."""
        return tuple(column.name for column in self.columns if column.sensitive)

    @cached_property
    def fingerprint(self) -> str:
        """A hash that is equal exactly where two schemas are."""
        text = json.dumps(self.to_dict(), sort_keys=False, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise SchemaError(f"The schema has no column {name!r}. It has {list(self.names)}.")

    def select(self, names: Sequence[str]) -> Schema:
        """The schema of some of the columns."""
        return Schema(tuple(self[name] for name in names))

    def differences(self, other: Schema) -> list[str]:
        """Every difference to another schema, a sentence each; empty where they are equal."""
        found = [f"column {name!r} is only in the first" for name in self.names if name not in other.names]
        found += [f"column {name!r} is only in the second" for name in other.names if name not in self.names]
        for name in (name for name in self.names if name in other.names):
            mine, theirs = self[name].to_dict(), other[name].to_dict()
            found += [
                f"column {name!r} differs in {key}"
                for key in sorted(mine.keys() | theirs.keys())
                if mine.get(key) != theirs.get(key)
            ]
        if not found and self.names != other.names:
            found.append("the columns stand in another order")
        return found

    # --- made from, and written to -----------------------------------------------------------------------

    @classmethod
    def from_frames(
        cls,
        frames: Mapping[str, Any] | Iterable[Any],
        *,
        onehot: Sequence[str] | Literal["all"] = (),
        category: Sequence[str] = (),
        knots: int | Literal["auto"] = 0,
        robust: bool = False,
    ) -> Self:
        """The dictionary that the given tables have in common.

        Ranges and categories cover all tables; a table that lacks a column, has one too many or holds another
        kind of values is named, all differences at once. Columns that look like identifiers or free text are left
        out, with a warning: their values must not stand in a schema.

        Parameters
        ----------
        frames : mapping of name to table, or tables
            DataFrames (pandas, polars), or arrays, whose columns are numbers called `x0`, `x1`, …
        onehot : sequence of str or "all"
            Categorical columns to encode as a block of indicators instead of ordinal codes.
        category : sequence of str
            Columns of whole numbers that are the codes of categories.
        knots : int or "auto"
            How many hat functions encode a number, so that effects may bend; none by default. "auto" goes by the
            rows of all tables: none for small ones.
        robust : bool
            Take a number's range from its 1st to its 99th percentile and clip values beyond, so that a heavy tail
            does not shrink the others to nothing.
        """
        named = dict(frames) if isinstance(frames, Mapping) else {f"table {i}": f for i, f in enumerate(frames)}
        tables = {name: as_frame(frame) for name, frame in named.items()}
        if not tables:
            raise SchemaError("A schema needs at least one table to be built from. Got none.")
        require_names(tables)
        if not any(map(is_array, named.values())):  # an array's columns are known by their place
            tables = without_identifiers(tables, keep=category)
        names = list(next(iter(tables.values())).columns)
        onehot = names if onehot == "all" else onehot
        for option, given in {"onehot": onehot, "category": category}.items():
            unknown = [name for name in given if name not in names]
            if unknown:
                raise SchemaError(f"`{option}` must name columns of the tables. Got {unknown}, which are not there.")
        number = n_knots(knots, sum(map(len, tables.values())))
        columns, problems = [], column_differences(tables, names)
        for name in (name for name in names if all(name in frame.columns for frame in tables.values())):
            try:
                encoding: Encoding = "onehot" if name in onehot else "ordinal"
                codes = name in category
                columns.append(column_from_tables(name, tables, encoding, category=codes, knots=number, robust=robust))
            except SchemaError as error:
                problems.append(str(error))
        if problems:
            raise SchemaError("No common schema. " + " ".join(problems))
        return cls(tuple(columns))

    @classmethod
    def for_supervision(
        cls,
        frames: Mapping[str, Any] | Iterable[Any],
        *,
        onehot: Sequence[str] | Literal["all"] = "all",
        category: Sequence[str] = (),
    ) -> Self:
        """The dictionary for a supervised span: categories one-hot, robust ranges, numbers of large tables may bend."""
        return cls.from_frames(frames, onehot=onehot, category=category, knots="auto", robust=True)

    @classmethod
    def from_dict(cls, content: Any) -> Self:
        """The schema that `to_dict` wrote."""
        if not isinstance(content, Mapping) or not isinstance(content.get("columns"), Mapping):
            raise SchemaError("A schema must be a mapping with the key 'columns', itself a mapping by column name.")
        columns = content["columns"]
        if not all(isinstance(name, str) for name in columns):
            # YAML reads an unquoted `no` as false and `1` as a number.
            raise SchemaError("Column names must be text: quote those that are numbers or words like yes, no, on, off.")
        return cls(tuple(column_from_dict(name, entry) for name, entry in columns.items()))

    @classmethod
    def from_yaml(cls, text: str) -> Self:
        """The schema that a YAML text describes."""
        return cls(_columns_in(text))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a schema from a YAML file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise SchemaError(f"{path} must be a YAML file in UTF-8. It is not.") from error
        except (FileNotFoundError, IsADirectoryError) as error:
            raise SchemaError(f"{path} must be a schema's YAML file. There is no such file.") from error
        return cls.from_yaml(text)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, strings and numbers."""
        return {"columns": {column.name: column.to_dict() for column in self.columns}}

    def to_yaml(self) -> str:
        """The schema as a YAML text, ready to be edited by hand."""
        return write_notation(self.to_dict())

    def save(self, path: str | Path) -> None:
        """Write the schema to a YAML file."""
        Path(path).write_text(self.to_yaml(), encoding="utf-8")

    # --- tables to codes and back ------------------------------------------------------------------------

    def codes(self, table: Any, *, missing: Missing = "error", unknown: Unknown = "error") -> FloatArray:
        """A table as numbers: categories as their position in the list, dates as days, times as minutes, gaps as NaN.

        Columns that are not in the schema are ignored, with a warning.

        Parameters
        ----------
        table : DataFrame (pandas, polars) of shape (n, M) in any column order, or array in schema order
            An array holds categories as their codes.
        missing : {"error", "reference"}
            What a missing value means: a mistake, or "feature absent" (it stays NaN here; the reference's value
            takes its place when it is encoded).
        unknown : {"error", "reference"}
            The same of a category that is not in the schema, and of a value that is no number or date where one must
            be.

        Returns
        -------
        array of shape (n, M)
        """
        for name, choice in {"missing": missing, "unknown": unknown}.items():
            if choice not in ("error", "reference"):
                raise InputError(f"`{name}` must be 'error' or 'reference'. Got {choice!r}.")
        if is_array(table):
            codes, absent = self._codes_of_array(table), None
        else:
            codes, absent = self._codes_of_frame(as_frame(table), unknown)
        require_values(self.columns, codes, missing, absent=absent)
        return codes

    def frame(self, codes: FloatArray) -> pd.DataFrame:
        """The raw table that codes (n, M) stand for."""
        columns: dict[str, Any] = {}
        for j, column in enumerate(self.columns):
            columns[column.name] = codes[:, j]
            if isinstance(column, Category):
                whole = np.where(np.isnan(codes[:, j]), -1, np.rint(codes[:, j])).astype(np.int64)
                columns[column.name] = pd.Categorical.from_codes(whole, dtype=column.dtype)
            elif type(column) is not Number:
                columns[column.name] = [None if np.isnan(code) else column.cell(code) for code in codes[:, j]]
        return pd.DataFrame(columns)

    def median(self, codes: FloatArray) -> FloatArray:
        """The typical row (M,) of codes (n, M).

        The median; for ordinal codes rounded to a category, for one-hot categories the mode. Missing values are left
        out; a column with nothing else in it is NaN.
        """
        return np.array([column_median(column, codes[:, j]) for j, column in enumerate(self.columns)])

    def _codes_of_frame(self, frame: pd.DataFrame, unknown: Unknown) -> tuple[FloatArray, BoolArray | None]:
        """The codes (n, M), and which values the table lacks (n, M) where that is not the same as NaN."""
        problems, misfits, codes = self._name_problems(frame.columns), [], []
        for column in self.columns:
            if frame.columns.is_unique and column.name in frame.columns:
                try:
                    codes.append(column_codes(column, frame[column.name], unknown=unknown))
                except SchemaError as error:
                    misfits.append(str(error))
        if problems or misfits:
            advice = " `predict` and `explain` take such values for absent with unknown='reference'." if misfits else ""
            raise SchemaError("The table must fit the schema: " + "; ".join([*problems, *misfits]) + f".{advice}")
        self._warn_of_others(frame.columns)
        if all(type(column) is Number for column in self.columns) and unknown == "error":
            # As it lies in memory: no copy, and sums over rows are rounded as they always were.
            ordered = frame if list(frame.columns) == list(self.names) else frame.loc[:, list(self.names)]
            return ordered.to_numpy(dtype=np.float64, na_value=np.nan), None
        absent = None if unknown == "error" else frame.loc[:, list(self.names)].isna().to_numpy()
        return np.stack(codes, axis=1), absent

    def _name_problems(self, names: pd.Index[Any]) -> list[str]:
        """Which columns are lacking or stand twice, a clause each."""
        if not names.is_unique:
            return [f"{int(names.duplicated().sum())} columns repeat another's name"]
        lacking = [name for name in self.names if name not in names]
        if not lacking:
            return []
        others = [str(name) for name in names if name not in self.names]
        found = [f"columns {lacking} are lacking"]
        return [*found, f"columns {others} are not in the schema"] if others else found

    def _warn_of_others(self, names: pd.Index[Any]) -> None:
        others = [str(name) for name in names if name not in self.names]
        if others:
            warnings.warn(f"The columns {others} are not in the schema and are ignored.", TableWarning, stacklevel=4)

    def _codes_of_array(self, array: Any) -> FloatArray:
        values = as_array(array)
        if values.ndim != 2 or values.shape[1] != len(self):
            raise SchemaError(
                f"An array must have shape (n, {len(self)}), columns in schema order. Got {values.shape}. "
                f"The schema's columns are {list(self.names)}."
            )
        try:
            codes = values.astype(np.float64, copy=False)
        except (TypeError, ValueError):
            # Not chained: numpy's own message quotes the value.
            raise SchemaError(
                "An array must hold numbers, categories as their codes. Got other values: pass a DataFrame instead."
            ) from None
        found = [code_misfit(column, codes[:, j]) for j, column in enumerate(self.columns)]
        if any(found):
            raise SchemaError("An array must hold, in " + "; in ".join(filter(None, found)) + ".")
        return codes

    def clipped(self, codes: FloatArray) -> dict[str, int]:
        """How many values of codes (n, M) are clipped in encoding, by column, where any are."""
        return count_outside(self.columns, codes, clipped=True)


@lru_cache(maxsize=16)
def _columns_in(text: str) -> tuple[Column, ...]:
    """The columns that a YAML text describes; a site reads the same text again and again."""
    return Schema.from_dict(read_notation(text)).columns
