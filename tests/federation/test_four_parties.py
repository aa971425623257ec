"""Four real parties: what they get is what one process gives, and nothing secret reaches the analyst's server.

Horizontally with a shared span, and vertically. The server writes down every byte that reaches it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap import HorizontalCollaboration, VerticalCollaboration
from dcshap.explanation.rows import explain_rows
from dcshap.federation.site.configuration import SiteConfig
from dcshap.federation.site.party_site import load_trained
from dcshap.federation.site.secrets import Secrets

from .conftest import OFFICER, horizontal_tables, people, schema_of, vertical_tables
from .loopback import RECORDS, ROWS, federation, sabotage
from .twin import SEED

# The engine's own code uses what its libraries have deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

PARTIES = ["bank", "post", "rail", "shop"]
SOME = people().index[[3, 50]].tolist()
ANSWER = 180.0


@pytest.fixture(scope="module")
def collaborated(tmp_path_factory):
    """A federation that has trained and explained, each view, and the folder with what the server saw."""
    folder = tmp_path_factory.mktemp("four")
    built = federation(folder, PARTIES, {ROWS: {"n_components": 3, "span": "shared"}, RECORDS: {"n_components": 1}})
    sabotage(built, "localhost", folder / "frames", "record")

    def train(collaboration, kind, model):
        with built.requester(timeout=60) as lead:
            lead.train(collaboration, model, kind=kind, parties=PARTIES, timeout=ANSWER)

    with built:
        with ThreadPoolExecutor() as threads:
            runs = [
                threads.submit(train, ROWS, "horizontal", LogisticRegression(max_iter=1000)),
                threads.submit(train, RECORDS, "vertical", LogisticRegression(max_iter=1000)),
            ]
            for run in runs:
                run.result()
        with built.requester(OFFICER, timeout=60) as officer:
            views = {
                (view, index): officer.explain(RECORDS, SOME, view=view, index=index)
                for view in ("bank", "full")
                for index in ("shapley", "owen")
            }
    return built, views, folder


def test_rows_are_predicted_and_explained_as_in_one_process(collaborated):
    built, _, _ = collaborated
    model, X = LogisticRegression(max_iter=1000), people(40, seed=9).drop(columns="repaid")
    data = {name: (table.drop(columns="repaid"), table["repaid"]) for name, table in horizontal_tables(PARTIES).items()}
    options: dict[str, Any] = {"n_components": 3, "span": "shared", "schema": schema_of(people()), "random_state": SEED}
    rows = HorizontalCollaboration(model, **options).fit(data)
    for name in PARTIES:
        party = load_trained(SiteConfig.load(built.kits[name].folder), ROWS)
        assert np.allclose(party.predict_proba(X), rows.predict_proba(X, party=name), rtol=0, atol=1e-9)
        wanted = rows.explain(X.head(3), party=name)
        assert np.allclose(explain_rows(party, X.head(3)).values, wanted.values, rtol=0, atol=1e-9)


def test_records_are_explained_as_in_one_process(collaborated):
    _, views, _ = collaborated
    tables = vertical_tables(PARTIES)
    labels = tables["bank"].pop("repaid")
    options: dict[str, Any] = {"n_components": 1, "schema": schema_of(people()), "random_state": SEED}
    model = LogisticRegression(max_iter=1000)
    records = VerticalCollaboration(model, **options).fit(tables, labels, label_party="bank")
    held = {name: table.loc[SOME] for name, table in tables.items()}
    for (view, index), found in views.items():
        wanted = records.explain(held, view=view, index=index)
        assert found.feature_names == wanted.feature_names
        assert np.allclose(found.values, wanted.values, rtol=0, atol=1e-9)


def test_nothing_secret_reaches_the_server(collaborated):
    built, _, folder = collaborated
    seen = b"".join(path.read_bytes() for path in folder.glob("frames.*"))
    assert b'"step": "representation"' in seen  # what may be seen is there: frames were recorded unencrypted
    assert sent_rows(built) not in seen  # sealed to the analyst's certificate, so that nobody on the way reads it
    needles: dict[bytes, tuple[str, str]] = {}
    for name in PARTIES:
        held = forbidden(SiteConfig.load(built.kits[name].folder))
        needles |= {needle: (name, what) for what, needle in held.items()}
    found = [about for needle, about in needles.items() if needle in seen]
    assert found == []


def sent_rows(built: Any) -> bytes:
    party = load_trained(SiteConfig.load(built.kits["shop"].folder), ROWS)
    anchor: bytes = party.reduction.transform(party.anchor.rows)[0].tobytes()
    return anchor


def forbidden(config: SiteConfig) -> dict[str, bytes]:
    """What must not be readable: numbers as they lie in arrays and as text, identifiers, seeds, keys."""
    found: dict[str, bytes] = {}
    for collaboration in (ROWS, RECORDS):
        party, secrets = load_trained(config, collaboration), Secrets.load(config.state_folder(collaboration))
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
