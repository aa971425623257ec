"""Party views against Algorithm 3: 100 records of Adult, a bank and a shop with six features each.

The reference is the parties' mean, which no record equals, so that all twelve features play in every record. With the
default reference, the anchor's median, about half of a record's features equal it and are no players; both are shown.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.report import best_time
from dcshap import VerticalCollaboration, datasets

REPEATS = 3
MODELS = {
    "7-NN": KNeighborsClassifier(7),
    "logistic": LogisticRegression(max_iter=1000),
    "gradient boosting": HistGradientBoostingClassifier(random_state=0),
}


def run(quick: bool) -> list[dict[str, Any]]:
    data = datasets.load_adult("train")
    n_train, n_records = (4000, 20) if quick else (32_461, 100)
    kept, aside = datasets.hold_out(data.target, 100)
    X, y = data.data.iloc[kept[:n_train]], data.target.iloc[kept[:n_train]]
    columns = {"bank": list(X.columns[:6]), "shop": list(X.columns[6:])}
    records = {name: data.data.iloc[aside[:n_records]][held] for name, held in columns.items()}
    rows = []
    for name, model in MODELS.items():
        collaboration = VerticalCollaboration(model, random_state=0)
        collaboration.fit({party: X[held] for party, held in columns.items()}, y)
        rows += [
            {"model": name, "reference": reference} | _row(collaboration, records, reference)
            for reference in ("mean", "anchor")
        ]
    return rows


def _row(collaboration: VerticalCollaboration, records: dict[str, Any], reference: str) -> dict[str, Any]:
    seconds: dict[str, float] = {}
    evaluations = {}
    for index in ("shapley", "owen"):
        task = partial(collaboration.explain, records, index=index, reference=reference)
        task()  # warms caches and compiles
        seconds[index], explained = best_time(task, at_least=10.0, at_most=REPEATS)
        evaluations[index] = float(explained.n_evals.mean())
    return {
        "evaluations, Algorithm 3": evaluations["shapley"],
        "evaluations, all party views": evaluations["owen"],
        "party views / Algorithm 3": seconds["owen"] / seconds["shapley"],
    }
