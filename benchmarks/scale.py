"""How messages and bytes grow with parties and rows, and sixteen parties as processes of their own.

Exponents are fitted to counts on a simulated network, with real certificates, envelopes and ledgers: everything that a
training or a request sends, replies included. Sixteen parties then train and answer on loopback, each with the engine's
two processes.
"""

from __future__ import annotations

import base64
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from benchmarks.report import Row
from dcshap import Schema
from dcshap.collaboration.messages import ANALYST
from dcshap.federation.flare.kits import Kit
from dcshap.federation.flare.local import LEAD, LocalFederation, provision
from dcshap.federation.flare.preparation import init_party
from dcshap.federation.requester import Requester
from dcshap.federation.seals.identity import Identity
from dcshap.federation.site.analyst_site import AnalystSite
from dcshap.federation.site.configuration import CollaborationConfig, Right, SiteConfig
from dcshap.federation.site.hosting import RunSettings
from dcshap.federation.site.party_site import PartySite
from dcshap.protocol.simulated import SimulatedNetwork
from dcshap.storage import write_model

NAMES = {"horizontal": "rows", "vertical": "records"}
SERVER, PATIENCE = "localhost", 600.0
COLUMNS = 3  # of each vertical party


def run(quick: bool) -> list[Row]:
    parties = (2, 4, 8) if quick else (2, 4, 8, 16)
    rows = (500, 1000, 2000) if quick else (1000, 4000, 16_000, 64_000)
    with tempfile.TemporaryDirectory(prefix="dcshap-") as folder:
        kits = provision(Path(folder), port=1, parties=_names(max(parties)), requesters=())
        by_parties = {n: _counted(kits, n, 500) for n in parties}
        by_rows = {n: _counted(kits, 4, n) for n in rows}
    found = _exponents("parties", by_parties) + _exponents("rows", by_rows)
    return found + _processes(4 if quick else 16)


def _names(n: int) -> list[str]:
    return [f"party{at:02d}" for at in range(n)]


# --- tables and sites -----------------------------------------------------------------------------------------------


def _tables(kind: str, names: Sequence[str], n_rows: int) -> dict[str, pd.DataFrame]:
    """Numbers of people who do not exist: the same columns of different rows, or different columns of the same."""
    rng = np.random.default_rng(0)
    n_columns = COLUMNS * len(names) if kind == "vertical" else 10
    values = rng.normal(size=(n_rows, n_columns)).round(3)
    index = pd.Index([f"person-{at:06d}" for at in range(n_rows)], name="id")
    table = pd.DataFrame(values, index, [f"c{at:02d}" for at in range(n_columns)])
    label = np.where(values[:, 0] - values[:, 1] + rng.normal(size=n_rows) > 0, "yes", "no")
    if kind == "horizontal":
        whole = table.assign(label=label)
        return {name: whole.iloc[at :: len(names)].reset_index(drop=True) for at, name in enumerate(names)}
    held = {name: table.iloc[:, COLUMNS * at : COLUMNS * (at + 1)].reset_index() for at, name in enumerate(names)}
    return held | {names[0]: held[names[0]].assign(label=label)}


def _set_up(kits: Mapping[str, Kit], kind: Any, names: Sequence[str], n_rows: int) -> None:
    tables, folder = _tables(kind, names, n_rows), kits[names[0]].folder.parent
    joined = [table.drop(columns=["label", "id"], errors="ignore") for table in tables.values()]
    schema = folder / f"schema-{kind}-{len(names)}.yaml"
    together = pd.concat(joined, axis=0 if kind == "horizontal" else 1)
    Schema.from_frames({"all": together}, knots=0).save(schema)
    for name in names:
        path = folder / f"{name}-{kind}.parquet"
        tables[name].to_parquet(path)
        config = CollaborationConfig(
            kind,
            {"parquet": str(path)},
            str(schema),
            tuple(other for other in names if other != name),
            id="id" if kind == "vertical" else None,
            target="label" if "label" in tables[name] else None,
            audit={"accept": True, "reason": "a benchmark on people who do not exist"},
        )
        init_party(kits[name], NAMES[kind], config, rights={LEAD: Right(("full",), 100_000)})


# --- counting -------------------------------------------------------------------------------------------------------


@dataclass
class Counted(SimulatedNetwork):
    """Counts what passes, and keeps none of it."""

    messages: int = 0
    n_bytes: int = 0

    def send(self, to: str, data: bytes, *, patience: float) -> bytes:  # noqa: ARG002 - a network's signature
        """Bring bytes to a participant, and its reply back."""
        reply = self.participants[to](data)
        self.messages, self.n_bytes = self.messages + 2, self.n_bytes + len(data) + len(reply)
        return reply


