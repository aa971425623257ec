"""Values that the agreed schema and the labels point out: bounds that one row attains, classes of few rows.

Everybody who knows the schema knows its bounds. A bound that only one row attains is that row's value, and whoever
knows that the person is in the table knows it. Unique extremes are the oldest disclosure that statistical offices
guard against (Willenborg and de Waal, "Elements of Statistical Disclosure Control", 2001).
"""

from __future__ import annotations

import numpy as np

from dcshap._typing import Array, FloatArray
from dcshap.schema import Category, Schema

__all__ = ["FEW", "bounds_of_one_row", "small_classes"]

FEW = 10


def bounds_of_one_row(codes: FloatArray, schema: Schema) -> dict[str, int]:
    """How many bounds of each numeric column exactly one row of codes (n, M) attains; columns without are left out."""
    found = {}
    for j, column in enumerate(schema.columns):
        if isinstance(column, Category):
            continue
        count = sum(int(np.sum(codes[:, j] == bound)) == 1 for bound in (column.low, column.high))
        if count:
            found[column.name] = count
    return found


def small_classes(labels: Array) -> int:
    """How many classes have fewer than `FEW` rows among labels (n,)."""
    _, counts = np.unique(labels, return_counts=True)
    return int(np.sum(counts < FEW))
