"""`dcshap cite`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dcshap.cli.console import JsonOption, print_json, tell

__all__ = ["cite"]


def cite(
    run: Annotated[Path | None, typer.Argument(metavar="[RUN]", help="The folder that `dcshap fit` wrote.")] = None,
    explanation: Annotated[
        Path | None, typer.Option(help="An explanation that was saved, to cite how its values were found.")
    ] = None,
    bibtex: Annotated[bool, typer.Option("--bibtex", help="As BibTeX.")] = False,
    as_json: JsonOption = False,
) -> None:
    """What to cite: the works behind the methods that a run used, or behind all methods.

    Examples: `dcshap cite run/`, `dcshap cite --bibtex`
    """
    from dcshap.cli.tables import Run  # noqa: PLC0415 - to list all methods nothing needs to be loaded
    from dcshap.explanation import Explanation  # noqa: PLC0415
    from dcshap.tracking import all_citations, citations_of  # noqa: PLC0415

    if run is None and explanation is None:
        works = all_citations()
    else:
        works = citations_of(
            None if run is None else Run.load(run).collaboration,
            None if explanation is None else Explanation.load(explanation),
        )
    if as_json:
        print_json([vars(work) for work in works])
        return
    for work in works:
        text = work.bibtex() if bibtex else f"{work}\n  used for {work.used_for}"
        tell(text)