def _counted(kits: Mapping[str, Kit], n_parties: int, n_rows: int) -> dict[str, tuple[int, int]]:
    """Messages and bytes of a training of each kind, and of a full party view."""
    names, found = _names(n_parties), {}
    for kind in ("horizontal", "vertical"):
        _set_up(kits, kind, names, n_rows)
        network = Counted()
        for name in names:
            config, identity = SiteConfig.load(kits[name].folder), Identity(kits[name].startup)
            site = PartySite(config, identity, collaboration=NAMES[kind], network=network)
            network.participants[name] = site.handle
        model = base64.b64encode(write_model(LogisticRegression(max_iter=1000))).decode()
        settings = RunSettings(NAMES[kind], kind, tuple(names), run=uuid4().hex, model=model, timeout=PATIENCE)
        analyst = AnalystSite(
            settings, kits[SERVER].folder / f"{n_parties}-{n_rows}", Identity(kits[SERVER].startup), network
        )
        network.participants[ANALYST] = analyst.handle
        began = time.perf_counter()
        analyst.train()
        found[f"training, {kind}"] = network.messages, network.n_bytes
        if kind == "vertical":
            found["full party view of one record"] = _asked(kits, analyst, network)
        took = time.perf_counter() - began
        print(f"{n_parties} parties, {n_rows} rows, {kind}: {network.messages} messages, {took:.1f} s", flush=True)
        for name in names:
            _forget(SiteConfig.load(kits[name].folder).state_folder(NAMES[kind]))
    return found


def _asked(kits: Mapping[str, Kit], analyst: AnalystSite, network: Counted) -> tuple[int, int]:
    network.messages = network.n_bytes = 0
    who = Identity(kits[LEAD].startup)
    asking = Requester(who, NAMES["vertical"], analyst.run, analyst.certificates, analyst.answer, timeout=PATIENCE)
    asking.explain(["person-000007"], view="full")
    return network.messages, network.n_bytes


def _forget(folder: Path) -> None:
    """Have the next training find its maps anew, with other partners."""
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def _exponents(against: str, counts: Mapping[int, Mapping[str, tuple[int, int]]]) -> list[Row]:
    sizes, found = list(counts), []
    for what in next(iter(counts.values())):
        messages, n_bytes = (np.array([counts[size][what][at] for size in sizes], dtype=float) for at in (0, 1))
        found.append(
            {
                "what": what,
                "against": against,
                "from": sizes[0],
                "to": sizes[-1],
                "messages at the end": int(messages[-1]),
                "bytes at the end": int(n_bytes[-1]),
                "exponent of messages": float(np.polyfit(np.log(sizes), np.log(messages), 1)[0]),
                "exponent of bytes": float(np.polyfit(np.log(sizes), np.log(n_bytes), 1)[0]),
            }
        )
    return found


# --- processes ------------------------------------------------------------------------------------------------------


def _processes(n_parties: int) -> list[Row]:
    """Train and answer with so many parties, each with processes of its own."""
    names = _names(n_parties)
    with tempfile.TemporaryDirectory(prefix="dcshap-") as folder:
        built = LocalFederation(Path(folder), names)
        for kind in NAMES:
            _set_up(built.kits, kind, names, 500)
        began = time.perf_counter()
        try:
            rows = _trained_and_asked(built, n_parties, began)
        finally:
            built.stop()
    return [row | {"against": f"{n_parties} parties as processes"} for row in rows]


def _trained_and_asked(built: LocalFederation, n_parties: int, began: float) -> list[Row]:
    names = _names(n_parties)
    with built.start(timeout=PATIENCE).requester(timeout=PATIENCE) as lead:
        lead.wait_for(names, timeout=PATIENCE)
        rows = [_took(f"{n_parties} parties started and connected", began)]
        for kind, collaboration in NAMES.items():
            began = time.perf_counter()
            model = LogisticRegression(max_iter=1000)
            told = lead.train(collaboration, model, kind=kind, parties=names, timeout=PATIENCE)
            steps = sum(phase["seconds"] for phase in told["phases"])
            rows.append(_took(f"training, {kind}", began) | {"of it steps, s": steps})
            rows[-1]["memory of all processes, MB"] = _memory(built)
        for number in range(3):
            began = time.perf_counter()
            lead.explain(NAMES["vertical"], [f"person-{number:06d}"], view="full")
            rows.append(_took(f"full party view {number + 1}", began))
    return rows


def _took(what: str, began: float) -> Row:
    seconds = time.perf_counter() - began
    print(f"{what}: {seconds:.1f} s", flush=True)
    return {"what": what, "seconds": seconds}


def _memory(built: LocalFederation) -> float:
    sites = (built.server, *built.sites.values())
    return sum(process.memory_info().rss for site in sites for process in site.processes()) / 1e6
