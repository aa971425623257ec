"""The introduction's second requirement: a bias that collaborating has corrected no longer shows in explanations."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dcshap._typing import FloatArray
from dcshap.collaboration.baseline import Baseline
from dcshap.collaborations import HorizontalCollaboration
from dcshap.explanation.reference import reference_rows
from dcshap.paper import truth
from dcshap.paper.cells import Results
from dcshap.paper.outcome import Experiment, Group, Options, Outcome, Row, by_seed, mean_and_sd, table_of
from dcshap.paper.settings import DATASETS, NEIGHBOURS, collaboration
from dcshap.paper.tasks import N_EXPLAINED, USERS, Task, horizontal_task
from dcshap.shapley import shapley_values

__all__ = ["BIAS", "explain_bias"]

N_SEEDS = 5
SETTINGS = ("default", "private-span", "shared-span")
BIAS_MODELS = (NEIGHBOURS, "logistic regression")  # the paper's, and the library's default

DISTANCES = {
    "dataset": "data",
    "user": "user",
    "distance_own": "alone, own reference",
    "distance_alone": "alone",
    "distance_together": "together",
    "gone_own": "gone, of alone with own reference",
    "gone": "gone, of alone",
}
BASES = {
    "dataset": "data",
    "user": "user",
    "base_value_own": "base value alone, own reference",
    "base_value_alone": "base value alone",
    "base_value_together": "base value together",
    "base_value_pooled": "base value pooled",
    "accuracy_alone": "accuracy alone",
    "accuracy_together": "accuracy together",
    "accuracy_pooled": "accuracy pooled",
}

TEXT = """\
A label-skewed user's model trained on its own rows alone, the model that both users trained together, and the same
model on everybody's rows pooled, which nobody could have. The pooled model's explanations are what they should be: how
far are the others from them (root mean square difference, averaged over features, of 50 held-out rows)? All start from
the anchor's reference; "own" lets the user who is alone start from its own median, the only reference that it has. The
base value is the model's answer for the reference: the probability of the last class there. With a shared span the
users' explanations are one, and what is left of the distance is what fewer dimensions cost, not bias. The default's
span is one as well. Agreement is not truth: the first tables have, for every model, how far joint explanations are
from the pooled model's (relative error ‖φ − φ*‖ / ‖φ*‖, rank correlation of the features in a row, wrong signs among
attributions above .02; 20 rows), beside a pooled model that was trained on half of the rows: what chance makes of it.
"""


def explain_bias(dataset: str, *, setting: str, split: str, seed: int, model: str = NEIGHBOURS) -> dict[str, Any]:
    """For each user: accuracies, base values and distances to the pooled model's explanations."""
    task = horizontal_task(dataset, split=split, seed=seed)
    trained = collaboration(dataset, setting=setting, seed=seed, model=model).fit(task.parties)
    pooled_X = np.concatenate([trained.schema_.codes(X) for X, _ in task.parties.values()])
    pooled_y = np.concatenate([y for _, y in task.parties.values()])
    pooled = Baseline.fit(trained.model, trained.schema_, pooled_X, pooled_y)
    return {user: _bias_of(user, task, trained, pooled) for user in USERS}


def _bias_of(user: str, task: Task, trained: HorizontalCollaboration, pooled: Baseline) -> dict[str, Any]:
    X = task.X_test.iloc[:N_EXPLAINED]
    party = trained.parties_[user]
    anchor, own = reference_rows(party, "anchor", warn=True), reference_rows(party, "own", warn=True)
    alone = Baseline.fit(trained.model, trained.schema_, *task.parties[user])
    together = trained.explain(X, party=user)
    explained = {
        "own": _explained(alone, X, own),
        "alone": _explained(alone, X, anchor),
        "together": (together.values, together.base_values),
        "pooled": _explained(pooled, X, anchor),
    }
    values = {way: each[0] for way, each in explained.items()}
    return {
        "accuracy": {
            "alone": alone.score(task.X_test, task.y_test),
            "together": trained.score(task.X_test, task.y_test, party=user),
            "pooled": pooled.score(task.X_test, task.y_test),
        },
        "base_value": {way: float(base[0, -1]) for way, (_, base) in explained.items()},
        "distance": {way: _distance(values[way], values["pooled"]) for way in ("own", "alone", "together")},
    }


def _explained(baseline: Baseline, X: Any, reference: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Values (n, M, K) and base values (n, K) of a model on plain rows, by raw column."""
    at = baseline.encoder.encode(reference)[0]
    blocks = dict(zip(baseline.encoder.schema.names, baseline.encoder.blocks, strict=True))
    coordinates = np.arange(baseline.encoder.n_coordinates)
    groups = {name: coordinates[block].tolist() for name, block in blocks.items()}
    explained = shapley_values(baseline.model.predict_proba, baseline.points(X), at, groups=groups)
    return explained.values, explained.base_values


def _distance(one: FloatArray, two: FloatArray) -> float:
    """The root mean square difference per feature, averaged over features."""
    return float(np.sqrt(np.mean((one - two) ** 2, axis=(0, 2))).mean())


by_user = partial(
    by_seed, explain_bias, n_seeds=N_SEEDS, setting=SETTINGS, split=("skewed",), model=BIAS_MODELS, dataset=DATASETS
)


def groups(options: Options) -> list[Group]:
    """By setting and data set, and for the truth of explanations by model too."""
    return [*by_user(options), *truth.groups(options)]


def outcome(options: Options, results: Results) -> Outcome:
    """One row per setting, data set and user; and one per setting, model and data set for truth."""
    rows = [
        _row(where, user, [results[cell][user] for cell in group])
        for where, group in by_user(options)
        for user in USERS
    ]
    true = truth.rows_of(options, results)
    tables = {
        f"Setting {setting}: are the explanations true?": table_of(
            [row for row in true if row["setting"] == setting], truth.TRUTH
        )
        for setting in dict.fromkeys(row["setting"] for row in true)
    }
    for setting, model in dict.fromkeys((row["setting"], row["model"]) for row in rows):
        shown = [row for row in rows if (row["setting"], row["model"]) == (setting, model)]
        title = f"Setting {setting}, {model}"
        tables[f"{title}: distance to the pooled model's explanations"] = table_of(shown, DISTANCES)
        tables[f"{title}: base values and accuracy"] = table_of(shown, BASES)
    return Outcome([*rows, *true], TEXT, tables)


def _row(where: dict[str, str], user: str, found: list[dict[str, Any]]) -> Row:
    row: Row = {"experiment": "bias", **where, "user": user, "seeds": len(found)}
    for what, ways in found[0].items():
        for way in ways:
            row[f"{what}_{way}"], row[f"{what}_{way}_sd"] = mean_and_sd([each[what][way] for each in found])
    row["gone"] = 1 - row["distance_together"] / row["distance_alone"]
    row["gone_own"] = 1 - row["distance_together"] / row["distance_own"]
    return row


BIAS = Experiment("bias", "Does a corrected bias still show?", groups, outcome)
