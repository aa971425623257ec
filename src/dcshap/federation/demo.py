"""The whole federation once, on this machine: three parties, an analyst and a requester as separate processes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from dcshap import Schema, datasets
from dcshap.collaboration.messages import ANALYST
from dcshap.explanation.rows import explain_rows
from dcshap.explanation.statement import PartyExplanation
from dcshap.federation.flare.local import LocalFederation
from dcshap.federation.flare.preparation import init_party
from dcshap.federation.seals.ledger import Ledger
from dcshap.federation.site.configuration import CollaborationConfig, Right, SiteConfig
from dcshap.federation.site.party_site import load_trained

__all__ = ["Outcome", "run_demo"]

PARTIES = ("bank", "insurer", "shop")
OFFICER = "officer@bank.example"
ROWS, RECORDS = "same-columns", "same-records"
N_ROWS = 3000
_COLUMNS = {"bank": slice(0, 4), "insurer": slice(4, 8), "shop": slice(8, 12)}


@dataclass(frozen=True)
class Outcome:
    """What the demonstration showed."""

    horizontal: Mapping[str, PartyExplanation]  # by party, each alone after training, of the same row
    vertical: Mapping[str, PartyExplanation]  # by view, of the same record
    travelled: pd.DataFrame  # who sent what to whom, how often, how many bytes; from the ledgers of all sites
    seconds: Mapping[str, float]  # by step


def run_demo(tell: Callable[[str], None], *, folder: Path | None = None) -> Outcome:
    """Set up, train, explain, and shut down; `tell` is told what happens next.

    The sites' folders are made in a folder, by default a temporary one that is gone in the end.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="dcshap-") as temporary:
            return run_demo(tell, folder=Path(temporary))
    clock = _Clock()
    tell("Certificates and folders for an analyst, three parties and an officer of the bank")
    built = _set_up(folder)
    clock.note("set up")
    tell("Starting the analyst's server and the three parties, each a process of its own")
    with built:
        with built.requester(timeout=60) as lead:
            lead.wait_for(PARTIES, timeout=90)
        clock.note("start")
        tell("Training: the same columns of different people, and different columns of the same people")
        _train(built)
        clock.note("train both")
        tell("Explaining: the officer asks for a record of the bank's, through three views")
        vertical = _ask(built, clock)
        tell("Shutting down")
    clock.note("shut down")
    tell("Each party explains a row with nobody running any more")
    horizontal = _alone(built)
    clock.note("explain alone")
    return Outcome(horizontal, vertical, travelled(built), clock.seconds)


class _Clock:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def note(self, step: str) -> None:
        now = time.perf_counter()
        self.seconds[step], self._last = now - self._last, now


def _people() -> pd.DataFrame:
    adult = datasets.load_adult("train")
    table: pd.DataFrame = adult.data.head(N_ROWS).assign(income=adult.target.head(N_ROWS))
    table.index = pd.Index([f"customer-{at:05d}" for at in range(N_ROWS)], name="customer")
    return table


def _set_up(folder: Path) -> LocalFederation:
    built, people = LocalFederation(folder / "federation", PARTIES, requesters=[OFFICER]), _people()
    schema = folder / "schema.yaml"
    Schema.from_frames({"all": people.drop(columns="income")}).save(schema)
    rights = {OFFICER: Right(("bank", "full"), 100)}
    for at, name in enumerate(PARTIES):
        rows, records = folder / f"{name}-rows.parquet", folder / f"{name}-records.parquet"
        people.iloc[at::3].reset_index(drop=True).to_parquet(rows)
        own = people.iloc[:, _COLUMNS[name]]
        (own.assign(income=people["income"]) if name == "bank" else own).reset_index().to_parquet(records)
        partners = tuple(other for other in PARTIES if other != name)
        common: dict[str, Any] = {"schema": str(schema), "partners": partners, "instance_models": True}
        common["audit"] = {"accept": True, "reason": "a demonstration on published data"}
        horizontal = CollaborationConfig("horizontal", {"parquet": str(rows)}, target="income", **common)
        target = "income" if name == "bank" else None
        vertical = CollaborationConfig("vertical", {"parquet": str(records)}, id="customer", target=target, **common)
        init_party(built.kits[name], ROWS, horizontal)
        init_party(built.kits[name], RECORDS, vertical, rights=rights)
    return built


def _train(built: LocalFederation) -> None:
    def train(collaboration: str, kind: str, model: Any) -> None:
        with built.requester(timeout=60) as lead:
            lead.train(collaboration, model, kind=kind, parties=PARTIES, timeout=120)

    with ThreadPoolExecutor() as threads:
        runs = [
            threads.submit(train, ROWS, "horizontal", LogisticRegression(max_iter=1000)),
            threads.submit(train, RECORDS, "vertical", KNeighborsClassifier(7)),
        ]
        for run in runs:
            run.result()


def _ask(built: LocalFederation, clock: _Clock) -> dict[str, PartyExplanation]:
    record = "customer-00007"
    with built.requester(OFFICER, timeout=60) as officer:
        found = {"bank, Owen": officer.explain(RECORDS, [record], view="bank")}
        clock.note("first explanation")
        found["bank, Algorithm 4"] = officer.explain(RECORDS, [record], view="bank", index="shapley")
        clock.note("another explanation")
        found["full"] = officer.explain(RECORDS, [record])
    clock.note("all features")
    return found


def _alone(built: LocalFederation) -> dict[str, PartyExplanation]:
    row = _people().drop(columns="income").tail(1).reset_index(drop=True)
    return {name: explain_rows(load_trained(SiteConfig.load(built.kits[name].folder), ROWS), row) for name in PARTIES}


def travelled(built: LocalFederation) -> pd.DataFrame:
    """Who sent what to whom, from the ledgers of all sites, each of which is verified."""
    lines = []
    for name, kit in built.kits.items():
        ledger = Ledger(kit.folder / "dcshap" / "ledger.jsonl")
        ledger.verify()
        sender = ANALYST if kit.role == "server" else name
        lines += [
            {"from": sender, "to": entry.recipient, "what": entry.kind, "bytes": entry.n_bytes} for entry in ledger
        ]
    table = pd.DataFrame(lines, columns=["from", "to", "what", "bytes"])
    grouped = table.groupby(["to", "from", "what"], sort=True)["bytes"].agg(messages="count", bytes="sum")
    return grouped.reset_index()
