"""`dcshap federation simulate`: a federation rehearsed with whatever can go wrong, before it starts."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from dcshap.cli.console import JsonOption, error_console, print_json, say, tell

if TYPE_CHECKING:
    from dcshap.federation.rehearsal.programme import Totals

__all__ = ["simulate"]


def simulate(
    seed: Annotated[int, typer.Option(help="Where to begin; with --schedules 1 the schedule to replay.")] = 0,
    schedules: Annotated[int, typer.Option(help="How many random schedules of faults.")] = 1000,
    parties: Annotated[int, typer.Option(help="From 2 to 5.")] = 3,
    every_fault: Annotated[
        bool, typer.Option("--every-fault", help="Every single fault at every step instead.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Rehearse a federation: messages are lost, doubled, delayed and damaged, processes end, disks fail.

    Nothing leaves this process. Every schedule that does not hold is shown with the seed that replays it. Seeds
    count up: what was cut short goes on with --seed, one after the last that was told.

    Example: `dcshap federation simulate --schedules 1000 --parties 3`
    """
    from dcshap.federation.rehearsal import programme  # noqa: PLC0415 - takes a second to import

    with error_console.status("rehearsing …") as status:

        def so_far(totals: Totals) -> None:
            status.update(_words(totals))
            if not error_console.is_terminal:  # a log: what was done so far, if it is cut short
                say(_words(totals))

        if every_fault:
            found = programme.every_single_fault(parties, tell=so_far)
        else:
            found = programme.simulate(seed, schedules, parties, tell=so_far)
    if as_json:
        print_json(asdict(found))
    else:
        tell(_words(found))
        for failure in found.failures:
            tell(failure)
    if found.failures:
        raise typer.Exit(1)


def _words(totals: Totals) -> str:
    seeds = f" (seeds {totals.seeds[0]} to {totals.seeds[-1]})" if totals.seeds else ""
    scenes = "".join(f"; {n} of {scene}" for scene, n in totals.by_scene.items())
    return (
        f"{totals.schedules} schedules{seeds} with {totals.faults} faults: {totals.hung} hung, {totals.wrong} wrong, "
        f"{totals.lost} lost, {totals.overdrawn} overdrawn{scenes}"
    )
