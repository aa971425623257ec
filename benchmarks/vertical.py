"""Vertical collaborations at their defaults: is it worth it, and do party views agree?

The first half of a table's columns, and the labels, are the host's, the second half the guest's. Area under the curve
on the 30% of rows that are held out: of each party's model alone, together, and of the model on all columns, all with
the same encoding; together with a label-blind span of 3/4 of the columns, too. `apart` is the largest difference
between a party's bar for the other's features and their total in that other's view, `off by` that between base value
plus attributions and the prediction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.report import Row
from benchmarks.tables import Table, load
from dcshap import Schema, VerticalCollaboration
from dcshap.collaboration.baseline import Baseline

__all__ = ["run"]

DIVISIONS = {"heart": 20, "adult": 2, "bank": 3}
MODELS = {
    "logistic": LogisticRegression(max_iter=1000),
    "boosting": HistGradientBoostingClassifier(max_iter=50, random_state=0),
}
N_EXPLAINED = 10


def run(*, quick: bool = False) -> list[Row]:
    """One row for each table and model: the averages over its divisions."""
    rows: list[Row] = []
    for name, n in DIVISIONS.items():
        table = load(name, n_rows=1500 if quick else None)
        for model in MODELS:
            found = pd.DataFrame([_divided(table, model, seed) for seed in range(1 if quick else n)])
            largest = {column: float(found[column].max()) for column in ("apart", "off by")}
            means: Row = {str(column): float(found[column].mean()) for column in found}
            rows.append({"table": name, "model": model} | means | largest)
    return rows


def _divided(table: Table, name: str, seed: int) -> Row:
    X, X_test, y, y_test = train_test_split(table.X, table.y, test_size=0.3, random_state=seed, stratify=table.y)
    half, model = table.X.shape[1] // 2, MODELS[name]
    columns = {"host": list(X.columns[:half]), "guest": list(X.columns[half:])}

    def plain(held: list[str]) -> float:
        trained = Baseline.fit(model, Schema.for_supervision([X[held]]), X[held], y)
        return float(roc_auc_score(y_test, trained.model.predict_proba(trained.points(X_test[held]))[:, 1]))

    def together(**settings: Any) -> tuple[VerticalCollaboration, float]:
        trained = VerticalCollaboration(model, random_state=seed, **settings)
        trained.fit({party: X[held] for party, held in columns.items()}, y)
        asked = {party: X_test[held] for party, held in columns.items()}
        return trained, float(roc_auc_score(y_test, trained.predict_proba(asked)[:, 1]))

    trained, area = together()
    return {
        **{party: plain(held) for party, held in columns.items()},
        "together": area,
        "pooled": plain([*columns["host"], *columns["guest"]]),
        "label-blind": together(span="private")[1],
        "dimensions": sum(trained.analyst_.widths_.values()),
        **_agreement(trained, {party: X_test[held].head(N_EXPLAINED) for party, held in columns.items()}),
    }


def _agreement(trained: VerticalCollaboration, records: dict[str, Any]) -> Row:
    full = trained.explain(records, index="owen")
    views = {party: trained.explain(records, view=party, index="owen") for party in records}
    totals = {party: views[party].values[:, : table.shape[1]].sum(axis=1) for party, table in records.items()}
    apart = [
        float(np.abs(views[one].values[:, -1] - totals[other]).max())
        for one in views
        for other in views
        if one != other
    ]
    return {"apart": max(apart), "off by": float(np.abs(full.predictions - trained.predict_proba(records)).max())}
