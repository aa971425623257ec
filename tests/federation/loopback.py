"""Federations of real processes for tests: tables, seeds and rights in place, ready to start."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import psutil

from dcshap.federation.flare.local import LEAD, LocalFederation
from dcshap.federation.flare.nursery import RUN
from dcshap.federation.flare.preparation import init_party
from dcshap.federation.flare.processes import SiteProcess
from dcshap.federation.site.configuration import CollaborationConfig, Right, SiteConfig

from .conftest import OFFICER, horizontal_tables, people, schema_of, vertical_tables
from .twin import secrets_for

SABOTAGE = Path(__file__).parent / "sabotage"
ROWS, RECORDS = "rows", "records"  # the horizontal and the vertical collaboration
CLERK = "clerk@bank.example"


def federation(
    folder: Path,
    parties: Sequence[str],
    agreements: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    idle: Sequence[str] = (),
) -> LocalFederation:
    """A federation whose parties take part in a horizontal and a vertical collaboration, not yet started.

    Idle parties have a kit, and take part in nothing.
    """
    built = LocalFederation(folder / "federation", [*parties, *idle], requesters=[OFFICER, CLERK])
    table = people()
    schema_of(table).save(folder / "schema.yaml")
    for name in parties:
        prepare(built, folder, name, table, list(parties), agreements or {})
    return built


def prepare(
    built: LocalFederation,
    folder: Path,
    name: str,
    table: pd.DataFrame,
    parties: list[str],
    agreements: Mapping[str, Mapping[str, Any]],
) -> None:
    rights = {
        OFFICER: Right(("bank", "full"), 100_000, what_if=True),
        CLERK: Right(("bank",), 2),
        LEAD: Right(("full",), 100),
    }
    rows, records = horizontal_tables(parties, table)[name], vertical_tables(parties, table)[name]
    rows.to_csv(folder / f"{name}-rows.csv", index=False)
    records.to_csv(folder / f"{name}-records.csv")
    partners = tuple(other for other in parties if other != name)
    common: dict[str, Any] = {"schema": str(folder / "schema.yaml"), "partners": partners}
    common |= {"instance_models": True, "algorithm_3": True}
    common["audit"] = {"accept": True, "reason": "people who do not exist"}
    horizontal = CollaborationConfig("horizontal", {"csv": str(folder / f"{name}-rows.csv")}, target="repaid", **common)
    holder = "repaid" if "repaid" in records else None
    vertical = CollaborationConfig(
        "vertical", {"csv": str(folder / f"{name}-records.csv")}, id="id", target=holder, **common
    )
    for collaboration, settings in ((ROWS, horizontal), (RECORDS, vertical)):
        agreed = replace(settings, agreement=agreements.get(collaboration, {}))
        init_party(built.kits[name], collaboration, agreed, rights=rights)
        secrets_for(name).save(SiteConfig.load(built.kits[name].folder).state_folder(collaboration))


def sabotage(built: LocalFederation, name: str, orders: Path, how: str = "") -> None:
    """Have a site, from its next start on, misbehave as a file of orders says; see `sabotage/sitecustomize.py`."""
    orders.write_text(how, encoding="utf-8")
    path = os.pathsep.join(filter(None, [str(SABOTAGE), os.environ.get("PYTHONPATH")]))
    built.environment(name, {"DCSHAP_SABOTAGE": str(orders), "PYTHONPATH": path})


def runs_of(site: SiteProcess) -> list[psutil.Process]:
    """The processes of a party's runs; one that has ended may be among them for some seconds."""
    found = []
    for process in site.processes():
        with suppress(psutil.NoSuchProcess):  # it has ended since
            if process.name() == RUN:
                found.append(process)
    return found
