"""`dcshap compare`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import typer

from dcshap import Disagreement, HorizontalCollaboration, VerticalCollaboration
from dcshap.cli.console import JsonOption, print_json, print_table, tell, working
from dcshap.cli.tables import KeepTextOption, Reader, RowsArgument, Run, RunArgument, SepOption, SqlOption

__all__ = ["compare", "view_differences"]

METHODS = {"own": "KernelSHAP, own reference", "anchor": "DC-SHAP, shared reference"}


def compare(
    run: RunArgument,
    rows: RowsArgument,
    threshold: Annotated[float, typer.Option(help="How large two attributions must be to contradict.")] = 0.05,
    sep: SepOption = None,
    keep_text: KeepTextOption = False,
    sql: SqlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Do all parties say the same? Explain rows at every party and compare.

    Example: `dcshap compare run/ rows.csv`
    """
    trained = Run.load(run, Reader(sep, keep_text, sql))
    if isinstance(trained.collaboration, HorizontalCollaboration):
        X = trained.rows(rows)
        with working("Explaining at every party"):
            found = {
                method: trained.collaboration.disagreement(X, reference=kind, threshold=threshold)
                for kind, method in METHODS.items()
            }
        _show_horizontal(found, as_json=as_json)
    else:
        with working("Explaining in every view"):
            frame = view_differences(trained.collaboration, trained.records(rows))
        if as_json:
            print_json(frame)
        else:
            print_table(frame, "RMSE between each party's view and the full view", digits=".3g")


def _show_horizontal(found: dict[str, Disagreement], *, as_json: bool) -> None:
    if as_json:
        print_json([_plain(method, each) for method, each in found.items()])
        return
    for method, each in found.items():
        tell(method, style="bold")
        tell(f"{each}\n")


def _plain(method: str, found: Disagreement) -> dict[str, Any]:
    return {
        "method": method,
        "parties": list(found.parties),
        "rmse": found.rmse,
        "rank_correlation": found.rank_correlation,
        "contradictions": found.contradictions,
        "threshold": found.threshold,
        "outputs": list(found.outputs),
        "per_feature": found.to_frame(),
        "worst_samples": found.worst_samples(),
        "sources": [] if found.sources is None else found.sources,
    }


def view_differences(collaboration: VerticalCollaboration, records: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """How far each party's view of its own features is from the full view, by Algorithms 3 and 4 and by Owen values."""
    rows = []
    indices: dict[Literal["shapley", "owen"], str] = {
        "shapley": "Algorithms 3 and 4 (Shapley)",
        "owen": "party views (Owen)",
    }
    for index, label in indices.items():
        full = collaboration.explain(records, index=index)
        for party in collaboration.parties_:
            view = collaboration.explain(records, view=party, index=index)
            own = collaboration.parties_[party].agreement.schema.names
            at = [full.feature_names.index(name) for name in own]
            rest = [i for i in range(len(full.feature_names)) if i not in at]
            others = view.values[:, len(own) :].sum(axis=1) - full.values[:, rest].sum(axis=1)
            own_difference = view.values[:, : len(own)] - full.values[:, at]
            rows.append(
                {
                    "index": label,
                    "view": party,
                    "own features": float(np.sqrt(np.mean(own_difference**2))),
                    "DC Features": float(np.sqrt(np.mean(others**2))),
                }
            )
    return pd.DataFrame(rows)
