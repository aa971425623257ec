"""Section 4.2: two users contradict each other about the same prediction, and DC-SHAP resolves it.

The paper's numbers fix the case: 32,561 rows of `adult.data`, 100 set aside; user 1 has 7,811 rows, 7,030 of them
positive, user 2 has 24,650, 781 of them positive. So 30 of the rows set aside are positive.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from dcshap import report
from dcshap.datasets import contradiction_split, hold_out
from dcshap.explanation import disagreement
from dcshap.paper.cells import Results
from dcshap.paper.outcome import Experiment, Options, Outcome, Row, by_seed, table_of
from dcshap.paper.packing import pack, unpack_all
from dcshap.paper.settings import N_NEIGHBOURS, SETTINGS, collaboration
from dcshap.paper.tasks import USERS, adult_parts
from dcshap.shapley import Explanation

__all__ = ["CONTRADICTIONS", "explain_both"]

N_SEEDS = 5
SUMMED = ("kernelshap", "dcshap", "remaining")
THRESHOLDS = (0.05, 0.02, 0.001)
SET_ASIDE = {0: 70, 1: 30}
N_SHOWN = 2
METHODS = {"kernelshap": "own", "dcshap": "anchor"}
TITLES = {"kernelshap": "KernelSHAP", "dcshap": "DC-SHAP"}

COUNTED = {
    "setting": "setting",
    "threshold": "threshold",
    "kernelshap": "KernelSHAP",
    "dcshap": "DC-SHAP",
    "gone": "fewer by",
    "remaining": "of KernelSHAP's still there",
    "resolved": "of KernelSHAP's resolved",
}

Explained = dict[str, dict[str, Explanation]]  # by method, then user

TEXT = """\
User 1 holds 7,811 rows of Adult, 90 % of them positive, user 2 the other 24,650, 3 % positive; 100 rows are set aside
and explained by both. A contradiction: for the same row and feature the users' attributions have opposite signs and
both are larger than the threshold. The figures are picked, as the paper's are: rows for which both users predict the
same, and the contradiction that KernelSHAP shows is resolved to equal signs; of these the clearest, each about another
feature. Shaded is where the users contradict each other.
"""


def explain_both(setting: str, *, seed: int) -> dict[str, Any]:
    """Both users' explanations of the rows set aside, by both methods, and the users' class counts."""
    train, _ = adult_parts()
    kept, aside = hold_out(train.target, SET_ASIDE, random_state=seed)
    X, y = train.data.iloc[kept], train.target.iloc[kept]
    parts = contradiction_split(y, random_state=seed)
    parties = {name: (X.iloc[rows], y.iloc[rows]) for name, rows in zip(USERS, parts, strict=True)}
    trained = collaboration("adult", setting=setting, seed=seed).fit(parties)
    rows = train.data.iloc[aside].reset_index(drop=True)
    return {
        "negatives_and_positives": {name: y.value_counts().sort_index().tolist() for name, (_, y) in parties.items()},
        **{
            method: {user: pack(trained.explain(rows, party=user, reference=reference)) for user in USERS}
            for method, reference in METHODS.items()
        },
    }


groups = partial(by_seed, explain_both, n_seeds=N_SEEDS, setting=SETTINGS)


def outcome(options: Options, results: Results) -> Outcome:
    """One row per setting, seed and threshold; pictures of the clearest cases of each setting's first seed."""
    rows: list[Row] = []
    tables: dict[str, pd.DataFrame] = {}
    pictures: dict[str, report.Picture] = {}
    for where, group in groups(options):
        setting = where["setting"]
        for seed, cell in enumerate(group):
            explained = {method: unpack_all(results[cell][method]) for method in METHODS}
            new = [_row(setting, seed, threshold, explained) for threshold in THRESHOLDS]
            counts = results[cell]["negatives_and_positives"]
            rows += [row | {"negatives_and_positives": counts} for row in new]
            if seed == 0:
                pictures |= _pictures(setting, explained)
                tables[f"Setting {setting}: contradictions that KernelSHAP shows, and the same by DC-SHAP"] = _found(
                    explained, THRESHOLDS[0]
                )
    counted = {
        "Contradictions before and after, seed 0": table_of([row for row in rows if row["seed"] == 0], COUNTED),
        "All seeds together": table_of(_totals(rows), COUNTED),
    }
    return Outcome(rows, TEXT, counted | tables, pictures)


