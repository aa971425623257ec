"""`dcshap federation backup` and `restore`: a site in one encrypted file, and back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from dcshap.cli.console import say
from dcshap.cli.sites import KitArgument

__all__ = ["backup", "restore"]

_VARIABLE = "DCSHAP_PASSPHRASE"


def backup(
    folder: KitArgument,
    out: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")],
) -> None:
    """Write a site's kit, configuration, seeds, trainings and ledger to one encrypted file.

    The passphrase is asked for, or taken from DCSHAP_PASSPHRASE. Example: `dcshap federation backup KIT bank.backup`
    """
    from dcshap.federation.flare.kits import Kit  # noqa: PLC0415 - an optional extra, as below
    from dcshap.federation.operation.backups import back_up  # noqa: PLC0415

    back_up(Kit.load(folder), out, passphrase=_passphrase(confirm=True))
    say(f"{out} is written. Without the passphrase nobody can read it, nor can you.")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")],
    folder: Annotated[Path, typer.Argument(metavar="KIT", help="A new folder.")],
) -> None:
    """Make a site's kit from a backup. End the site that the backup is of first: two of one name evict each other.

    Example: `dcshap federation restore bank.backup KIT`
    """
    from dcshap.federation.operation.backups import restore as restore_kit  # noqa: PLC0415

    made = restore_kit(file, folder.absolute(), passphrase=_passphrase(confirm=False))
    say(f"{made.folder} is {made.name} as of the backup. What it has answered since is not in its ledger.")


def _passphrase(*, confirm: bool) -> str:
    given = os.environ.get(_VARIABLE)
    if given:
        return given
    return str(typer.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm))
