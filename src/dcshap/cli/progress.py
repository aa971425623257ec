"""How far a federation's run is, on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from dcshap.cli.console import as_table, output, print_json, tell

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["phases", "show_status"]


def phases(told: dict[str, Any]) -> RenderableType:
    """A table of a run's phases: who has answered, whom it waits for, bytes and seconds."""
    table = pd.DataFrame(told["phases"], columns=["name", "answered", "waiting", "sent", "received", "seconds"])
    table[["answered", "waiting"]] = table[["answered", "waiting"]].map(", ".join)
    named = table.rename(columns={"name": "phase", "waiting": "waiting for"})
    return as_table(named, f"{told['collaboration']}: {told['state']}", digits=".2f")


def show_status(told: dict[str, Any], *, as_json: bool) -> None:
    """Print what a run says of itself."""
    if as_json:
        print_json({key: value for key, value in told.items() if key != "certificates"})
        return
    output.print(phases(told))
    connected, away = (", ".join(told.get(name, ())) or "–" for name in ("connected", "away"))
    tell(f"Connected: {connected}. Away: {away}.")
    if told.get("models"):
        last = told["models"][-1]
        dropped = ", ".join(f"{count} of {name}" for name, count in last["dropped"].items())
        joined = f", of {last['records']} records that all parties hold (left out: {dropped})" if dropped else ""
        tell(f"Training {last['number']}: {last['model']}{joined}.{_quality(last.get('quality'))}")


def _quality(found: dict[str, Any] | None) -> str:
    """How good a model is, in words."""
    if found is None:
        return ""
    chance = "the most frequent class" if found["measure"] == "accuracy" else "the mean"
    return (
        f" Its {found['measure']} on {found['points']} records that a copy of it has not seen: {found['value']:.3f} "
        f"({found['chance']:.3f} for whoever always says {chance})."
    )
