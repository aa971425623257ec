"""`dcshap predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from dcshap import HorizontalCollaboration
from dcshap.cli.console import JsonOption, print_json, print_table, working
from dcshap.cli.tables import (
    KeepTextOption,
    MissingOption,
    Reader,
    RowsArgument,
    Run,
    RunArgument,
    SepOption,
    SqlOption,
    UnknownOption,
    absent_options,
    require_folder_of,
)

__all__ = ["predict"]

SHOWN = 20


def predict(
    run: RunArgument,
    rows: RowsArgument,
    party: Annotated[str | None, typer.Option(help="Whose maps to use; horizontal runs only.")] = None,
    missing: MissingOption = None,
    unknown: UnknownOption = "error",
    sep: SepOption = None,
    keep_text: KeepTextOption = False,
    sql: SqlOption = None,
    csv: Annotated[Path | None, typer.Option(help="Write the predictions to a csv file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Predict rows with a trained run.

    Example: `dcshap predict run/ --party north rows.csv`
    """
    require_folder_of(csv)
    trained, absent = Run.load(run, Reader(sep, keep_text, sql)), absent_options(missing, unknown)
    with working("Predicting"):
        frame = _predictions(trained, rows, party, absent)
    if csv is not None:
        frame.to_csv(csv)
    if as_json:
        print_json(frame.reset_index().to_dict(orient="records"))
        return
    title = f"{len(frame)} predictions of {trained.about.target}" + (
        f", the first {SHOWN}" if len(frame) > SHOWN else ""
    )
    print_table(frame.head(SHOWN).rename(str).reset_index(), title)


def _predictions(trained: Run, files: list[str], party: str | None, absent: dict[str, Any]) -> pd.DataFrame:
    """The prediction of every row and, of a classifier that gives them, the classes' probabilities."""
    model = trained.collaboration.model
    found: dict[str, Any] = {}
    if isinstance(trained.collaboration, HorizontalCollaboration):
        X, asking = trained.rows(files), trained.party(party)
        index = X.index
        found["prediction"] = trained.collaboration.predict(X, party=asking, **absent)
        if hasattr(model, "predict_proba"):
            found |= _by_class(trained, trained.collaboration.predict_proba(X, party=asking, **absent))
    else:
        records = trained.records(files)
        index = next(iter(records.values())).index
        found["prediction"] = trained.collaboration.predict(records, **absent)
        if hasattr(model, "predict_proba"):
            found |= _by_class(trained, trained.collaboration.predict_proba(records, **absent))
    return pd.DataFrame(found, index=index).rename_axis("row")


def _by_class(trained: Run, probabilities: Any) -> dict[str, Any]:
    classes = trained.collaboration.analyst_.model_.classes_
    return {f"P({label})": np.asarray(column) for label, column in zip(classes, probabilities.T, strict=True)}
