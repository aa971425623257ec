"""The bar figure of Section 4.3: the difference between two users' explanations of Adult, feature by feature."""

from __future__ import annotations

from functools import partial

import pandas as pd

from dcshap import report
from dcshap.paper.cells import Results
from dcshap.paper.comparison import N_SEEDS, compare_users
from dcshap.paper.outcome import Experiment, Options, Outcome, Row, by_seed, factor_of, mean_and_sd, table_of

__all__ = ["HORIZONTAL"]

DATASETS = ("adult",)
SETTINGS = ("paper", "private-span", "default")
SPLITS = ("skewed",)
METHODS = {"kernelshap": "KernelSHAP, own references", "dcshap": "DC-SHAP, anchor's reference"}

TEXT = """\
The root mean square difference between two users' attributions of 50 held-out rows, per feature. Bars are means over
seeds, whiskers one standard deviation.
"""


groups = partial(by_seed, compare_users, n_seeds=N_SEEDS, setting=SETTINGS, split=SPLITS, dataset=DATASETS)  # Table 1's


def outcome(options: Options, results: Results) -> Outcome:
    """One row per feature, and one bar figure per setting, split and data set."""
    rows: list[Row] = []
    tables, pictures = {}, {}
    for where, group in groups(options):
        found = [results[cell] for cell in group]
        new = [_row(feature, where, found) for feature in found[0]["kernelshap"]]
        title = f"{where['dataset']}, setting {where['setting']}, split {where['split']}"
        tables[title] = table_of(
            new,
            {
                "feature": "feature",
                "kernelshap_rmse": "KernelSHAP RMSE",
                "dcshap_rmse": "DC-SHAP RMSE",
                "factor": "factor",
            },
        )
        figure = report.rmse_bars(_series(new, "rmse"), spread=_series(new, "rmse_sd"))
        alt = f"RMSE per feature of KernelSHAP and DC-SHAP on {title}; the table has the same figures."
        pictures["-".join(["horizontal", *where.values()])] = report.Picture(figure, alt, title)
        rows += new
    return Outcome(rows, TEXT, tables, pictures)


def _row(feature: str, where: dict[str, str], found: list[dict[str, dict[str, float]]]) -> Row:
    row: Row = {"experiment": "horizontal", **where, "seeds": len(found), "feature": feature}
    for method in METHODS:
        mean, sd = mean_and_sd([each[method][feature] for each in found])
        row |= {f"{method}_rmse": mean, f"{method}_rmse_sd": sd}
    row["factor"] = factor_of(row["kernelshap_rmse"], row["dcshap_rmse"])
    return row


def _series(rows: list[Row], what: str) -> dict[str, pd.Series[float]]:
    index = [row["feature"] for row in rows]
    return {
        title: pd.Series([row[f"{method}_{what}"] or 0.0 for row in rows], index=index)
        for method, title in METHODS.items()
    }


HORIZONTAL = Experiment("horizontal", "Section 4.3: differences per feature", groups, outcome)
