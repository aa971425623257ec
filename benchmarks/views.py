"""Party views against Algorithm 3: 100 records of Adult, a bank and a shop with six features each, 7-NN.

The reference is the parties' mean, which no record equals, so that all twelve features play in every record. With the
default reference, the anchor's median, about half of a record's features equal it and are no players; both are shown.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from sklearn.neighbors import KNeighborsClassifier

from benchmarks.report import best_time
from dcshap import VerticalCollaboration, datasets

REPEATS = 3


def run(quick: bool) -> list[dict[str, Any]]:
    data = datasets.load_adult("train")
    n_train, n_records = (4000, 20) if quick else (32_461, 100)
    kept, aside = datasets.hold_out(data.target, 100)
    X, y = data.data.iloc[kept[:n_train]], data.target.iloc[kept[:n_train]]
    columns = {"bank": list(X.columns[:6]), "shop": list(X.columns[6:])}
    collaboration = VerticalCollaboration(KNeighborsClassifier(7), random_state=0)
    collaboration.fit({name: X[held] for name, held in columns.items()}, y)
    records = {name: data.data.iloc[aside[:n_records]][held] for name, held in columns.items()}
    return [_row(collaboration, records, reference) for reference in ("mean", "anchor")]


def _row(collaboration: VerticalCollaboration, records: dict[str, Any], reference: str) -> dict[str, Any]:
    seconds: dict[str, float] = {}
    evaluations = {}
    for index in ("shapley", "owen"):
        task = partial(collaboration.explain, records, index=index, reference=reference)
        task()  # warms caches and compiles
        seconds[index], explained = best_time(task, at_least=10.0, at_most=REPEATS)
        evaluations[index] = float(explained.n_evals.mean())
    return {
        "game": f"6 + 6 features, {len(records['bank'])} records, reference {reference}",
        "evaluations, Algorithm 3": evaluations["shapley"],
        "evaluations, all party views": evaluations["owen"],
        "party views / Algorithm 3": seconds["owen"] / seconds["shapley"],
    }
