"""What attacks recover under the paper's settings, the old default of version 0.1 and the default."""

from __future__ import annotations

from functools import partial
from typing import Any

from dcshap.paper.cells import Results
from dcshap.paper.outcome import Experiment, Options, Outcome, Row, by_seed, table_of
from dcshap.paper.settings import NEIGHBOURS, collaboration
from dcshap.paper.tasks import USERS, horizontal_task

__all__ = ["PRIVACY", "attack_release"]

# `private-span` is the default of version 0.1: three quarters of the columns, SVD, no noise, Gaussian anchor.
SETTINGS = ("paper", "private-span", "default")
TABLES = ("adult", "heart", "pima", "wine", "breast cancer")
WHERE = {"dataset": "data", "setting": "setting"}
SHOWN = {
    "Analyst alone": {
        "noise": "noise over rms",
        "hidden lattice": "lattice, bits",
        "columns found": "columns exact",
        "components": "best component",
    },
    "Analyst and a party, who knows the map": {
        "reading cells, map known": "cells",
        "reading rows, map known": "rows exact",
        "reading columns, map known": "R² of columns",
        "linkage, map known": "linkage",
    },
    "With other knowledge": {
        "known rows": "R², 20 known rows",
        "public sample": "R², public sample",
        "membership of the model": "membership",
        "verdict": "worst verdict",
    },
}
TEXT = """\
What the audit of the first user finds, who holds half of the rows, dealt out at random. Analyst alone: noise, hidden
lattice (bits beyond chance; columns that are then found exactly), best component (|correlation| with a single column).
Analyst and a party, who knows the map: cells, rows and columns read, and records linked. The paper's model is 7 nearest
neighbours, which carry rows; elsewhere it is logistic regression. `private-span` is the default of version 0.1.
"""


def attack_release(dataset: str, *, setting: str, split: str, seed: int) -> dict[str, Any]:
    """The audit of the first user's release: value and verdict by attack."""
    task = horizontal_task(dataset, split=split, seed=seed)
    model = NEIGHBOURS if setting == "paper" else "logistic regression"
    trained = collaboration(dataset, setting=setting, seed=seed, model=model).fit(task.parties)
    audit = trained.audit(USERS[0], n_rows=4000, seed=seed)
    values = {line.attack: line.value for line in audit.lines}
    found = next(line for line in audit.lines if line.attack == "hidden lattice")
    verdicts = {line.attack: line.verdict for line in audit.lines}
    return {"values": values | {"columns found": sum(found.per_column.values())}, "verdicts": verdicts}


groups = partial(by_seed, attack_release, n_seeds=1, setting=SETTINGS, split=("iid",), dataset=TABLES)


def outcome(options: Options, results: Results) -> Outcome:
    """One row per data set and setting."""
    rows: list[Row] = []
    for where, cells in groups(options):
        for cell in cells:
            found = results[cell]
            verdicts = [*found["verdicts"].values()]
            worst = "fail" if "fail" in verdicts else "warn" if "warn" in verdicts else "pass"
            failed = [attack for attack, verdict in found["verdicts"].items() if verdict == "fail"]
            rows.append({"experiment": "privacy", **where, "verdict": worst, "failed": failed, **found["values"]})
    tables = {caption: table_of(rows, WHERE | columns) for caption, columns in SHOWN.items()}
    return Outcome(rows, TEXT, tables)


PRIVACY = Experiment("privacy", "What attacks recover", groups, outcome)
