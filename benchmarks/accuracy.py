"""Accuracy of a collaboration beside training alone and beside pooled data, on the paper's data sets.

Two parties, 90/10 label skew, 7 nearest neighbours, three quarters of the dimensions, default settings; accuracy on
rows that nobody trained on, the mean over both parties and over several divisions of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from dcshap import HorizontalCollaboration, datasets
from dcshap.collaboration import Agreement
from dcshap.schema import Schema
from dcshap.schema.encoding import Encoder

__all__ = ["DIVISIONS", "measure", "run"]

MODEL = KNeighborsClassifier(7)
DIVISIONS = {"adult": 2, "iris": 30, "wine": 30, "heart": 30, "pima": 30}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """One row per data set; Adult in a sixth of its rows where it must be quick."""
    return [measure(name, divisions=5 if quick else n, full=not quick) for name, n in DIVISIONS.items()]


def measure(name: str, *, divisions: int, full: bool = True) -> dict[str, Any]:
    """Mean accuracies over several divisions of one data set."""
    bunch = getattr(datasets, f"load_{name}")()
    X, y = bunch.data, bunch.target
    if name == "adult" and not full:
        _, rows = datasets.hold_out(y, len(y) // 6, random_state=0)
        X, y = X.iloc[rows], y.iloc[rows]
    measured = [_once(X, y, seed) for seed in range(divisions)]
    means = {key: float(np.mean([row[key] for row in measured])) for key in measured[0]}
    return {"dataset": name, "rows": len(y), "divisions": divisions} | {key: round(v, 4) for key, v in means.items()}


def _once(X: Any, y: Any, seed: int) -> dict[str, float]:
    kept, held_out = datasets.hold_out(y, min(len(y) * 3 // 10, 10_000), random_state=seed)
    parts = [kept[rows] for rows in datasets.label_skew(y.iloc[kept], 2, random_state=seed)]
    schema = Schema.from_frames([X])
    encoded, labels = Encoder.from_schema(schema).encode(schema.codes(X)), y.to_numpy()

    def plain(model: Any, rows: Any) -> float:
        fitted = clone(model).fit(encoded[rows], labels[rows])
        return float(np.mean(fitted.predict(encoded[held_out]) == labels[held_out]))

    alone = [plain(MODEL, rows) for rows in parts]
    accuracy = {"alone": float(np.mean(alone)), "better_alone": max(alone)}
    data = {f"party {i}": (X.iloc[rows], labels[rows]) for i, rows in enumerate(parts)}
    for span in ("private", "shared", "random"):
        together = HorizontalCollaboration(MODEL, span=span, schema=schema, random_state=seed).fit(data)
        scores = [together.score(X.iloc[held_out], labels[held_out], party=party) for party in data]
        accuracy[span] = float(np.mean(scores))
    accuracy["pooled_pca"] = plain(make_pipeline(PCA(Agreement(schema).dimensions), MODEL), kept)
    accuracy["pooled"] = plain(MODEL, kept)
    return accuracy
