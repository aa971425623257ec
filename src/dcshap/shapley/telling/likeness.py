"""What an explanation compares with, and which features of a sample are as in the reference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import pandas as pd

from dcshap._tables import Cells, as_array, as_frame, is_array, is_missing, row_cells
from dcshap._typing import BoolArray, FloatArray, IntArray

__all__ = ["AS_REFERENCE", "TYPICAL", "as_in_reference", "equal_to_reference", "n_reference_rows"]

DIGITS = 9  # what differs behind them is rounding
# Said instead of 0, which a reader would take to mean that the feature does not matter; the second where room is short.
AS_REFERENCE = "as in the reference"
TYPICAL = "= typical"


class Explained(Protocol):
    """What is told of an explanation."""

    @property
    def values(self) -> FloatArray: ...
    @property
    def base_values(self) -> FloatArray: ...
    @property
    def standard_errors(self) -> FloatArray: ...
    @property
    def converged(self) -> BoolArray: ...
    @property
    def exact(self) -> bool: ...
    @property
    def predictions(self) -> FloatArray: ...
    @property
    def feature_names(self) -> tuple[str, ...]: ...
    @property
    def output_names(self) -> tuple[str, ...]: ...
    @property
    def data(self) -> Any: ...
    @property
    def reference(self) -> Any: ...
    @property
    def compared_with(self) -> str: ...
    @property
    def are_probabilities(self) -> bool: ...
    @property
    def held_elsewhere(self) -> Mapping[str, tuple[str, ...]]: ...
    def __len__(self) -> int: ...
    def chosen_outputs(self, output: str | int | None = None) -> IntArray: ...


def n_reference_rows(reference: Any) -> int:
    """How many rows a reference has; 0 where there is none."""
    if reference is None:
        return 0
    if isinstance(reference, pd.Series):
        return 1
    if isinstance(reference, Cells):
        return len(reference)
    return len(np.atleast_2d(as_array(reference))) if is_array(reference) else len(as_frame(reference))


def equal_to_reference(explained: Explained, sample: int) -> set[str]:
    """The features whose cell is that of every reference row."""
    names = explained.feature_names
    cells = row_cells(explained.data, sample, names)
    rows = [row_cells(explained.reference, row, names) for row in range(n_reference_rows(explained.reference))]
    return {name for name, cell in cells.items() if rows and all(_same(cell, row.get(name)) for row in rows)}


def as_in_reference(explained: Explained, sample: int) -> set[str]:
    """The features that contribute nothing because they are as in the reference, or missing, which counts as absent.

    Their zeros do not say that they do not matter.
    """
    cells = row_cells(explained.data, sample, explained.feature_names)
    alike = equal_to_reference(explained, sample) | {name for name, cell in cells.items() if is_missing(cell)}
    names = explained.feature_names
    contribute = explained.values[sample].reshape(len(names), -1).any(axis=1).tolist()
    return {name for name, does in zip(names, contribute, strict=True) if name in alike and not does}


def _same(cell: Any, other: Any) -> bool:
    if is_missing(cell) or is_missing(other):
        return is_missing(cell) and is_missing(other)
    if isinstance(cell, float | np.floating):
        return isinstance(other, int | float | np.number) and math.isclose(cell, float(other), rel_tol=10.0**-DIGITS)
    return bool(cell == other)
