"""`dcshap explain`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from dcshap import Explanation, HorizontalCollaboration
from dcshap.cli.console import DebugOption, JsonOption, error_console, output, print_json, print_table
from dcshap.cli.receipt import issue_receipts, require_signer
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
from dcshap.collaboration.party import FULL
from dcshap.exceptions import InputError
from dcshap.explanation import PartyExplanation
from dcshap.explanation.background import N_BACKGROUND

__all__ = ["BackgroundOption", "as_plain", "explain", "show_explanation"]

SHOWN = 5
BackgroundOption = Annotated[int, typer.Option(help="How many rows a background has.")]
FIELDS = (
    *("values", "base_values", "predictions", "standard_errors", "feature_names", "output_names", "index", "method"),
    *("exact", "n_evals", "converged", "party", "view", "reference_fingerprint"),
)


class Index(StrEnum):
    """Which value of cooperative game theory."""

    shapley = "shapley"
    owen = "owen"


def explain(
    run: RunArgument,
    rows: RowsArgument,
    party: Annotated[str | None, typer.Option(help="Who is asking.")] = None,
    view: Annotated[
        str | None, typer.Option(help="Vertical runs: 'full', or the asking party's own view (the default for it).")
    ] = None,
    index: Annotated[
        Index | None, typer.Option(help="owen (the default): party views, which agree. shapley: Algorithms 3 and 4.")
    ] = None,
    merged: Annotated[bool, typer.Option("--merged", help="One bar for all other parties together.")] = False,
    reference: Annotated[str, typer.Option(help="Compared with: anchor, background, own, mean or medoid.")] = "anchor",
    n_background: BackgroundOption = N_BACKGROUND,
    max_evals: Annotated[int | None, typer.Option(help="Evaluations per row before values are sampled.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Processor cores to use.")] = None,
    seed: Annotated[int | None, typer.Option(help="A seed, where values are sampled.")] = None,
    missing: MissingOption = None,
    unknown: UnknownOption = "error",
    sep: SepOption = None,
    keep_text: KeepTextOption = False,
    sql: SqlOption = None,
    csv: Annotated[Path | None, typer.Option(help="Write all values to a csv file.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with the explanations.")] = None,
    receipt: Annotated[Path | None, typer.Option(help="Write a signed receipt per row, without any data.")] = None,
    openings: Annotated[
        Path | None, typer.Option(help="Another party's openings, to compare receipts with it.")
    ] = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,  # noqa: ARG001 - read where errors are shown
) -> None:
    """Explain predictions of rows with a trained run.

    Examples: `dcshap explain run/ --party north rows.csv`,
    `dcshap explain run/ --party bank bank=bank.csv shop=shop.csv`
    """
    require_folder_of(csv, html, receipt)
    require_signer(receipt, party=party, openings=openings)
    if jobs == 0:
        raise InputError("--jobs must be a number of cores, or -1 for all of them. Got 0.")
    trained = Run.load(run, Reader(sep, keep_text, sql or ()))
    options: dict[str, Any] = {
        "reference": reference,
        "n_background": n_background,
        "max_evals": "auto" if max_evals is None else max_evals,
        "n_jobs": jobs,
        "random_state": seed,
        "progress": error_console.is_terminal,
    } | absent_options(missing, unknown)
    if isinstance(trained.collaboration, HorizontalCollaboration):
        if view is not None or index is not None or merged:
            raise InputError("--view, --index and --merged are for vertical runs. This one is horizontal.")
        explanation = trained.collaboration.explain(trained.rows(rows), party=trained.party(party), **options)
    else:
        explanation = _vertical(trained, rows, party, view, index=(index or Index.owen).value, merged=merged, **options)
    if csv is not None:
        explanation.to_frame().to_csv(csv, index=False)
    if html is not None:
        _write_html(explanation, html)
    if receipt is not None:
        issue_receipts(trained, explanation, receipt, openings=openings)
    show_explanation(explanation, as_json=as_json)


def _vertical(
    trained: Run, files: list[str], party: str | None, view: str | None, *, index: Any, **options: Any
) -> PartyExplanation:
    full = FULL
    if party is not None:
        asking = trained.party(party)
        if view not in (None, asking):
            raise InputError(
                f"Party {asking!r} may see its own view only. Got --view {view}. Leave --party out to ask as a third "
                f"party that holds the records."
            )
        view = asking
    collaboration = trained.collaboration
    if view not in (None, full) and view not in collaboration.parties_:
        raise InputError(f"--view must be '{full}' or one of {list(collaboration.parties_)}. Got {view!r}.")
    explained: PartyExplanation = collaboration.explain(  # type: ignore[call-arg]  # the run is vertical
        trained.records(files), view=view or full, index=index, **options
    )
    return explained


def as_plain(explanation: PartyExplanation) -> dict[str, Any]:
    """An explanation for machines."""
    return {name: getattr(explanation, name) for name in FIELDS} | {"rows": list(map(str, explanation.data.index))}


def _write_html(explanation: Explanation, path: Path) -> None:
    from dcshap.report import explanation_report  # noqa: PLC0415 - drawing takes a second to import

    explanation_report(explanation).write(path)
    error_console.print(f"Written to {path}", highlight=False)


def show_explanation(explanation: PartyExplanation, *, as_json: bool = False) -> None:
    """Print the first rows' attributions, largest first; all there is to know, for machines."""
    if as_json:
        print_json(as_plain(explanation))
        return
    values = explanation.values if explanation.values.ndim == 3 else explanation.values[:, :, None]
    errors = explanation.standard_errors.reshape(values.shape)
    base = explanation.base_values.reshape(len(explanation), -1)
    predictions = explanation.predictions.reshape(len(explanation), -1)
    for sample in range(min(SHOWN, len(explanation))):
        k = int(np.argmax(predictions[sample])) if predictions.shape[1] > 1 else 0
        title = f"row {explanation.data.index[sample]}: {explanation.output_names[k]} {predictions[sample, k]:.3f}"
        rows = []
        for j in np.argsort(-np.abs(values[sample, :, k]), kind="stable"):
            name = explanation.feature_names[j]
            cell = explanation.data.iloc[sample].get(name, "")
            error = "" if explanation.exact else f" ± {errors[sample, j, k]:.3f}"
            value = f"{cell:g}" if isinstance(cell, float) else str(cell)
            rows.append({"feature": name, "value": value, "attribution": f"{values[sample, j, k]:+.3f}{error}"})
        title = f"{title} ({explanation.index}, base {base[sample, k]:.3f})"
        print_table(pd.DataFrame(rows), title, right=("value", "attribution"))
    if len(explanation) > SHOWN:
        output.print(f"{len(explanation) - SHOWN} more rows: --csv, --html or --json give all of them.")