def _totals(rows: list[Row]) -> list[Row]:
    """The counts of every setting and threshold, summed over seeds."""
    totals: dict[tuple[str, float], Row] = {}
    for row in rows:
        first: Row = {"setting": row["setting"], "threshold": row["threshold"], **dict.fromkeys(SUMMED, 0)}
        total = totals.setdefault((row["setting"], row["threshold"]), first)
        total |= {name: total[name] + row[name] for name in SUMMED}
    return [total | _shares(total) for total in totals.values()]


def _shares(counts: Row) -> Row:
    """What is gone by total, so that contradictions which only DC-SHAP shows weigh against it, and what is resolved."""
    before = counts["kernelshap"]
    return {
        "gone": 1 - counts["dcshap"] / before if before else None,
        "resolved": 1 - counts["remaining"] / before if before else None,
    }


def _row(setting: str, seed: int, threshold: float, explained: Explained) -> Row:
    found = {method: disagreement(each, threshold=threshold) for method, each in explained.items()}
    before, after = (_places(each.contradictions) for each in found.values())
    row: Row = {
        "experiment": "contradictions",
        "setting": setting,
        "seed": seed,
        "threshold": threshold,
        "samples": len(next(iter(explained["kernelshap"].values()))),
        "kernelshap": len(before),
        "dcshap": len(after),
        "remaining": len(before & after),
    }
    return row | _shares(row)


def _places(contradictions: pd.DataFrame) -> set[tuple[int, str]]:
    return {(int(row["sample"]), str(row["feature"])) for _, row in contradictions.iterrows()}


def _found(explained: Explained, threshold: float) -> pd.DataFrame:
    """Every contradiction by KernelSHAP with what both users say by either method, the clearest first."""
    rows = []
    for sample, feature in _clearest(explained, threshold):
        row: Row = {"row": sample, "feature": feature}
        for method, each in explained.items():
            at = each[USERS[0]].feature_names.index(feature)
            row |= {f"{TITLES[method]}, {user}": float(each[user].values[sample, at, 1]) for user in USERS}
        rows.append(row)
    return pd.DataFrame(rows)


def _clearest(explained: Explained, threshold: float) -> list[tuple[int, str]]:
    """Contradicting rows and features by KernelSHAP, those whose smaller side is largest first."""
    found = disagreement(explained["kernelshap"], threshold=threshold).contradictions
    smaller = found[["first_value", "second_value"]].abs().min(axis=1)
    ordered = found.assign(smaller=smaller).sort_values("smaller", ascending=False, kind="stable")
    return [(int(row["sample"]), str(row["feature"])) for _, row in ordered.iterrows()]


def _pictures(setting: str, explained: Explained) -> dict[str, report.Picture]:
    """The clearest resolved contradiction of each of the first features that have one."""
    unresolved = _places(disagreement(explained["dcshap"], threshold=0).contradictions)
    by_feature: dict[str, int] = {}
    for sample, feature in _clearest(explained, THRESHOLDS[0]):
        seen = feature in by_feature or sample in by_feature.values()
        if not seen and (sample, feature) not in unresolved and _same_prediction(explained, sample):
            by_feature[feature] = sample
    panels = {TITLES[method]: each for method, each in explained.items()}
    pictures = {}
    for number, (feature, sample) in enumerate(list(by_feature.items())[:N_SHOWN], 1):
        figure = report.side_by_side(panels, sample, threshold=THRESHOLDS[0])
        alt = f"Both users' attributions of row {sample}; by KernelSHAP they contradict each other about {feature}."
        caption = f"Setting {setting}, row {sample}: {feature}"
        pictures[f"contradictions-{setting}-{number}"] = report.Picture(figure, alt, caption)
    return pictures


def _same_prediction(explained: Explained, sample: int) -> bool:
    """Whether both users' predictions are of the same class and at most one neighbour of seven apart."""
    first, second = (each.predictions[sample, 1] for each in explained["dcshap"].values())
    return bool((first > 0.5) == (second > 0.5) and abs(first - second) < 1.5 / N_NEIGHBOURS)


CONTRADICTIONS = Experiment("contradictions", "Section 4.2: contradictory explanations", groups, outcome)
