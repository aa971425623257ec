"""`dcshap explain`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from dcshap import Explanation, HorizontalCollaboration
from dcshap._tables import is_missing, plain_value
from dcshap.cli.console import JsonOption, error_console, print_json, print_table, say, tell
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
from dcshap.explanation.enclosure import require_columns
from dcshap.shapley.telling.likeness import AS_REFERENCE

__all__ = ["BackgroundOption", "GroupOption", "ToldOption", "as_plain", "explain", "read_groups", "show_explanation"]

SHOWN = 5
BackgroundOption = Annotated[int, typer.Option(help="How many rows a background has.")]
ToldOption = Annotated[
    str | None,
    typer.Option("--output", help="The class to tell of; of two the second, of more the predicted one by default."),
]
GroupOption = Annotated[
    list[str] | None,
    typer.Option(help="NAME=COLUMN,COLUMN: columns that get one value together; repeat for further groups."),
]
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
    group: GroupOption = None,
    told: ToldOption = None,
    max_evals: Annotated[int | None, typer.Option(help="Evaluations per row before values are sampled.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Processor cores to use.")] = None,
    seed: Annotated[int | None, typer.Option(help="A seed, where values are sampled.")] = None,
    missing: MissingOption = None,
    unknown: UnknownOption = "error",
    sep: SepOption = None,
    keep_text: KeepTextOption = False,
    sql: SqlOption = None,
    csv: Annotated[Path | None, typer.Option(help="Write all rows' contributions to a csv file.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with the explanations.")] = None,
    receipt: Annotated[Path | None, typer.Option(help="Write a signed receipt per row, without any data.")] = None,
    openings: Annotated[
        Path | None, typer.Option(help="Another party's openings, to compare receipts with it.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Explain predictions of rows with a trained run.

    Examples: `dcshap explain run/ --party north rows.csv`,
    `dcshap explain run/ --party bank bank=bank.csv shop=shop.csv`
    """
    require_folder_of(csv, html, receipt)
    require_signer(receipt, party=party, openings=openings)
    if jobs == 0:
        raise InputError("--jobs must be a number of cores, or -1 for all of them. Got 0.")
    trained = Run.load(run, Reader(sep, keep_text, sql))
    options: dict[str, Any] = {
        "reference": reference,
        "n_background": n_background,
        "max_evals": "auto" if max_evals is None else max_evals,
        "n_jobs": jobs,
        "random_state": seed,
        "progress": error_console.is_terminal,
        "groups": _all_groups(trained, group or ()),
    } | absent_options(missing, unknown)
    if isinstance(trained.collaboration, HorizontalCollaboration):
        if view is not None or index is not None or merged:
            raise InputError("--view, --index and --merged are for vertical runs. This one is horizontal.")
        explanation = trained.collaboration.explain(trained.rows(rows), party=trained.party(party), **options)
    else:
        explanation = _vertical(trained, rows, party, view, index=(index or Index.owen).value, merged=merged, **options)
    if csv is not None:
        explanation.to_frame(explanation.chosen_outputs(told)).to_csv(csv, index=False)
    if html is not None:
        from dcshap.report import explanation_report  # noqa: PLC0415 - drawing takes a second to import

        explanation_report(explanation, output=told).write(html)
        say(f"Written to {html}")
    if receipt is not None:
        issue_receipts(trained, explanation, receipt, openings=openings)
    show_explanation(explanation, told=told, as_json=as_json)


def _all_groups(trained: Run, given: Sequence[str]) -> dict[str, list[str]] | None:
    """Groups as they were given, and every other column as one of its own; None without any."""
    if not given:
        return None
    parties = trained.collaboration.parties_.values()
    columns = list(dict.fromkeys(column for party in parties for column in party.agreement.schema.names))
    groups = read_groups(given, columns)
    unknown = [member for members in groups.values() for member in members if member not in columns]
    if unknown:
        raise InputError(f"--group must name columns of {columns}. There is no {unknown}.")
    require_columns(groups, columns)
    grouped = {member for members in groups.values() for member in members}
    return groups | {column: [column] for column in columns if column not in grouped}


