"""`dcshap audit`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, NoReturn

import pandas as pd
import typer

from dcshap.audit import THRESHOLDS, Audit, parse_threshold
from dcshap.cli.console import JsonOption, note, print_json, print_table, say, tell, working
from dcshap.cli.tables import Run, RunArgument, require_column, require_folder_of, select_columns
from dcshap.exceptions import InputError

__all__ = ["StrictOption", "ThresholdOption", "audit", "report_audit", "show_audit", "thresholds_of"]

TableArgument = Annotated[
    str | None,
    typer.Argument(metavar="[TABLE]", help="The party's table; the file that it was trained with by default."),
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Count a warning as failure.")]
ThresholdOption = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold", metavar="NAME=PASS:FAIL", help=f"Another threshold: {', '.join(THRESHOLDS)}. Repeat it."
    ),
]


def audit(
    run: RunArgument,
    table: TableArgument = None,
    party: Annotated[str | None, typer.Option(help="Whose release to attack.")] = None,
    threshold: ThresholdOption = None,
    strict: StrictOption = False,
    seed: Annotated[int, typer.Option(help="A seed for the audit's own draws.")] = 0,
    html: Annotated[Path | None, typer.Option(help="Write a page with what was found.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Attack what a party has sent, on its own table; nothing leaves. Exits with 0 pass, 1 warn, 2 fail.

    Example: `dcshap audit run/ --party north north.csv`
    """
    require_folder_of(html)
    thresholds = thresholds_of(threshold)
    trained = Run.load(run)
    name = trained.party(party)
    _take(trained, name, table)
    with working("Attacking"):
        found = trained.collaboration.audit(name, thresholds=thresholds, seed=seed)
    report_audit(found, html=html, as_json=as_json, strict=strict)


def thresholds_of(given: list[str] | None) -> dict[str, tuple[float, float]]:
    """Thresholds from options of the form NAME=PASS:FAIL."""
    return dict(parse_threshold(each) for each in given or [])


def report_audit(found: Audit, *, html: Path | None, as_json: bool, strict: bool) -> NoReturn:
    """Show what was found, and exit with what it means."""
    if html is not None:
        from dcshap.report import audit_report  # noqa: PLC0415 - drawing takes a second to import

        audit_report(found).write(html)
        say(f"Written to {html}")
    if as_json:
        print_json(found.to_dict())
    else:
        show_audit(found)
    raise typer.Exit(found.exit_code(strict=strict))


def show_audit(found: Audit) -> None:
    """Print the lines, what to change, and how rows were sampled."""
    rows = [
        {
            "verdict": line.verdict,
            "attack": line.attack,
            "attacker": line.attacker,
            "value": f"{line.value:.3g}" if math.isfinite(line.value) else "–",
            "found": line.words,
        }
        for line in found.lines
    ]
    print_table(pd.DataFrame(rows), f"Audit of party {found.party!r}: {found.verdict}", right=("value",))
    for line in found.lines:
        if line.advice:
            tell(f"{line.verdict}, {line.attack}: {line.advice}")
    for text in found.notes:
        note(text)
    for name, (passes, fails) in found.overridden.items():
        note(f"The threshold {name!r} is not the default: passes up to {passes:g}, fails beyond {fails:g}.")


def _take(trained: Run, name: str, table: str | None) -> None:
    """Give a party that was read from disk its table and labels again."""
    about, party = trained.about, trained.collaboration.parties_[name]
    file = table or about.files.get(name)
    if file is None:
        raise InputError(f"A saved run holds no rows: give the table that {name!r} trained with.")
    rows = trained.reader.read(file, party=name, index=about.identifier)
    if about.identifier is None:
        require_column(rows, about.target, file, what="target column")
    labels = rows[about.target] if about.target in rows.columns else None
    party.take(select_columns(rows, party.agreement.schema.names, file), labels)
