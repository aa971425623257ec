"""The federation on loopback: what a training takes beyond that in one process, and how fast requests are answered.

Adult, two parties, each a process of its own with real certificates. The engine's own share is told apart: of a
training, what is spent outside the steps of the protocol, which is mostly the start of three processes; of a request,
what is neither the party's work nor that of whoever asks.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from dcshap import HorizontalCollaboration, Schema, VerticalCollaboration, datasets
from dcshap.federation.flare.local import LEAD, LocalFederation
from dcshap.federation.flare.preparation import init_party
from dcshap.federation.flare.session import Session
from dcshap.federation.site.configuration import CollaborationConfig, Right

PARTIES = ("bank", "shop")
ROWS, RECORDS = "rows", "records"
TIMEOUT = 300.0


def run(quick: bool) -> list[dict[str, Any]]:
    adult = datasets.load_adult("train")
    table = adult.data.assign(income=adult.target).head(2000 if quick else len(adult.data))
    table.index = pd.Index([f"customer-{at:05d}" for at in range(len(table))], name="customer")
    rows = {name: table.iloc[at::2].reset_index(drop=True) for at, name in enumerate(PARTIES)}
    records = {"bank": table.iloc[:, [*range(6), -1]], "shop": table.iloc[:, 6:12]}
    with tempfile.TemporaryDirectory(prefix="dcshap-") as folder:
        built = set_up(Path(folder), rows, records)
        with built, built.requester(timeout=TIMEOUT) as lead:
            lead.wait_for(PARTIES, timeout=TIMEOUT)
            schema = Schema.load(Path(folder) / "schema.yaml")
            return [
                _training(lead, "horizontal", LogisticRegression(max_iter=1000), rows, schema),
                _training(lead, "vertical", KNeighborsClassifier(7), records, schema),
                _requests(lead, table.index[: 20 if quick else 100].tolist()),
            ]


def set_up(folder: Path, rows: dict[str, pd.DataFrame], records: dict[str, pd.DataFrame]) -> LocalFederation:
    built, schema = LocalFederation(folder / "federation", PARTIES), folder / "schema.yaml"
    Schema.from_frames([part.drop(columns="income") for part in rows.values()]).save(schema)
    for name, other in zip(PARTIES, reversed(PARTIES), strict=True):
        rows[name].to_parquet(folder / f"{name}-rows.parquet")
        records[name].reset_index().to_parquet(folder / f"{name}-records.parquet")
        common: dict[str, Any] = {"schema": str(schema), "partners": (other,), "instance_models": True}
        common["audit"] = {"accept": True, "reason": "a benchmark on published data"}
        table = {"parquet": str(folder / f"{name}-rows.parquet")}
        init_party(built.kits[name], ROWS, CollaborationConfig("horizontal", table, target="income", **common))
        table = {"parquet": str(folder / f"{name}-records.parquet")}
        target = "income" if "income" in records[name] else None
        settings = CollaborationConfig("vertical", table, id="customer", target=target, **common)
        init_party(built.kits[name], RECORDS, settings, rights={LEAD: Right(("bank", "full"), 100_000)})
    return built


def _training(
    lead: Session, kind: str, model: BaseEstimator, tables: dict[str, pd.DataFrame], schema: Schema
) -> dict[str, Any]:
    features = {name: table[[each for each in table.columns if each != "income"]] for name, table in tables.items()}
    began = time.perf_counter()
    if kind == "horizontal":
        data = {name: (features[name], tables[name]["income"]) for name in PARTIES}
        HorizontalCollaboration(model, schema=schema).fit(data)
    else:
        VerticalCollaboration(model, schema=schema).fit(features, tables["bank"]["income"])
    alone = time.perf_counter() - began
    began = time.perf_counter()
    name = ROWS if kind == "horizontal" else RECORDS
    told = lead.train(name, model, kind=kind, parties=PARTIES, timeout=TIMEOUT)
    together = time.perf_counter() - began
    steps = sum(phase["seconds"] for phase in told["phases"])
    return {
        "what": f"training, {kind}",
        "in one process, s": alone,
        "federated, s": together,
        "overhead, s": together - alone,
        "of it the engine's, s": together - steps,
    }


def _requests(lead: Session, records: list[str]) -> dict[str, Any]:
    lead.explain(RECORDS, records[:1], view="bank", index="owen")
    whole, party = [], []
    for record in records:
        began = time.perf_counter()
        lead.explain(RECORDS, [record], view="bank", index="owen")
        whole.append(time.perf_counter() - began)
        party.append(lead.timings["parties"]["bank"])
    return {
        "what": "explanations, party views, 7-NN, 6 + 6 features",
        "a second": len(whole) / sum(whole),
        "each, s": float(np.mean(whole)),
        "the parties' work, s": float(np.mean(party)),
        "the engine's and the requester's, s": float(np.mean(whole) - np.mean(party)),
    }