def read_groups(given: Sequence[str], columns: Sequence[str] = ()) -> dict[str, list[str]]:
    """Groups as they were given, of columns that may be known: commas in their names are not taken for separators."""
    groups: dict[str, list[str]] = {}
    for each in given:
        name, _, members = each.partition("=")
        named = [members] if members in columns else [member.strip() for member in members.split(",")]
        if not name or not all(named):
            raise InputError(f"--group must be NAME=COLUMN,COLUMN. Got {each!r}.")
        groups.setdefault(name, []).extend(named)
    return groups


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


def as_plain(explanation: PartyExplanation, output: str | None = None) -> dict[str, Any]:
    """An explanation for machines: `explained` tells of one output of each row, the arrays hold all of them."""
    arrays = {name: getattr(explanation, name) for name in FIELDS}
    told = {"rows": list(map(str, explanation.data.index)), "explained": _rows(explanation, output)}
    return arrays | {"compared_with": explanation.compared_with} | told


def _rows(explanation: PartyExplanation, output: str | None) -> list[dict[str, Any]]:
    frame = explanation.to_frame(explanation.chosen_outputs(output))
    cells = ["feature", "value", "contribution", "standard_error", "as_in_reference"]
    cells_of = [None if is_missing(cell) else cell for cell in frame["value"]]
    frame["value"] = pd.Series(cells_of, index=frame.index, dtype=object)  # or None would become NaN beside numbers
    return [
        {
            "row": str(first["row"]),
            "output": first["output"],
            "base_value": first["base_value"],
            "prediction": first["prediction"],
            "converged": bool(explanation.converged[at]),
            "features": each[cells].to_dict(orient="records"),
            "reasons": _sentences(explanation, at, output),
        }
        for at in range(len(explanation))
        for each in [frame[frame["sample"] == at]]
        for first in [each.iloc[0]]
    ]


def _sentences(explanation: Explanation, sample: int, output: str | None) -> list[str]:
    return [reason.sentence for reason in explanation.reasons(sample=sample, output=output)]


def show_explanation(explanation: PartyExplanation, *, told: str | None = None, as_json: bool = False) -> None:
    """Print the first rows' contributions to the output `told`, and the reasons; or, for machines, everything."""
    if as_json:
        print_json(as_plain(explanation, told))
        return
    tell(_about(explanation))
    outputs = explanation.chosen_outputs(told)
    for sample in range(min(SHOWN, len(explanation))):
        frame = explanation[sample].to_frame(outputs[[sample]])
        first = frame.iloc[0]
        title = f"row {first['row']}: {_named(explanation, first['output'])} {first['prediction']:.3f}"
        title += f", from a base value of {first['base_value']:.3f}"
        tell(f"\n{title}", style="bold")
        print_table(_shown(frame, exact=explanation.exact), right=("value", "contribution"))
        for sentence in _sentences(explanation, sample, told):
            tell(f"• {sentence}")
    if len(explanation) > SHOWN:
        tell(f"{len(explanation) - SHOWN} more rows: --csv, --html or --json give all of them.")


def _about(explanation: Explanation) -> str:
    """Which values these are, compared with whom, and how sure."""
    text = f"{explanation.index.capitalize()} values. Compared with {explanation.compared_with}."
    if explanation.exact:
        return text
    late = int((~explanation.converged).sum())
    unsure = f" {late} of {len(explanation)} rows have not converged: an error is over 5% of the largest contribution."
    return f"{text} Values are sampled: ± is one standard error.{unsure if late else ''}"


def _named(explanation: Explanation, name: str) -> str:
    return f"P({name})" if explanation.are_probabilities else name


def _shown(frame: pd.DataFrame, *, exact: bool) -> pd.DataFrame:
    """One row's features for the screen, those that contribute most first."""
    ordered = frame.iloc[np.argsort(-frame["contribution"].abs().to_numpy(), kind="stable")]
    held_elsewhere = ordered["value"].map(lambda cell: cell is None)
    return pd.DataFrame(
        {
            "feature": ordered["feature"],
            "value": ordered["value"].map(plain_value).mask(held_elsewhere, ""),
            "contribution": [
                AS_REFERENCE if same else f"{value:+.3f}" + ("" if exact else f" ± {error:.3f}")
                for value, error, same in zip(
                    ordered["contribution"], ordered["standard_error"], ordered["as_in_reference"], strict=True
                )
            ],
        }
    )
