"""`dcshap federation watch`: a live screen of what runs, who is connected, and what went wrong last."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
import typer
from rich.console import Group
from rich.live import Live

from dcshap.cli.console import as_table, output
from dcshap.cli.sites import KitOption, TimeoutOption
from dcshap.exceptions import FederationError

if TYPE_CHECKING:
    from dcshap.federation.flare.session import Session

__all__ = ["look", "watch"]


def watch(
    kit_folder: KitOption,
    every: Annotated[float, typer.Option(min=0.5, help="Seconds between looks.")] = 2.0,
    looks: Annotated[int, typer.Option(min=0, help="How often to look; 0 until interrupted.")] = 0,
    timeout: TimeoutOption = 30.0,
) -> None:
    """Show who is connected, what runs, how many bytes travel and what went wrong last, until interrupted.

    Example: `dcshap federation watch --kit KIT`
    """
    from dcshap.federation.flare.session import Session  # noqa: PLC0415 - an optional extra

    errors: list[tuple[str, str]] = []
    done = 0
    with Session(kit_folder, timeout=timeout) as session, Live(console=output, screen=not looks) as live:
        while True:
            live.update(_screen(look(session, errors), errors))
            done += 1
            if done == looks:
                return
            time.sleep(every)


def look(session: Session, errors: list[tuple[str, str]]) -> pd.DataFrame:
    """One line per collaboration; what goes wrong is added to the errors, of which the last five are kept."""
    rows = []
    for name in session.collaborations():
        try:
            told = session.status(name)
        except FederationError as error:
            told = {"state": "waiting", "error": {"text": str(error)}}
        if told.get("error"):
            errors.append((time.strftime("%H:%M:%S"), str(told["error"]["text"])))
        rows.append(_row(name, told))
    del errors[:-5]
    columns = ["collaboration", "state", "connected", "away", "step", "sent", "received", "answered", "waiting"]
    return pd.DataFrame(rows, columns=columns)


def _row(name: str, told: dict[str, Any]) -> tuple[Any, ...]:
    phases = told.get("phases") or [{"name": "", "sent": 0, "received": 0}]
    return (
        name,
        told["state"],
        ", ".join(told.get("connected", ())),
        ", ".join(told.get("away", ())),
        phases[-1]["name"],
        sum(phase["sent"] for phase in phases),
        sum(phase["received"] for phase in phases),
        told.get("answered_requests", 0),
        told.get("waiting_requests", 0),
    )


def _screen(table: pd.DataFrame, errors: list[tuple[str, str]]) -> Group:
    said = pd.DataFrame(errors, columns=["when", "what went wrong"])
    return Group(as_table(table, time.strftime("dcshap federation, %H:%M:%S")), as_table(said))
