"""Beyond the paper: four real hospitals, each with its own patients and its own missing columns."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from dcshap import report
from dcshap.collaborations import HorizontalCollaboration
from dcshap.datasets import load_heart_hospitals
from dcshap.explanation import disagreement
from dcshap.paper.cells import Results
from dcshap.paper.outcome import Experiment, Options, Outcome, Row, by_seed, factor_of, mean_and_sd, table_of
from dcshap.paper.packing import pack, unpack_all
from dcshap.paper.settings import NEIGHBOURS, SETTINGS, new_model
from dcshap.shapley import Explanation

__all__ = ["HOSPITALS", "explain_patients"]

N_SEEDS = 5
HELD_OUT_SHARE = 4
N_PER_HOSPITAL = 10  # patients of each hospital that all hospitals explain
HOSPITAL_SETTINGS = ("default", "private-span", "shared-span")
METHODS = {"kernelshap": "own", "dcshap": "anchor"}

Rows = dict[str, tuple[pd.DataFrame, "pd.Series[int]"]]

TEXT = """\
The heart study's four hospitals as four parties: Cleveland 303 patients, Hungary 294, Switzerland 123, Long Beach (va)
200. A quarter of each is held out; ten of each, forty patients, are explained by every hospital. `ca`, `thal` and
`slope` are mostly missing outside Cleveland and `chol` in Switzerland: a missing value counts as absent, so it has the
reference's place and no attribution. The agreed dictionary is made from the four tables. Differences are root mean
square differences over all pairs of hospitals. "alone" is the same model on a hospital's own rows, "pooled" on the
rows of all four.
"""


def explain_patients(setting: str, *, seed: int) -> dict[str, Any]:
    """Every hospital's explanations of the same patients, by both methods; accuracies together and alone."""
    data = load_heart_hospitals()
    rng = np.random.default_rng(seed)
    train: Rows = {}
    test: Rows = {}
    for hospital in data.hospital.cat.categories:
        rows = rng.permutation(np.flatnonzero(data.hospital == hospital))
        cut = len(rows) // HELD_OUT_SHARE
        test[hospital] = data.data.iloc[rows[:cut]], data.target.iloc[rows[:cut]]
        train[hospital] = data.data.iloc[rows[cut:]], data.target.iloc[rows[cut:]]
    model = new_model(NEIGHBOURS, setting=setting, seed=seed)
    trained = HorizontalCollaboration(model, missing="reference", random_state=seed, **SETTINGS[setting]).fit(train)
    patients = pd.concat([X.iloc[:N_PER_HOSPITAL] for X, _ in test.values()], ignore_index=True)
    return {
        "missing": {hospital: X.isna().mean().to_dict() for hospital, (X, _) in train.items()},
        "accuracy": _accuracy(trained, train, test),
        **{
            method: {name: pack(trained.explain(patients, party=name, reference=reference)) for name in train}
            for method, reference in METHODS.items()
        },
    }


def _accuracy(trained: HorizontalCollaboration, train: Rows, test: Rows) -> dict[str, dict[str, float]]:
    """By hospital: together, and the same model on its own encoded rows, and on everybody's."""
    encode = next(iter(trained.parties_.values())).encode  # all parties encode alike
    encoded = {name: (encode(X), y.to_numpy()) for name, (X, y) in train.items()}
    pooled = clone(trained.model).fit(*(np.concatenate(each) for each in zip(*encoded.values(), strict=True)))
    found = {}
    for name, (X, y) in test.items():
        alone = clone(trained.model).fit(*encoded[name])
        found[name] = {
            "alone": float(alone.score(encode(X), y)),
            "together": trained.score(X, y, party=name),
            "pooled": float(pooled.score(encode(X), y)),
        }
    return found


groups = partial(by_seed, explain_patients, n_seeds=N_SEEDS, setting=HOSPITAL_SETTINGS)


def outcome(options: Options, results: Results) -> Outcome:
    """One row per setting for all hospitals, and one per pair of them; bars per feature."""
    rows: list[Row] = []
    tables, pictures = {}, {}
    for where, group in groups(options):
        setting = where["setting"]
        explained = [{method: unpack_all(results[cell][method]) for method in METHODS} for cell in group]
        pairs = [_pair(setting, pair, explained) for pair in [None, *combinations(explained[0]["dcshap"], 2)]]
        rows += pairs
        headings = {
            "hospitals": "hospitals",
            "kernelshap_rmse": "KernelSHAP RMSE",
            "dcshap_rmse": "DC-SHAP RMSE",
            "factor": "factor",
            "kernelshap_contradictions": "contradictions",
            "dcshap_contradictions": "by DC-SHAP",
        }
        tables[f"Setting {setting}: do they explain the same patients alike?"] = table_of(pairs, headings)
        accuracies = _accuracies(setting, [results[cell] for cell in group])
        rows += accuracies
        columns = {"hospital": "hospital"} | {f"accuracy_{way}": way for way in ("alone", "together", "pooled")}
        tables[f"Setting {setting}: accuracy"] = table_of(accuracies, columns)
        pictures[f"hospitals-{setting}"] = _bars(setting, explained)
    missing = pd.DataFrame(results[groups(options)[0][1][0]]["missing"]).T.rename_axis("hospital").reset_index()
    return Outcome(rows, TEXT, tables | {"Share of values that are missing": missing}, pictures)


def _pair(setting: str, pair: tuple[str, str] | None, explained: list[dict[str, dict[str, Explanation]]]) -> Row:
    row: Row = {
        "experiment": "hospitals",
        "setting": setting,
        "seeds": len(explained),
        "hospitals": "all four" if pair is None else " and ".join(pair),
    }
    for method in METHODS:
        found = [
            disagreement({name: each for name, each in seed[method].items() if pair is None or name in pair})
            for seed in explained
        ]
        row[f"{method}_rmse"], row[f"{method}_rmse_sd"] = mean_and_sd([each.rmse for each in found])
        row[f"{method}_contradictions"] = sum(len(each.contradictions) for each in found)
    row["factor"] = factor_of(row["kernelshap_rmse"], row["dcshap_rmse"])
    return row


def _accuracies(setting: str, found: list[dict[str, Any]]) -> list[Row]:
    rows: list[Row] = []
    for hospital, ways in found[0]["accuracy"].items():
        row: Row = {"experiment": "hospitals", "setting": setting, "seeds": len(found), "hospital": hospital}
        for way in ways:
            mean, sd = mean_and_sd([each["accuracy"][hospital][way] for each in found])
            row |= {f"accuracy_{way}": mean, f"accuracy_{way}_sd": sd}
        rows.append(row)
    return rows


def _bars(setting: str, explained: list[dict[str, dict[str, Explanation]]]) -> report.Picture:
    figure = report.rmse_bars(
        {
            "KernelSHAP, own references": _per_feature(explained, "kernelshap"),
            "DC-SHAP, anchor's reference": _per_feature(explained, "dcshap"),
        }
    )
    return report.Picture(figure, "RMSE between the four hospitals' explanations, by feature.", f"Setting {setting}")


def _per_feature(explained: list[dict[str, dict[str, Explanation]]], method: str) -> pd.Series[float]:
    found = pd.concat([disagreement(seed[method]).rmse_per_feature for seed in explained], axis=1)
    mean: pd.Series[float] = found.mean(axis=1)
    return mean


HOSPITALS = Experiment("hospitals", "Beyond the paper: four hospitals", groups, outcome)
