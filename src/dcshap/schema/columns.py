"""One column of the agreed data dictionary: what may stand in it, and its values as codes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from dcshap._typing import Array, FloatArray
from dcshap.exceptions import SchemaError
from dcshap.schema.knots import choose_knots, robust_range

__all__ = [
    "Category",
    "Column",
    "Number",
    "code_misfit",
    "column_codes",
    "column_from_dict",
    "column_from_tables",
    "column_median",
]

Label = str | int | float | bool
Encoding = Literal["ordinal", "onehot"]


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
        entry: dict[str, Any] = {"kind": "number", "low": _plain(self.low), "high": _plain(self.high)}
        entry |= {} if self.typical is None else {"typical": _plain(self.typical)}
        entry |= {"knots": [_plain(knot) for knot in self.knots]} if self.knots else {}
        entry |= {"clipped": True} if self.clipped else {}
        return entry | ({"sensitive": True} if self.sensitive else {})

    @property
    def typical_code(self) -> float:
        """The typical value, or the middle of the range."""
        return (self.low + self.high) / 2 if self.typical is None else self.typical


@dataclass(frozen=True)
class Category:
    """A categorical column: its categories in the order of their codes, how it is encoded, and a typical one.

    `"ordinal"` encodes a category as its position, as the paper does; `"onehot"` as a block of indicators. What a
    `sensitive` column holds is to be kept from everybody else as far as that can be.
    """

    name: str
    categories: tuple[Label, ...]
    encoding: Encoding = "ordinal"
    typical: Label | None = None
    sensitive: bool = False

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
        if self.typical is not None and self.typical not in self.categories:
            raise SchemaError(f"Column {self.name!r}: the typical category must be one of its categories.")

    def to_dict(self) -> dict[str, Any]:
        """What a YAML file says of the column."""
        labels = [_plain(label) for label in self.categories]
        entry = {"kind": "category", "categories": labels, "encoding": self.encoding}
        entry |= {} if self.typical is None else {"typical": _plain(self.typical)}
        return entry | ({"sensitive": True} if self.sensitive else {})

    @property
    def typical_code(self) -> float | None:
        """The code of the typical category; None where none is agreed on."""
        return None if self.typical is None else float(self.categories.index(self.typical))


Column = Number | Category


def column_from_tables(
    name: str, tables: Mapping[str, pd.DataFrame], encoding: Encoding, *, knots: int = 0, robust: bool = False
) -> Column:
    """The column that all tables have in common under one name: ranges and categories cover them all.

    `robust` ranges leave out the lowest and highest hundredth of a number's values, which are clipped.
    """
    kinds = {party: _kind(frame[name]) for party, frame in tables.items()}
    found = {kind for kind in kinds.values() if kind}
    if not found:
        raise SchemaError(f"Column {name!r} is empty in every table: leave it out.")
    if len(found) > 1:
        raise SchemaError(f"Column {name!r} holds numbers for some and categories for others: {kinds}.")
    present = [frame[name] for party, frame in tables.items() if kinds[party]]
    if found == {"category"}:
        return _category_from(name, present, encoding)
    finite = [values[np.isfinite(values.to_numpy(np.float64, na_value=np.nan))] for values in present]
    values = np.concatenate([part.to_numpy(np.float64) for part in finite])
    if not len(values):
        raise SchemaError(f"Column {name!r} holds no finite number in any table: leave it out.")
    low, high = robust_range(values) if robust else (float(values.min()), float(values.max()))
    chosen = choose_knots(values, knots, low=low, high=high) if knots and low < high else ()
    return Number(name, low, high, float(np.clip(np.median(values), low, high)), chosen, robust)


def _category_from(name: str, present: Sequence[pd.Series[Any]], encoding: Encoding) -> Category:
    column = Category(name, _common_categories(present), encoding)
    codes = np.concatenate([column_codes(column, values) for values in present])
    counts = np.bincount(codes[~np.isnan(codes)].astype(np.int64), minlength=len(column.categories))
    middle = int(np.searchsorted(np.cumsum(counts), counts.sum() / 2)) if encoding == "ordinal" else counts.argmax()
    return replace(column, typical=column.categories[int(middle)])


def column_from_dict(name: str, entry: Any) -> Column:
    """The column that `to_dict` wrote."""
    if not isinstance(entry, Mapping) or entry.get("kind") not in ("number", "category"):
        raise SchemaError(f"Column {name!r} must say kind: number or kind: category.")
    allowed = {"kind", "typical", "sensitive"} | (
        {"low", "high", "knots", "clipped"} if entry["kind"] == "number" else {"categories", "encoding"}
    )
    extra = sorted(set(map(str, entry)) - allowed)
    if extra:
        raise SchemaError(f"Column {name!r} has unknown keys {extra}. Allowed are {sorted(allowed)}.")
    sensitive = bool(entry.get("sensitive", False))
    try:
        if entry["kind"] == "number":
            typical = None if entry.get("typical") is None else float(entry["typical"])
            low, high, knots = float(entry["low"]), float(entry["high"]), tuple(map(float, entry.get("knots", ())))
            return Number(name, low, high, typical, knots, bool(entry.get("clipped", False)), sensitive)
        labels, encoding = tuple(entry["categories"]), entry.get("encoding", "ordinal")
        return Category(name, labels, encoding, entry.get("typical"), sensitive)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError(
            f"Column {name!r}: a number needs low and high, a category needs a list of categories."
        ) from error


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


def column_codes(column: Column, values: pd.Series[Any]) -> FloatArray:
    """Numbers as they are, categories as the position in their list; NaN where missing.

    Raises
    ------
    SchemaError
        If values do not fit the column: text among numbers, or no category of it.
    """
    if isinstance(column, Number):
        if _kind(values) == "category":
            raise SchemaError(f"column {column.name!r} must hold numbers")
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    codes = _positions(column.categories, values)
    unknown = int((np.isnan(codes) & values.notna().to_numpy()).sum())
    if unknown:
        raise SchemaError(
            f"column {column.name!r} has {unknown} values that are none of its {len(column.categories)} categories"
        )
    return codes


def _positions(categories: Sequence[Label], values: pd.Series[Any]) -> FloatArray:
    """The position of each value among the categories; NaN where it is none of them."""
    position: dict[Any, float] = {label: float(code) for code, label in enumerate(categories)}
    if isinstance(values.dtype, pd.CategoricalDtype):
        of_dtype = np.array([position.get(label, np.nan) for label in values.cat.categories] + [np.nan])
        return of_dtype[values.cat.codes.to_numpy()]  # code -1, missing, picks the NaN at the end
    given: Array = values.to_numpy(dtype=object)
    known = (position.get(label, np.nan) if isinstance(label, Hashable) else np.nan for label in given)
    return np.fromiter(known, dtype=np.float64, count=len(given))


def _kind(values: pd.Series[Any]) -> str | None:
    """The kind of a column's values; None where all are missing."""
    if isinstance(values.dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(values.dtype):
        return "category"
    if not values.notna().any():
        return None
    return "number" if pd.api.types.is_numeric_dtype(values.dtype) else "category"


def _common_categories(columns: Sequence[pd.Series[Any]]) -> tuple[Label, ...]:
    """The categories of all tables: in the order they already have where all agree on it, sorted otherwise."""
    lists = []
    for values in columns:
        if isinstance(values.dtype, pd.CategoricalDtype):
            lists.append([_plain(label) for label in values.cat.categories])
        else:
            lists.append(sorted(_distinct(values), key=_label_order))
    if all(labels == lists[0] for labels in lists):
        return tuple(lists[0])
    return tuple(sorted({label for labels in lists for label in labels}, key=_label_order))


def _distinct(values: pd.Series[Any]) -> set[Label]:
    try:
        labels = {_plain(label) for label in values.dropna().unique()}
    except TypeError:  # lists and the like cannot be told apart
        labels = {None}
    if not all(isinstance(label, str | int | float) for label in labels):
        raise SchemaError(f"Column {values.name!r} must hold numbers, text or truth values: turn others to text.")
    return labels


def _is_finite(label: Any) -> bool:
    return isinstance(label, int | np.integer | np.bool_) or (
        isinstance(label, float | np.floating) and bool(np.isfinite(label))
    )


def _label_order(label: Any) -> tuple[bool, Any]:
    return (isinstance(label, str), label)


def _plain(value: Any) -> Any:
    """A number as YAML would write it: 17, not 17.0 nor numpy's."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
