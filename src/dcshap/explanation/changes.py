"""What if: the smallest change of some features that turns a decision."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from dcshap._tables import row_cells
from dcshap._typing import Array, BoolArray, FloatArray
from dcshap.exceptions import InputError
from dcshap.languages import wording
from dcshap.schema import Schema
from dcshap.schema.columns import Category, Column

__all__ = ["Change", "changed_values", "smallest_change"]

Way = Literal["any", "up", "down"]

STEPS = 20  # values to try of a number, about
MOST_ROWS = 50_000  # to be predicted in one search
_CHUNK = 2_000


@dataclass(frozen=True)
class Change:
    """The smallest change that turns a decision, or that there is none.

    Attributes
    ----------
    found : bool
    before, after : mapping of column to value
        Of the columns that change; empty where nothing was found.
    distance : float
        How far it is: a number's change as a fraction of its range, a category's as 1, added up.
    decision_before, decision_after : label
        `decision_after` is None where nothing was found.
    n_columns : int
        Up to how many columns at once were tried, all their combinations.
    n_rows : int
        How many rows were predicted.
    """

    found: bool
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    distance: float
    decision_before: Any
    decision_after: Any
    n_columns: int
    n_rows: int

    def sentence(self, language: str = "en") -> str:
        """The change in one sentence."""
        texts = wording(language)
        if not self.found:
            return texts.say("change.none", n=str(self.n_columns))
        each = [
            texts.say("change.column", feature=name, before=texts.cell(self.before[name]), after=texts.cell(value))
            for name, value in self.after.items()
        ]
        return texts.say("change.found", changes=texts.listed(each), decision=texts.cell(self.decision_after))


def smallest_change(
    decide: Callable[[pd.DataFrame], Array],
    schema: Schema,
    row: Any,
    *,
    changeable: Collection[str] | Mapping[str, Way],
    target: Any = None,
    max_columns: int = 3,
    steps: int = STEPS,
    max_rows: int = MOST_ROWS,
) -> Change:
    """The smallest change of chosen features that turns a decision: of as few columns as will do, then the nearest.

    Every combination of values of the changeable columns is tried, one column first, then two, and so on; of a number
    about `steps` round values within its range. The same question always has the same answer.

    Parameters
    ----------
    decide : callable
        A table of rows (n, M) to their decisions (n,), as a party's `predict`.
    schema : Schema
        What the values may be.
    row : table of one row, or mapping of column to value
    changeable : collection of str, or mapping of str to {"any", "up", "down"}
        The columns that may change, and which way; a category's way is the order of its list.
    target : label, optional
        The decision to reach; by default any other than the present one.
    max_columns : int, default 3
        How many columns may change at once.
    steps : int, default 20
        How many values of a number are tried, about.
    max_rows : int, default 50000
        How many rows may be predicted. Where that is not enough for one more column at once, none is tried:
        `n_columns` says how far the search went.
    """
    codes = _codes(schema, row)
    ways: dict[str, Way] = dict(changeable) if isinstance(changeable, Mapping) else dict.fromkeys(changeable, "any")
    at = schema.names.index
    values = {name: changed_values(schema[name], codes[at(name)], way, steps=steps) for name, way in ways.items()}
    return _Search(decide, schema, codes, values, target).smallest(max_columns, max_rows)


def changed_values(column: Column, code: float, way: Way = "any", *, steps: int = STEPS) -> FloatArray:
    """The codes to which a cell may change, in ascending order: other categories, or round numbers of the range."""
    if way not in ("any", "up", "down"):
        raise InputError(f"A column may change 'any' way, 'up' or 'down'. Got {way!r}.")
    if isinstance(column, Category):
        codes = np.arange(len(column.categories), dtype=np.float64)
    else:
        codes = _round_numbers(column.low, column.high, steps, whole=_is_whole(column.low, column.high, code))
    allowed = {"any": codes != code, "up": codes > code, "down": codes < code}[way]
    return np.asarray(codes[allowed] if not math.isnan(code) else codes)


def _is_whole(*numbers: float) -> bool:
    return all(math.isnan(number) or float(number).is_integer() for number in numbers)


def _round_numbers(low: float, high: float, steps: int, *, whole: bool) -> FloatArray:
    """Multiples of 1, 2 or 5 times a power of ten between two ends, at most `steps` + 1 of them, and the ends."""
    if steps < 1:
        raise InputError(f"`steps` must be at least 1. Got {steps!r}.")
    if not low < high:
        return np.array([low])
    least = (high - low) / steps
    power = 10.0 ** math.floor(math.log10(least))
    step = next(factor * power for factor in (1, 2, 5, 10, 20) if factor * power >= least * (1 - 1e-9))
    step = max(step, 1.0) if whole else step
    inside = np.arange(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1) * step
    # Twelve digits: 3 × 0.1 is 0.3, not 0.30000000000000004.
    rounded = np.array([float(f"{number:.12g}") for number in inside])
    return np.unique(np.concatenate([[low, high], np.clip(rounded, low, high)]))


def _codes(schema: Schema, row: Any) -> FloatArray:
    if isinstance(row, pd.Series):
        row = row.to_dict()
    if isinstance(row, Mapping):
        row = pd.DataFrame({name: [value] for name, value in row.items()})
    codes = schema.codes(row, missing="reference")
    if len(codes) != 1:
        raise InputError(f"One row must be given to be changed. Got {len(codes)}.")
    first: FloatArray = codes[0]
    return first


@dataclass(frozen=True)
class _Search:
    decide: Callable[[pd.DataFrame], Array]
    schema: Schema
    codes: FloatArray
    values: Mapping[str, FloatArray]
    target: Any

    def smallest(self, max_columns: int, max_rows: int) -> Change:
        now = self.decisions(self.codes[None, :])[0]
        if self.target is not None and now == self.target:
            raise InputError("The decision is the target already: there is nothing to change.")
        n_rows, tried = 1, 0
        for size in range(1, min(max_columns, len(self.values)) + 1):
            if n_rows + self.count(size) > max_rows:
                break
            hit, seen = self.nearest(size, now)
            n_rows, tried = n_rows + seen, size
            if hit is not None:
                return self.change(hit, now, n_columns=size, n_rows=n_rows)
        return Change(False, {}, {}, math.inf, now, None, tried, n_rows)

    def decisions(self, rows: FloatArray) -> Array:
        found = np.asarray(self.decide(self.schema.frame(rows)))
        if found.shape != (len(rows),):
            raise InputError(f"`decide` must give one decision per row. Got shape {found.shape} for {len(rows)} rows.")
        return found

    def count(self, size: int) -> int:
        """How many rows differ in exactly so many of the columns."""
        chosen = itertools.combinations(self.values, size)
        return sum(math.prod(len(self.values[name]) for name in names) for names in chosen)

    def nearest(self, size: int, now: Any) -> tuple[FloatArray | None, int]:
        """The nearest row that differs in so many columns and is decided as wanted, and how many were predicted."""
        rows, distances = self._candidates(size)
        order = np.argsort(np.round(distances, 12), kind="stable")
        for start in range(0, len(order), _CHUNK):
            chunk = rows[order[start : start + _CHUNK]]
            hits = np.flatnonzero(self._reached(self.decisions(chunk), now))
            if len(hits):
                return chunk[hits[0]], start + len(chunk)
        return None, len(rows)

    def _reached(self, decisions: Array, now: Any) -> BoolArray:
        return np.asarray(decisions != now if self.target is None else decisions == self.target)

    def _candidates(self, size: int) -> tuple[FloatArray, FloatArray]:
        """All rows that differ in so many columns (n, M), and how far they are (n,)."""
        rows, distances = [np.empty((0, len(self.codes)))], [np.empty(0)]
        for names in itertools.combinations(self.values, size):
            at = [self.schema.names.index(name) for name in names]
            grid = np.stack(
                [axis.ravel() for axis in np.meshgrid(*(self.values[name] for name in names), indexing="ij")]
            )
            block = np.tile(self.codes, (grid.shape[1], 1))
            block[:, at] = grid.T
            rows.append(block)
            distances.append(
                sum(
                    (self._distance(name, column) for name, column in zip(names, grid, strict=True)),
                    np.zeros(grid.shape[1]),
                )
            )
        return np.concatenate(rows), np.concatenate(distances)

    def _distance(self, name: str, codes: FloatArray) -> FloatArray:
        column, code = self.schema[name], self.codes[self.schema.names.index(name)]
        if isinstance(column, Category) or math.isnan(code):
            return np.ones(len(codes))
        return np.asarray(np.abs(codes - code) / (column.high - column.low))

    def change(self, row: FloatArray, now: Any, *, n_columns: int, n_rows: int) -> Change:
        names = [
            name
            for at, name in enumerate(self.schema.names)
            if name in self.values and not np.array_equal(row[at], self.codes[at], equal_nan=True)
        ]
        before, after = (row_cells(self.schema.frame(codes[None, :]), 0, names) for codes in (self.codes, row))
        distance = sum(float(self._distance(name, row[[self.schema.names.index(name)]])[0]) for name in names)
        decided = self.decisions(row[None, :])[0]
        return Change(True, before, after, distance, now, decided, n_columns, n_rows)
