"""What reaches the analyst's server, byte by byte, and how large it may be."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from dcshap import HorizontalCollaboration, Schema, datasets
from dcshap.collaboration import HorizontalParty, VerticalParty
from dcshap.federation.local import LocalFederation
from dcshap.federation.setup import init_party
from dcshap.federation.site import CollaborationConfig, Secrets, SiteConfig
from dcshap.schema import Number

from .conftest import OFFICER, people
from .loopback import RECORDS, ROWS, federation

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]

SABOTAGE = Path(__file__).parent / "sabotage"
PARTIES = ["bank", "shop"]
ANSWER = 120.0


def test_nothing_secret_reaches_the_server(tmp_path):
    built = federation(tmp_path, PARTIES, agreement={"span": "shared"})
    for name in PARTIES:  # a vertical collaboration has no span
        config = SiteConfig.load(built.kits[name].folder)
        object.__setattr__(config.collaborations[RECORDS], "agreement", {})
        config.save()
    built.environment(
        "localhost",
        {"DCSHAP_SABOTAGE": "record", "DCSHAP_FRAMES": str(tmp_path / "frames"), "PYTHONPATH": str(SABOTAGE)},
    )
    with built:
        with built.requester(timeout=60) as lead:
            model = LogisticRegression(max_iter=1000)
            lead.train(ROWS, model, kind="horizontal", parties=PARTIES, timeout=ANSWER)
            lead.train(RECORDS, KNeighborsClassifier(5), kind="vertical", parties=PARTIES, timeout=ANSWER)
        with built.requester(OFFICER, timeout=60) as officer:
            for view in ("bank", "full"):
                for index in ("shapley", "owen"):
                    officer.explain(RECORDS, people().index[:3].tolist(), view=view, index=index)
    seen = b"".join(path.read_bytes() for path in tmp_path.glob("frames.*"))
    assert sent_rows(built) in seen  # what may be seen is there: the server's frames were recorded unencrypted
    for name in PARTIES:
        for what, needle in forbidden(SiteConfig.load(built.kits[name].folder)).items():
            assert needle not in seen, (name, what)


def sent_rows(built: LocalFederation) -> bytes:
    folder = SiteConfig.load(built.kits["shop"].folder).state_folder(ROWS)
    party = HorizontalParty.load(folder / "party")
    anchor: bytes = party.reduction.transform(party.anchor.rows)[0].tobytes()
    return anchor


def forbidden(config: SiteConfig) -> dict[str, bytes]:
    """What must not be readable: numbers as they lie in arrays and as text, identifiers, seeds, keys."""
    found: dict[str, bytes] = {}
    for collaboration, kind in ((ROWS, HorizontalParty), (RECORDS, VerticalParty)):
        folder = config.state_folder(collaboration)
        party, secrets = kind.load(folder / "party"), Secrets.load(folder)
        table = pd.read_csv(config.collaborations[collaboration].table["csv"])
        assert party.linear_reduction is not None
        codes = party.agreement.schema.codes(table[list(party.agreement.schema.names)])
        found |= {
            f"{collaboration} private seed": str(secrets.private_seed).encode(),
            f"{collaboration} private seed in hex": hex(secrets.private_seed)[2:].encode(),
            f"{collaboration} shared seed": str(secrets.anchor_seed).encode(),
            f"{collaboration} shared seed in hex": hex(secrets.anchor_seed or 0)[2:].encode(),
            f"{collaboration} private seed as bytes": secrets.private_seed.to_bytes(16, "big"),
            f"{collaboration} pseudonyms' key": secrets.pseudonym_key or b"?",
        }
        for at in range(5):
            found |= {
                f"{collaboration} anchor row {at}": party.anchor.rows[at].tobytes(),
                f"{collaboration} anchor codes {at}": party.anchor.codes[at].tobytes(),
                f"{collaboration} raw row {at}": codes[at].tobytes(),
                f"{collaboration} encoded row {at}": party.anchor.encode(codes[at : at + 1])[0].tobytes(),
            }
        found |= {
            f"{collaboration} reduction {at}": row.tobytes() for at, row in enumerate(party.linear_reduction.weights)
        }
        for column in {"income", "basket", "debt"} & set(table.columns):
            for at, value in enumerate(table[column]):
                if len(repr(value)) > 5:
                    found |= {f"{column} {at} as text": repr(value).encode()}
            found[column] = table[column].to_numpy()[:3].tobytes()
    return found | {f"record {at}": record.encode() for at, record in enumerate(people().index)}


def partners(name: str) -> tuple[str, ...]:
    return tuple(other for other in PARTIES if other != name)


def _numbers(n: int, columns: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, columns)), columns=[f"x{at:02d}" for at in range(columns)])
    return table.assign(y=(table["x00"] + table["x01"] > 0).astype(int))


def test_a_representation_of_200_mb_arrives(tmp_path):
    built, columns = LocalFederation(tmp_path / "federation", PARTIES), 16
    Schema(tuple(Number(f"x{at:02d}", low=-6.0, high=6.0) for at in range(columns))).save(tmp_path / "schema.yaml")
    for name, n in (("bank", 2_200_000), ("shop", 1_000)):
        _numbers(n, columns, seed=n).to_parquet(tmp_path / f"{name}.parquet")
        settings = CollaborationConfig(
            "horizontal",
            {"parquet": str(tmp_path / f"{name}.parquet")},
            str(tmp_path / "schema.yaml"),
            partners(name),
            target="y",
            agreement={"n_components": 12},
        )
        init_party(built.kits[name], ROWS, settings)
    with built, built.requester(timeout=120) as lead:
        told = lead.train(ROWS, LogisticRegression(), kind="horizontal", parties=PARTIES, timeout=300)
    phase = next(phase for phase in told["phases"] if phase["name"] == "represent")
    assert phase["received"] > 200_000_000
    assert told["state"] == "done"


def test_training_on_adult_takes_little_longer_than_in_one_process(tmp_path, record_property):
    """Most of the difference is the engine starting a process at every site; the steps themselves are told apart."""
    adult = datasets.load_adult("train")
    table = adult.data.assign(income=adult.target)
    schema = Schema.from_frames({"all": adult.data})
    schema.save(tmp_path / "schema.yaml")
    built = LocalFederation(tmp_path / "federation", PARTIES)
    parts = {name: table.iloc[at::2].reset_index(drop=True) for at, name in enumerate(PARTIES)}
    for name, part in parts.items():
        part.to_parquet(tmp_path / f"{name}.parquet")
        settings = CollaborationConfig(
            "horizontal",
            {"parquet": str(tmp_path / f"{name}.parquet")},
            str(tmp_path / "schema.yaml"),
            partners(name),
            target="income",
        )
        init_party(built.kits[name], ROWS, settings)
    model = LogisticRegression(max_iter=1000)
    began = time.perf_counter()
    data = {name: (part.drop(columns="income"), part["income"]) for name, part in parts.items()}
    HorizontalCollaboration(model, schema=schema).fit(data)
    alone = time.perf_counter() - began
    with built, built.requester(timeout=60) as lead:
        lead.wait_for(PARTIES, timeout=ANSWER)
        began = time.perf_counter()
        told = lead.train(ROWS, model, kind="horizontal", parties=PARTIES, timeout=ANSWER)
        together = time.perf_counter() - began
    steps = sum(phase["seconds"] for phase in told["phases"])
    figures = f"in one process {alone:.1f} s, federated {together:.1f} s, of which in steps {steps:.1f} s"
    record_property("seconds", figures)
    assert together - alone < 60, figures  # 15 s on a machine that does nothing else
    assert steps < 15, figures
