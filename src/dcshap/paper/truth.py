"""Agreement is not truth: how far joint explanations are from those of the same model on pooled rows."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

import numpy as np
from sklearn.base import clone

from dcshap.collaborations.quality import compared, straight_values
from dcshap.explanation.engine import EngineOptions
from dcshap.paper.cells import Results
from dcshap.paper.outcome import Options, Row, by_seed, mean_and_sd
from dcshap.paper.settings import DATASETS, MODELS, collaboration
from dcshap.paper.tasks import horizontal_task

__all__ = ["TRUTH", "compare_with_pooled", "groups", "rows_of"]

N_SEEDS = 5
N_EXPLAINED = 20
SETTINGS = ("default",)
SAMPLED: EngineOptions = {"random_state": 0}  # with more than 13 features: the same coalitions for all
MORE_DATASETS = ("breast cancer",)  # none of the paper's, and no constant of the defaults was chosen for its truth

TRUTH = {
    "model": "model",
    "dataset": "data",
    "relative_error": "relative error",
    "floor_relative_error": "of half the rows",
    "rank_correlation": "rank correlation",
    "floor_rank_correlation": "of half the rows",
    "wrong_signs": "wrong signs",
    "floor_wrong_signs": "of half the rows",
    "accuracy": "accuracy",
    "accuracy_pooled": "accuracy pooled",
}


def compare_with_pooled(dataset: str, *, setting: str, split: str, model: str, seed: int) -> dict[str, float]:
    """Joint explanations against those of the model on pooled rows, beside those of a model on half of these.

    The pooled model has the same encoding and reference. What a model on half of the rows explains otherwise is what
    chance makes of it; nobody can ask a collaboration for less.
    """
    task = horizontal_task(dataset, split=split, seed=seed)
    trained = collaboration(dataset, setting=setting, seed=seed, model=model).fit(task.parties)
    first, *_ = parties = list(trained.parties_.values())
    rows = np.concatenate([party.anchor.encode(party.codes) for party in parties])
    labels = np.concatenate([party.labels for party in parties])
    drawn = np.random.default_rng(seed).permutation(len(labels))[: len(labels) // 2]
    pooled, half = (clone(trained.model).fit(rows[some], labels[some]) for some in (slice(None), np.sort(drawn)))
    X = task.X_test.iloc[:N_EXPLAINED]
    codes = first.agreement.schema.codes(X, missing=first.agreement.missing)
    true = straight_values(pooled, [(first, codes)])
    found = [asdict(compared(trained.explain(X, party=party.name, **SAMPLED).values, true)) for party in parties]
    floor = asdict(compared(straight_values(half, [(first, codes)]), true))
    return {
        **{name: float(np.mean([each[name] for each in found])) for name in floor},
        **{f"floor_{name}": value for name, value in floor.items()},
        "accuracy": float(np.mean([trained.score(task.X_test, task.y_test, party=user) for user in task.parties])),
        "accuracy_pooled": float(pooled.score(first.encode(task.X_test), task.y_test.to_numpy())),
    }


groups = partial(
    by_seed,
    compare_with_pooled,
    n_seeds=N_SEEDS,
    setting=SETTINGS,
    split=("skewed",),
    model=MODELS,
    dataset=(*DATASETS, *MORE_DATASETS),
)


def rows_of(options: Options, results: Results) -> list[Row]:
    """One row per setting, model and data set."""
    rows: list[Row] = []
    for where, group in groups(options):
        row: Row = {"experiment": "bias", **where, "seeds": len(group)}
        for name in results[group[0]]:
            row[name], row[f"{name}_sd"] = mean_and_sd([results[cell][name] for cell in group])
        rows.append(row)
    return rows
