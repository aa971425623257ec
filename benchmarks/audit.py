"""How long a party's audit takes before its first training: a table as large as Adult, and a million rows of 50."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from dcshap.audit import audit_party
from dcshap.collaboration import Agreement, HorizontalParty
from dcshap.schema import Schema

SIZES = ((32_000, 12), (1_000_000, 50))
QUICK = ((2_000, 12),)
LETTERS = list("abcde")


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Seconds, wall clock and processor, and how rows were sampled."""
    return [_row(*size) for size in (QUICK if quick else SIZES)]


def _row(n_rows: int, n_columns: int) -> dict[str, Any]:
    X, y = _table(n_rows, n_columns)
    party = HorizontalParty("north", Agreement(Schema.for_supervision({"north": X})), private_seed=1)
    party.take(X, y)
    started = time.perf_counter(), time.process_time()
    found = audit_party(party, model=LogisticRegression(max_iter=1000))
    return {
        "rows": n_rows,
        "columns": n_columns,
        "coordinates": party.agreement.draw_anchor(0).encoder.n_coordinates,
        "seconds": time.perf_counter() - started[0],
        "processor seconds": time.process_time() - started[1],
        "lines": len(found.lines),
        "sampled": " ".join(note for note in found.notes if "drawn" in note) or "all rows",
    }


def _table(n_rows: int, n_columns: int) -> tuple[pd.DataFrame, pd.Series[int]]:
    """Whole numbers, short decimals and categories, none independent of the others."""
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((n_rows, 4))
    columns: dict[str, Any] = {}
    for j in range(n_columns):
        values = latent @ rng.standard_normal(4) + rng.standard_normal(n_rows)
        if j % 3 == 0:
            columns[f"c{j}"] = pd.Categorical(
                np.array(LETTERS)[np.clip(np.rint(values + 2), 0, 4).astype(int)], LETTERS
            )
        else:
            columns[f"n{j}"] = np.rint(10 * values + 50) if j % 3 == 1 else np.round(values, 1)
    return pd.DataFrame(columns), pd.Series((latent[:, 0] + rng.standard_normal(n_rows) > 0).astype(int))
