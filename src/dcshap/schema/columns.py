"""One column of the agreed data dictionary: what may stand in it, and its values as codes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from dcshap._typing import Array, FloatArray
from dcshap.exceptions import SchemaError
from dcshap.schema.clock import DAY, as_minutes, clock_of, minute_of
from dcshap.schema.dates import SINCE, as_days, date_of, day_of
from dcshap.schema.kinds import rows_text

__all__ = [
    "Category",
    "Column",
    "Date",
    "Encoding",
    "Label",
    "Number",
    "Time",
    "Unknown",
    "code_misfit",
    "column_codes",
    "column_from_dict",
    "column_median",
    "plain_number",
]

Label = str | int | float | bool
Encoding = Literal["ordinal", "onehot"]
Unknown = Literal["error", "reference"]


@dataclass(frozen=True)
class Number:
    """A numeric column: the range its values are agreed to lie in, and a typical value.

    The anchor is drawn around the typical value, so it stands for "feature absent" too; the middle of the range by
    default. Values beyond the range are used as they are, or count as its nearer end where the column is `clipped`.
    With `knots`, from `low` to `high`, the column is encoded by hat functions (`dcshap.schema.knots`), which clip too.
    What a `sensitive` column holds is to be kept from everybody else as far as that can be.
    """

    name: str
    low: float
    high: float
    typical: float | None = None
    knots: tuple[float, ...] = ()
    clipped: bool = False
    sensitive: bool = False

    kind: ClassVar[str] = "number"
    plural: ClassVar[str] = "numbers"
    misfit: ClassVar[str] = "are none"  # what is said of values that the column cannot hold

    def __post_init__(self) -> None:
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise SchemaError(
                f"Column {self.name!r} must have a finite range with low < high. A constant column carries no "
                f"information: leave it out of the schema."
            )
        if self.typical is not None and not self.low <= self.typical <= self.high:
            raise SchemaError(f"Column {self.name!r}: the typical value must lie in the range.")
        ends = (self.low, self.high)
        if self.knots and (
            len(self.knots) < 3 or not np.all(np.diff(self.knots) > 0) or self.knots[:: len(self.knots) - 1] != ends
        ):
            raise SchemaError(f"Column {self.name!r}: knots must ascend from low to high, three or more of them.")

    def to_dict(self) -> dict[str, Any]:
        """What a YAML file says of the column."""
        entry: dict[str, Any] = {"kind": self.kind, "low": self.cell(self.low), "high": self.cell(self.high)}
        entry |= {} if self.typical is None else {"typical": self.cell(self.typical)}
        entry |= {"knots": [self.cell(knot) for knot in self.knots]} if self.knots else {}
        entry |= {"clipped": True} if self.clipped else {}
        return entry | ({"sensitive": True} if self.sensitive else {})

    @property
    def typical_code(self) -> float:
        """The typical value, or the middle of the range."""
        return (self.low + self.high) / 2 if self.typical is None else self.typical

    @property
    def unit(self) -> str:
        """What is counted, in words; nothing of a plain number."""
        return ""

    def read(self, values: pd.Series[Any]) -> FloatArray:
        """The numbers (n,) that cells stand for; NaN for a cell that is missing or none."""
        if pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype):
            return values.to_numpy(dtype=np.float64, na_value=np.nan)
        return _numbers_of(values)

    def cell(self, code: float) -> Any:
        """How a number is written in a cell, and in a schema."""
        return plain_number(code)


@dataclass(frozen=True)
class Date(Number):
    """A column of dates, which become days since an agreed date; its range, typical value and knots are such days."""

    since: str = SINCE

    kind: ClassVar[str] = "date"
    plural: ClassVar[str] = "dates"
    misfit: ClassVar[str] = "are no dates that can be read in one way only"

    def __post_init__(self) -> None:
        day_of(self.since)
        super().__post_init__()

    def to_dict(self) -> dict[str, Any]:
        """What a YAML file says of the column; days are written as dates."""
        return super().to_dict() | {"since": self.since}

    @property
    def unit(self) -> str:
        """Days, and since when."""
        return f"days since {self.since}"

    def read(self, values: pd.Series[Any]) -> FloatArray:
        """Days (n,) since the agreed date."""
        return as_days(values, self.since)

    def cell(self, code: float) -> str:
        """The date of a number of days."""
        return date_of(code, self.since)


@dataclass(frozen=True)
class Time(Number):
    """A column of times of day, which become minutes since midnight: 23:59 and 00:00 are far from each other."""

    kind: ClassVar[str] = "time"
    plural: ClassVar[str] = "times of day"
    misfit: ClassVar[str] = "cannot be read as one (HH:MM)"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low < 0 or self.high > DAY:
            raise SchemaError(f"Column {self.name!r}: times of day must lie between 00:00 and 24:00.")

    @property
    def unit(self) -> str:
        """Minutes, and since when."""
        return "minutes since midnight"

    def read(self, values: pd.Series[Any]) -> FloatArray:
        """Minutes (n,) since midnight."""
        return as_minutes(values)

    def cell(self, code: float) -> str:
        """The time of a number of minutes."""
        return clock_of(code)


@dataclass(frozen=True)
class Category:
    """A categorical column: its categories in the order of their codes, how it is encoded, and a typical one.

    `"ordinal"` encodes a category as its position, as the paper does; `"onehot"` as a block of indicators. What a
    `sensitive` column holds is to be kept from everybody else as far as that can be. A value that is none of the
    categories counts as the `rest`, where one of them is named so.
    """

    name: str
    categories: tuple[Label, ...]
    encoding: Encoding = "ordinal"
    typical: Label | None = None
    sensitive: bool = False
    rest: Label | None = None

    def __post_init__(self) -> None:
        if len(self.categories) < 2 or len(set(self.categories)) < len(self.categories):
            raise SchemaError(
                f"Column {self.name!r} must have at least two categories, each listed once. Got "
                f"{len(self.categories)}, {len(set(self.categories))} of them different. Leave a constant column out."
            )
        plain = sum(isinstance(label, str) or _is_finite(label) for label in self.categories)
        if plain < len(self.categories):
            raise SchemaError(
                f"Column {self.name!r}: categories must be text, finite numbers or truth values. "
                f"{len(self.categories) - plain} of {len(self.categories)} are not: turn them to text."
            )
        if self.encoding not in ("ordinal", "onehot"):
            raise SchemaError(f"Column {self.name!r}: encoding must be 'ordinal' or 'onehot'. Got {self.encoding!r}.")
        for what, label in {"typical category": self.typical, "rest": self.rest}.items():
            if label is not None and label not in self.categories:
                raise SchemaError(f"Column {self.name!r}: the {what} must be one of its categories.")

    def to_dict(self) -> dict[str, Any]:
        """What a YAML file says of the column."""
        labels = [plain_number(label) for label in self.categories]
        entry = {"kind": "category", "categories": labels, "encoding": self.encoding}
        entry |= {} if self.typical is None else {"typical": plain_number(self.typical)}
        entry |= {} if self.rest is None else {"rest": plain_number(self.rest)}
        return entry | ({"sensitive": True} if self.sensitive else {})

    @property
    def typical_code(self) -> float | None:
        """The code of the typical category; None where none is agreed on."""
        return None if self.typical is None else float(self.categories.index(self.typical))

    @cached_property
    def dtype(self) -> pd.CategoricalDtype[Any]:
        """Of a table's column; kept, as pandas checks all categories whenever it makes one."""
        return pd.CategoricalDtype(list(self.categories))


