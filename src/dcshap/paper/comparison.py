"""The measurement behind Table 1: do two users explain the same predictions alike?"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcshap.explanation import disagreement
from dcshap.paper.settings import NEIGHBOURS, Changes, collaboration
from dcshap.paper.tasks import N_EXPLAINED, horizontal_task

__all__ = ["N_SEEDS", "compare_users"]

N_SEEDS = 10


def compare_users(
    dataset: str,
    *,
    setting: str,
    split: str,
    seed: int,
    model: str = NEIGHBOURS,
    changes: Changes = (),
    own: str = "own",
) -> dict[str, Any]:
    """Train two users' collaboration and compare their explanations of the same held-out rows.

    Gives `accuracy`, the mean of both users'; `same_prediction`, the share of rows for which both predict the same;
    `kernelshap` and `dcshap`, the RMSE between them by feature, with each user's own reference and with the anchor's.
    """
    task = horizontal_task(dataset, split=split, seed=seed)
    trained = collaboration(dataset, setting=setting, seed=seed, model=model, changes=changes).fit(task.parties)
    explained = task.X_test.iloc[:N_EXPLAINED]
    differences = {
        method: disagreement(
            {user: trained.explain(explained, party=user, reference=reference) for user in task.parties}
        )
        for method, reference in (("kernelshap", own), ("dcshap", "anchor"))
    }
    predicted = [trained.predict(task.X_test, party=user) for user in task.parties]
    return {
        "accuracy": float(np.mean([each == task.y_test.to_numpy() for each in predicted])),
        "same_prediction": float(np.mean(predicted[0] == predicted[1])),
        "n_tested": len(task.y_test),
        "n_features": len(trained.schema_),
        **{method: each.rmse_per_feature.to_dict() for method, each in differences.items()},
    }
