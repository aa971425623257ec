"""Collaborations with 60 columns and logistic regression: how exact, how additive, and how far parties disagree.

`off by` is the largest difference between base value plus attributions and the collaboration's own prediction;
`disagreement` the largest between parties (horizontal, shared span), or between a party's view of its own features and
the full view (vertical, Owen values). Times are for one record, on one core.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.report import Row, best_time
from dcshap import HorizontalCollaboration, VerticalCollaboration

__all__ = ["run"]

N_COLUMNS, N_ROWS, N_EXPLAINED = 60, 1000, 10


def run(*, quick: bool = False) -> list[Row]:
    """One row for each kind of collaboration and view."""
    rng = np.random.default_rng(0)
    n_rows = N_ROWS // 4 if quick else N_ROWS
    X = pd.DataFrame(rng.normal(size=(n_rows, N_COLUMNS)), columns=[f"c{i:02}" for i in range(N_COLUMNS)])
    y = pd.Series((X @ rng.normal(size=N_COLUMNS) + rng.normal(size=n_rows) > 0).astype(int))
    with threadpool_limits(1):
        return [*_horizontal(X, y), *_vertical(X, y)]


def _horizontal(X: pd.DataFrame, y: pd.Series[int]) -> list[Row]:
    halves = {"north": slice(0, len(X) // 2), "south": slice(len(X) // 2, None)}
    parts = {name: (X[rows], y[rows]) for name, rows in halves.items()}
    run = HorizontalCollaboration(LogisticRegression(), 20, span="shared", random_state=0).fit(parts)
    records = X.head(N_EXPLAINED)
    explained = {name: _timed(lambda name=name: run.explain(records, party=name)) for name in parts}
    gap = float(np.abs(explained["north"][1].values - explained["south"][1].values).max())
    return [
        _row(f"horizontal, {name}", found, run.predict_proba(records, party=name), gap)
        for name, found in explained.items()
    ]


def _vertical(X: pd.DataFrame, y: pd.Series[int]) -> list[Row]:
    columns = {name: list(X.columns[at::2]) for at, name in enumerate(("bank", "shop"))}
    held: dict[str, Any] = {name: X[mine] for name, mine in columns.items()}
    run = VerticalCollaboration(LogisticRegression(), 15, random_state=0).fit(held, y)
    records = {name: part.head(N_EXPLAINED) for name, part in held.items()}
    predictions = run.predict_proba(records)
    full = _timed(lambda: run.explain(records, index="owen"))
    rows = [
        _row("vertical, Algorithm 3", _timed(lambda: run.explain(records, index="shapley")), predictions, None),
        _row("vertical, full view by Owen values", full, predictions, None),
    ]
    for name, mine in columns.items():
        found = _timed(lambda name=name: run.explain(records, view=name, index="owen"))
        at = [full[1].feature_names.index(column) for column in mine]
        gap = float(np.abs(found[1].values[:, : len(mine)] - full[1].values[:, at]).max())
        rows.append(_row(f"vertical, view of {name}", found, predictions, gap))
    return rows


def _timed(explain: Any) -> tuple[float, Any]:
    explain()
    return best_time(explain, clock=time.process_time)


def _row(what: str, found: tuple[float, Any], predictions: Any, gap: float | None) -> Row:
    seconds, explained = found
    off = float(np.abs(explained.predictions - predictions).max())
    row = {"explanation": what, "players": len(explained.feature_names), "method": explained.method, "off by": off}
    return {**row, "disagreement": gap, "ms a record": 1e3 * seconds / len(explained)}
