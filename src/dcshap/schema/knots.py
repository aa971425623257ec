"""Hat functions and robust ranges for numeric columns: numbers may bend, and a heavy tail does not flatten them.

A number between two neighbouring knots becomes two weights that add up to 1, each the nearer the larger; at a knot,
one of them. A linear function of the weights is a piecewise linear function of the number. Beyond the outer knots the
number counts as the outer knot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from dcshap._typing import FloatArray
from dcshap.exceptions import SchemaError

__all__ = ["auto_knots", "choose_knots", "hat_scale", "hats", "n_knots", "robust_range"]

PERCENTILES = (1.0, 99.0)
FEW_ROWS = 1000  # below, knots cost accuracy
FEWEST, MOST = 5, 9


def auto_knots(n_rows: int) -> int:
    """How many knots a numeric column gets, by the rows of all parties: none for small tables, then slowly more."""
    if n_rows < FEW_ROWS:
        return 0
    return min(FEWEST + 2 * int(np.log(n_rows / FEW_ROWS) / np.log(8)), MOST)


def n_knots(wanted: int | Literal["auto"], n_rows: int) -> int:
    """How many knots are asked for: a number, or "auto" for what the rows of all parties bear."""
    if wanted == "auto":
        return auto_knots(n_rows)
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted in (1, 2) or wanted < 0:
        raise SchemaError(f"`knots` must be 'auto', 0 for none, or 3 or more. Got {wanted!r}.")
    return wanted


def robust_range(values: FloatArray) -> tuple[float, float]:
    """The 1st and the 99th percentile of finite values (n,).

    Where they are the same, most values are one: the percentiles of the others then, and that one.
    """
    low, high = np.percentile(values, PERCENTILES)
    if low < high:
        return float(low), float(high)
    others = values[values != low]
    if not len(others):
        return float(low), float(high)
    return tuple(np.sort([*np.percentile(others, PERCENTILES), low])[[0, -1]].tolist())


def choose_knots(values: FloatArray, n_knots: int, *, low: float, high: float) -> tuple[float, ...]:
    """Up to `n_knots` knots for finite values (n,): the range's ends, frequent values, and quantiles of the others.

    Empty where fewer than three are left: such a column is a straight line anyway.
    """
    if n_knots < 3:
        return ()
    inside = np.clip(values, low, high)
    distinct, counts = np.unique(inside, return_counts=True)
    if len(distinct) > n_knots:
        frequent = distinct[counts > len(inside) / (n_knots - 1)]
        others = inside[~np.isin(inside, frequent)]
        free = max(n_knots - len(np.union1d(frequent, [low, high])), 0)
        shares = np.arange(1, free + 1) / (free + 1)
        distinct = np.concatenate([frequent, np.quantile(others, shares)]) if len(others) else frequent
    knots = np.union1d(distinct, [low, high])
    # Knots that all but coincide would make a step.
    knots = knots[np.concatenate([[True], np.diff(knots) > 1e-9 * (high - low)])]
    knots[-1] = high
    return tuple(knots.tolist()) if len(knots) >= 3 else ()


def hats(values: FloatArray, knots: Sequence[float]) -> FloatArray:
    """The weights (n, k) of values (n,) on k ascending knots; each row adds up to 1."""
    place = np.interp(values, knots, np.arange(len(knots), dtype=np.float64))
    left = np.minimum(place.astype(np.int64), len(knots) - 2)
    block = np.zeros((len(values), len(knots)))
    rows = np.arange(len(values))
    block[rows, left] = 1.0 - (place - left)
    block[rows, left + 1] = place - left
    return block


def hat_scale(n_knots: int) -> float:
    """Root of the total variance of the weights where values fall evenly between any two neighbouring knots."""
    gaps = n_knots - 1
    return float(np.sqrt(2 / 3 - (gaps - 0.5) / gaps**2))
