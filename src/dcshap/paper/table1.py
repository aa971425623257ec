"""Table 1: how far two users' explanations differ, by KernelSHAP and by DC-SHAP, on five data sets."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dcshap.paper.cells import Results
from dcshap.paper.comparison import N_SEEDS, compare_users
from dcshap.paper.outcome import Experiment, Options, Outcome, Row, by_seed, factor_of, mean_and_sd
from dcshap.paper.settings import DATASETS, PUBLISHED, SETTINGS

__all__ = ["TABLE1", "summary"]

SPLITS = ("skewed", "iid")

TEXT = """\
Two users train together and explain the same 50 held-out rows. The figure is the root mean square difference between
their attributions, averaged over features; mean and standard deviation over seeds. Each seed decides which rows are
held out, who holds which of the others, and every random map. KernelSHAP takes each user's own median as reference,
DC-SHAP the anchor's. Accuracy is the mean of both users' on all held-out rows: 2000 of adult.test, elsewhere a quarter
of the rows and at least 50. Skewed: user 1 holds 90 % of the positives and 10 % of the negatives; of three classes
90, 50 and 10 %, so that the users' shares mirror each other.
"""


groups = partial(by_seed, compare_users, n_seeds=N_SEEDS, setting=SETTINGS, split=SPLITS, dataset=DATASETS)


def outcome(options: Options, results: Results) -> Outcome:
    """One row per setting, split and data set, and one table per setting and split."""
    rows = [
        {"experiment": "table1", **where, **summary(where["dataset"], [results[cell] for cell in each])}
        for where, each in groups(options)
    ]
    titles = dict.fromkeys((row["setting"], row["split"]) for row in rows)
    tables = {
        f"Setting {setting}, split {split}; in brackets the paper's": pd.DataFrame(
            [_shown(row) for row in rows if (row["setting"], row["split"]) == (setting, split)]
        )
        for setting, split in titles
    }
    return Outcome(rows, TEXT, tables)


def summary(dataset: str, results: list[dict[str, Any]]) -> Row:
    """The figures of one data set over several seeds, with the paper's in the same row."""
    row: Row = {"n_features": results[0]["n_features"], "n_tested": results[0]["n_tested"], "seeds": len(results)}
    row["accuracy"], row["accuracy_sd"] = mean_and_sd([each["accuracy"] for each in results])
    row["same_prediction"], _ = mean_and_sd([each["same_prediction"] for each in results])
    for method in ("kernelshap", "dcshap"):
        rmse = [float(np.mean(list(each[method].values()))) for each in results]
        row[f"{method}_rmse"], row[f"{method}_rmse_sd"] = mean_and_sd(rmse)
    row["factor"] = factor_of(row["kernelshap_rmse"], row["dcshap_rmse"])
    row["factor_note"] = "no difference is left to divide by" if row["factor"] is None else None
    published = PUBLISHED[dataset]
    return row | {
        "paper_accuracy": published.accuracy,
        "paper_kernelshap_rmse": published.kernelshap_rmse,
        "paper_kernelshap_rmse_sd": published.kernelshap_rmse_sd,
        "paper_dcshap_rmse": published.dcshap_rmse,
        "paper_dcshap_rmse_sd": published.dcshap_rmse_sd,
        "paper_factor": published.factor,
    }


def _shown(row: Row) -> dict[str, str]:
    """A row as a reader sees it, in the paper's columns."""
    factor = "–" if row["factor"] is None else f"{row['factor']:.2f}"
    return {
        "data": f"{row['dataset']} ({row['n_features']})",
        "accuracy": f"{row['accuracy']:.3f} ({row['paper_accuracy']:.2f})",
        "KernelSHAP RMSE": _with_spread(row, "kernelshap_rmse"),
        "DC-SHAP RMSE": _with_spread(row, "dcshap_rmse"),
        "factor": f"{factor} ({row['paper_factor']:.1f})",
    }


def _with_spread(row: Row, name: str) -> str:
    spread = "" if row[f"{name}_sd"] is None else f"±{row[f'{name}_sd']:.3f}"
    return f"{row[name]:.3f}{spread} ({row[f'paper_{name}']:.2f}±{row[f'paper_{name}_sd']:.2f})"


TABLE1 = Experiment("table1", "Table 1: agreement on five data sets", groups, outcome)
