"""Four real parties: as in one process, horizontally with a shared span, and vertically."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from dcshap import HorizontalCollaboration, VerticalCollaboration
from dcshap.collaboration import HorizontalParty
from dcshap.explanation.horizontal import explain_rows
from dcshap.federation.demo import run_demo

from .conftest import OFFICER, horizontal_tables, people, schema_of, vertical_tables
from .loopback import RECORDS, ROWS, federation
from .twin import SEED

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]

PARTIES = ["bank", "post", "rail", "shop"]


def test_four_parties_get_what_one_process_gives(tmp_path):
    built, some = federation(tmp_path, PARTIES, agreement={"n_components": 1}), people().index[[3, 50]].tolist()
    model = LogisticRegression(max_iter=1000)
    with built:
        with built.requester(timeout=60) as lead:
            lead.train(ROWS, model, kind="horizontal", parties=PARTIES, timeout=180)
            lead.train(RECORDS, KNeighborsClassifier(5), kind="vertical", parties=PARTIES, timeout=180)
        with built.requester(OFFICER, timeout=60) as officer:
            views = {
                (view, index): officer.explain(RECORDS, some, view=view, index=index)
                for view in ("bank", "full")
                for index in ("shapley", "owen")
            }
    schema, X = schema_of(people()), people(40, seed=9).drop(columns="repaid")
    data = {name: (table.drop(columns="repaid"), table["repaid"]) for name, table in horizontal_tables(PARTIES).items()}
    rows = HorizontalCollaboration(model, n_components=1, schema=schema, random_state=SEED).fit(data)
    for name in PARTIES:
        party = HorizontalParty.load(built.kits[name].folder / "dcshap" / ROWS / "party")
        assert np.allclose(party.predict_proba(X), rows.predict_proba(X, party=name), rtol=0, atol=1e-9)
        wanted = rows.explain(X.head(3), party=name)
        assert np.allclose(explain_rows(party, X.head(3)).values, wanted.values, rtol=0, atol=1e-9)
    tables = vertical_tables(PARTIES)
    labels = tables["bank"].pop("repaid")
    records = VerticalCollaboration(KNeighborsClassifier(5), n_components=1, schema=schema, random_state=SEED)
    records.fit(tables, labels, label_party="bank")
    held = {name: table.loc[some] for name, table in tables.items()}
    for (view, index), found in views.items():
        wanted = records.explain(held, view=view, index=index)  # type: ignore[arg-type]  # one of the two
        assert found.feature_names == wanted.feature_names
        assert np.allclose(found.values, wanted.values, rtol=0, atol=1e-9)


def test_the_demonstration_runs_and_its_parties_agree(tmp_path):
    told: list[str] = []
    found = run_demo(told.append, folder=tmp_path)
    assert len(told) >= 5
    assert set(found.horizontal) == {"bank", "insurer", "shop"}
    assert found.vertical["full, Algorithm 3"].values.shape[1] == 12
    kinds = set(zip(found.travelled["to"], found.travelled["what"], strict=True))
    assert ("analyst", "Representation") in kinds
    assert not [what for to, what in kinds if to == "analyst" and what in ("AnchorSeed", "PseudonymKey")]
