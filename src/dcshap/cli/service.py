"""`dcshap federation service install`: a site as a systemd service."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Annotated

import typer

from dcshap.cli.console import command_group, say, tell
from dcshap.cli.sites import KitArgument

__all__ = ["service"]

service = command_group("A site as a systemd service.")


@service.callback()
def _service() -> None:
    """A site as a systemd service."""


@service.command()
def install(
    folder: KitArgument,
    user: Annotated[str | None, typer.Option(help="Whom the site runs as; you by default.")] = None,
    health: Annotated[int, typer.Option(help="A port on loopback: /healthz, /readyz, /metrics.")] = 8750,
    write: Annotated[
        Path | None, typer.Option(help="A folder to write the unit to, e.g. /etc/systemd/system; else it is printed.")
    ] = None,
) -> None:
    """Print the systemd unit of a site, or write it.

    Example: `sudo dcshap federation service install KIT --user dcshap --write /etc/systemd/system`
    """
    from dcshap.federation.flare.kits import Kit  # noqa: PLC0415 - an optional extra, as below
    from dcshap.federation.operation.units import unit_name, unit_of  # noqa: PLC0415

    kit = Kit.load(folder)
    text, name = unit_of(kit, user=user or getpass.getuser(), health=health), unit_name(kit)
    if write is None:
        tell(text)
        return
    (write / name).write_text(text, encoding="utf-8")
    say(f"{write / name} is written. Next: systemctl daemon-reload && systemctl enable --now {name}")
