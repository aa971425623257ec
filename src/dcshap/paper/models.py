"""Beyond the paper: Table 1's factor for other models than k nearest neighbours."""

from __future__ import annotations

from itertools import product

from dcshap.paper.cells import Cell, Results
from dcshap.paper.comparison import compare_users
from dcshap.paper.outcome import Experiment, Options, Outcome, Row, table_of
from dcshap.paper.settings import DATASETS, MODELS, NEIGHBOURS
from dcshap.paper.table1 import summary

__all__ = ["MODEL_KINDS"]

N_SEEDS = 5
OTHERS = tuple(name for name in MODELS if name != NEIGHBOURS)

TEXT = """\
The comparison of Table 1 with other models in the common space: logistic regression, a random forest of 50 trees,
gradient boosting of 50 rounds, and a neural network with 16 hidden units. Five seeds, where Table 1 has ten.
"""


def cells(options: Options) -> list[Cell]:
    """One cell per model, setting, split, data set and seed."""
    return [cell for _, each in _groups(options) for cell in each]


def outcome(options: Options, results: Results) -> Outcome:
    """One row per model, setting, split and data set."""
    rows: list[Row] = []
    for where, group in _groups(options):
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


def _groups(options: Options) -> list[tuple[dict[str, str], list[Cell]]]:
    seeds = range(options.n_seeds or N_SEEDS)
    wanted = product(
        OTHERS, options.settings or ("default",), options.splits or ("skewed",), options.datasets or DATASETS
    )
    return [
        (
            {"model": model, "setting": setting, "split": split, "dataset": dataset},
            [
                Cell.of(compare_users, dataset=dataset, setting=setting, split=split, seed=seed, model=model)
                for seed in seeds
            ],
        )
        for model, setting, split, dataset in wanted
    ]


MODEL_KINDS = Experiment("models", "Beyond the paper: other models", cells, outcome)
