"""`dcshap reproduce`: the paper's experiments, ours beside the paper's."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from dcshap.cli.console import JsonOption, note, print_json, print_table, tell
from dcshap.paper import ALL, EXPERIMENTS, Options, Reproduction
from dcshap.paper import reproduce as run_experiments
from dcshap.paper.settings import DATASETS, SETTINGS
from dcshap.paper.tasks import SPLITS

__all__ = ["reproduce"]

_NAMES = ", ".join([*EXPERIMENTS, ALL])


def reproduce(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help=f"Which experiments: {_NAMES}.")],
    setting: Annotated[
        list[str] | None, typer.Option(help=f"Of {', '.join(SETTINGS)}; repeat it, or separate by commas.")
    ] = None,
    split: Annotated[
        list[str] | None, typer.Option(help=f"Of {', '.join(SPLITS)}; repeat it, or separate by commas.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="How many seeds, from 0 on.", min=1)] = None,
    datasets: Annotated[
        list[str] | None, typer.Option(help=f"Of {', '.join(DATASETS)}; repeat it, or separate by commas.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder for the report, and for what is done already.")] = Path(
        "dcshap-paper"
    ),
    jobs: Annotated[int, typer.Option(help="Processes; -1 takes all cores.")] = -1,
    as_json: JsonOption = False,
) -> None:
    """The experiments of the paper on the real data. `all` takes some minutes; a run that is stopped can go on.

    An option that an experiment has no use for is ignored by it. Writes a page, its figures and the rows as JSON.

    Example: `dcshap reproduce table1 --setting default --split skewed --seeds 3`
    """
    started = time.perf_counter()
    options = Options(
        settings=_listed(setting), splits=_listed(split), n_seeds=seeds, datasets=_listed(datasets, lower=True)
    )
    found = run_experiments(names, options, folder=out, n_jobs=jobs)
    for text in found.left_out:
        note(text)
    name = "-".join(dict.fromkeys(names))
    page = found.write(out) if ALL in names else found.write(out, page=name, rows=name)
    if as_json:
        print_json(found.rows)
    else:
        _show(found, page, seconds=time.perf_counter() - started)


def _listed(given: list[str] | None, *, lower: bool = False) -> tuple[str, ...] | None:
    """The names in options that were repeated or hold several, separated by commas."""
    names = [name.strip() for each in given or () for name in each.split(",") if name.strip()]
    return tuple(dict.fromkeys(name.lower() if lower else name for name in names)) or None


def _show(found: Reproduction, page: Path, *, seconds: float) -> None:
    for name, outcome in found.outcomes.items():
        tell(f"\n{EXPERIMENTS[name].title}", style="bold")
        for caption, frame in outcome.tables.items():
            print_table(frame, caption)
    if found.targets:
        shown = pd.DataFrame([target.row() for target in found.targets])
        print_table(shown[["target", "found", "met"]], "What it must show")
    for why in dict.fromkeys(target.why for target in found.targets if target.why):
        tell(why)
    tell(f"Report: {page} ({seconds:.0f} s)", style="bold")