Column = Number | Category


_KEYS = {
    "number": {"low", "high", "knots", "clipped"},
    "date": {"low", "high", "knots", "clipped", "since"},
    "time": {"low", "high", "knots", "clipped"},
    "category": {"categories", "encoding", "rest"},
}


def column_from_dict(name: str, entry: Any) -> Column:
    """The column that `to_dict` wrote."""
    kind = entry.get("kind") if isinstance(entry, Mapping) else None
    if not isinstance(kind, str) or kind not in _KEYS:
        raise SchemaError(f"Column {name!r} must say kind: number, date, time or category.")
    allowed = {"kind", "typical", "sensitive"} | _KEYS[kind]
    extra = sorted(set(map(str, entry)) - allowed)
    if extra:
        raise SchemaError(f"Column {name!r} has unknown keys {extra}. Allowed are {sorted(allowed)}.")
    try:
        if kind == "category":
            return _category_from_dict(name, entry)
        return _number_from_dict(name, entry)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError(
            f"Column {name!r}: a number, date or time needs low and high, a category needs a list of categories."
        ) from error


def _category_from_dict(name: str, entry: Mapping[str, Any]) -> Category:
    sensitive = bool(entry.get("sensitive", False))
    labels, encoding = tuple(entry["categories"]), entry.get("encoding", "ordinal")
    return Category(name, labels, encoding, entry.get("typical"), sensitive, entry.get("rest"))


