"""`dcshap federation doctor`: whether a site can do its part, and what to do where it cannot."""

from __future__ import annotations

import pandas as pd
import typer

from dcshap.cli.console import JsonOption, print_json, print_table
from dcshap.cli.sites import KitArgument

__all__ = ["doctor"]


def doctor(folder: KitArgument, as_json: JsonOption = False) -> None:
    """Check a site: certificates, clock, disk, permissions, versions, port, connection, tables, ledger.

    Ends with 1 where there is a problem. Example: `dcshap federation doctor KIT`
    """
    from dcshap.federation.flare.kits import Kit  # noqa: PLC0415 - an optional extra, as below
    from dcshap.federation.operation.checks import check_site  # noqa: PLC0415

    found = [vars(each) for each in check_site(Kit.load(folder))]
    if as_json:
        print_json({"findings": found})
    else:
        print_table(pd.DataFrame(found, columns=["check", "level", "said"]))
    raise typer.Exit(int(any(each["level"] == "problem" for each in found)))
