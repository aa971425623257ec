"""Beyond the paper: Table 1's factor for other models than k nearest neighbours."""

from __future__ import annotations

from functools import partial

from dcshap.paper.cells import Results
from dcshap.paper.comparison import compare_users
from dcshap.paper.outcome import Experiment, Options, Outcome, Row, by_seed, table_of
from dcshap.paper.settings import DATASETS, MODELS, NEIGHBOURS
from dcshap.paper.table1 import summary

__all__ = ["MODEL_KINDS"]

N_SEEDS = 5
OTHERS = tuple(name for name in MODELS if name != NEIGHBOURS)

TEXT = """\
The comparison of Table 1 with other models in the common space: logistic regression, a random forest of 50 trees,
gradient boosting of 50 rounds, and a neural network with 16 hidden units. Five seeds, where Table 1 has ten.
"""


groups = partial(
    by_seed, compare_users, n_seeds=N_SEEDS, model=OTHERS, setting=("default",), split=("skewed",), dataset=DATASETS
)


def outcome(options: Options, results: Results) -> Outcome:
    """One row per model, setting, split and data set."""
    rows: list[Row] = []
    for where, group in groups(options):
        row = summary(where["dataset"], [results[cell] for cell in group])
        rows.append({"experiment": "models", **where, **{k: v for k, v in row.items() if not k.startswith("paper_")}})
    headings = {
        "model": "model",
        "dataset": "data",
        "setting": "setting",
        "split": "split",
        "accuracy": "accuracy",
        "kernelshap_rmse": "KernelSHAP RMSE",
        "dcshap_rmse": "DC-SHAP RMSE",
        "factor": "factor",
    }
    return Outcome(rows, TEXT, {"Factor by model": table_of(rows, headings)})


MODEL_KINDS = Experiment("models", "Beyond the paper: other models", groups, outcome)