def _number_from_dict(name: str, entry: Mapping[str, Any]) -> Number:
    clipped, sensitive = bool(entry.get("clipped", False)), bool(entry.get("sensitive", False))
    since = entry.get("since", SINCE)
    since = since if isinstance(since, str) else since.isoformat()  # YAML reads a date of its own
    read = {"date": lambda date: day_of(date, since), "time": minute_of, "number": float}[entry["kind"]]
    typical = None if entry.get("typical") is None else read(entry["typical"])
    low, high, knots = read(entry["low"]), read(entry["high"]), tuple(map(read, entry.get("knots", ())))
    if entry["kind"] == "date":
        return Date(name, low, high, typical, knots, clipped, sensitive, since)
    return (Time if entry["kind"] == "time" else Number)(name, low, high, typical, knots, clipped, sensitive)


def code_misfit(column: Column, codes: FloatArray) -> str | None:
    """What keeps codes (n,) from being codes of the column; None where they are."""
    if isinstance(column, Number):
        return None
    given = codes[~np.isnan(codes)]
    wrong = int(np.sum((given != np.rint(given)) | (given < 0) | (given >= len(column.categories))))
    return f"column {column.name!r} the codes 0 to {len(column.categories) - 1}, {wrong} are not" if wrong else None


def column_median(column: Column, codes: FloatArray) -> float:
    """The typical code of codes (n,), missing ones left out: the median, rounded to a category; one-hot, the mode."""
    given = codes[~np.isnan(codes)]
    if not len(given):
        return np.nan
    if isinstance(column, Number):
        return float(np.median(given))
    if column.encoding == "onehot":
        return float(np.bincount(given.astype(np.int64)).argmax())
    return float(np.clip(np.rint(np.median(given)), 0, len(column.categories) - 1))


def column_codes(column: Column, values: pd.Series[Any], *, unknown: Unknown = "error") -> FloatArray:
    """Numbers as they are, dates as days, times as minutes, categories as the position in their list; NaN if missing.

    Values that do not fit, text among numbers or no category of the column, are refused with a SchemaError. With
    `unknown="reference"` they count as missing.
    """
    codes = column.read(values) if isinstance(column, Number) else _positions(column, values)
    nothing = np.isnan(codes)
    if unknown != "error" or not nothing.any():
        return codes
    misfit = nothing & values.notna().to_numpy()
    if misfit.any():
        if isinstance(column, Number):
            must, what = f"must hold {column.plural}; it ", column.misfit
        else:
            must, what = "", f"are none of its {len(column.categories)} categories"
        where = f"{int(misfit.sum())} values that {what} ({rows_text(misfit)})"
        raise SchemaError(f"column {column.name!r} {must}has {where}")
    return codes


def _numbers_of(values: pd.Series[Any]) -> FloatArray:
    """The numbers of a column of another type; NaN for text, truth values and dates."""
    given = values.to_numpy(dtype=object)
    numbers = (
        float(v) if isinstance(v, int | float | np.number) and not isinstance(v, bool) else np.nan for v in given
    )
    return np.fromiter(numbers, dtype=np.float64, count=len(given))


def _positions(column: Category, values: pd.Series[Any]) -> FloatArray:
    """The position of each value among the categories, or that of the rest; NaN where it is none of them."""
    codes = _listed_positions(column.categories, values)
    if column.rest is not None:
        codes[np.isnan(codes) & values.notna().to_numpy()] = float(column.categories.index(column.rest))
    return codes


def _listed_positions(categories: Sequence[Label], values: pd.Series[Any]) -> FloatArray:
    """The position of each value among the categories; NaN where it is none of them."""
    position: dict[Any, float] = {label: float(code) for code, label in enumerate(categories)}
    if isinstance(values.dtype, pd.CategoricalDtype):
        of_dtype = np.array([position.get(label, np.nan) for label in values.cat.categories] + [np.nan])
        return of_dtype[values.cat.codes.to_numpy()]  # code -1, missing, picks the NaN at the end
    given: Array = values.to_numpy(dtype=object)
    known = (position.get(label, np.nan) if isinstance(label, Hashable) else np.nan for label in given)
    return np.fromiter(known, dtype=np.float64, count=len(given))


def _is_finite(label: Any) -> bool:
    return isinstance(label, int | np.integer | np.bool_) or (
        isinstance(label, float | np.floating) and bool(np.isfinite(label))
    )


def plain_number(value: Any) -> Any:
    """A number as YAML would write it: 17, not 17.0 nor numpy's."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
