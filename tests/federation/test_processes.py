"""Analyst, parties and requesters as real processes on loopback, with real certificates."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest
import typer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from typer.testing import CliRunner

from dcshap import HorizontalCollaboration, Schema, VerticalCollaboration
from dcshap.cli.console import ReadableErrors
from dcshap.cli.federation import federation as commands
from dcshap.collaboration import HorizontalParty
from dcshap.exceptions import FederationError, InputError, PrivacyError
from dcshap.explanation.rows import explain_rows
from dcshap.federation.flare.preparation import init_party
from dcshap.federation.seals.ledger import Ledger
from dcshap.federation.site.configuration import CollaborationConfig
from dcshap.schema import Number

from .conftest import OFFICER, horizontal_tables, people, schema_of, vertical_tables
from .loopback import CLERK, RECORDS, ROWS, federation
from .twin import SEED

# The engine's own code uses what its libraries have deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

PARTIES = ["bank", "shop"]
SOME = people().index[[3, 50, 7]].tolist()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with federation(tmp_path_factory.mktemp("loopback"), PARTIES) as built:
        yield built
    assert [p for site in (built.server, *built.sites.values()) for p in site.processes()] == []


@pytest.fixture(scope="module")
def trained(running):
    """Both collaborations, trained at the same time."""
    told: dict[str, list[dict[str, Any]]] = {ROWS: [], RECORDS: []}

    def train(collaboration, kind, model):
        with running.requester(timeout=60) as lead:
            lead.train(collaboration, model, kind=kind, parties=PARTIES, timeout=120, watch=told[collaboration].append)

    with ThreadPoolExecutor() as threads:
        runs = [
            threads.submit(train, ROWS, "horizontal", LogisticRegression(max_iter=1000)),
            threads.submit(train, RECORDS, "vertical", KNeighborsClassifier(7)),
        ]
        for run in runs:
            run.result()
    return told


@pytest.fixture(scope="module")
def officer(running, trained):
    with running.requester(OFFICER, timeout=60) as requester:
        yield requester


@pytest.fixture(scope="module")
def expected():
    tables = vertical_tables(PARTIES)
    labels = tables["bank"].pop("repaid")
    run = VerticalCollaboration(KNeighborsClassifier(7), schema=schema_of(people()), random_state=SEED)
    return run.fit(tables, labels, label_party="bank"), {name: table.loc[SOME] for name, table in tables.items()}


def test_a_horizontal_party_predicts_and_explains_alone_and_as_in_one_process(running, trained):
    data = {n: (t.drop(columns="repaid"), t["repaid"]) for n, t in horizontal_tables(PARTIES).items()}
    model = LogisticRegression(max_iter=1000)
    wanted = HorizontalCollaboration(model, schema=schema_of(people()), random_state=SEED).fit(data)
    X = people(40, seed=9).drop(columns="repaid")
    for name in PARTIES:
        party = HorizontalParty.load(running.kits[name].folder / "dcshap" / ROWS / "party")
        assert np.allclose(party.predict_proba(X), wanted.predict_proba(X, party=name), rtol=0, atol=1e-9)
        found = explain_rows(party, X.head(5))
        assert np.allclose(found.values, wanted.explain(X.head(5), party=name).values, rtol=0, atol=1e-9)


@pytest.mark.parametrize("view", ["bank", "full"])
@pytest.mark.parametrize("index", ["shapley", "owen"])
def test_a_vertical_view_is_as_in_one_process(officer, expected, view, index):
    run, held = expected
    found, wanted = officer.explain(RECORDS, SOME, view=view, index=index), run.explain(held, view=view, index=index)
    assert found.feature_names == wanted.feature_names
    assert np.allclose(found.values, wanted.values, rtol=0, atol=1e-9)
    assert np.allclose(found.base_values, wanted.base_values, rtol=0, atol=1e-9)
    assert list(found.data.index) == SOME


def test_a_vertical_prediction_is_as_in_one_process(officer, expected):
    run, held = expected
    assert np.allclose(officer.predict(RECORDS, SOME)["predictions"], run.predict_proba(held), rtol=0, atol=1e-9)


def test_progress_names_the_phases_who_has_answered_and_the_bytes(trained):
    last = trained[ROWS][-1]
    assert last["state"] == "done"
    phases = {phase["name"]: phase for phase in last["phases"]}
    assert sorted(phases["represent"]["answered"]) == PARTIES
    assert phases["represent"]["received"] > 100_000
    assert phases["integration"]["sent"] > 1_000


def test_five_explanations_a_second_from_one_requester(officer):
    officer.explain(RECORDS, SOME[:1], view="bank", index="owen")
    rounds = [_asked_ten_times(officer) for _ in range(3)]  # whatever else the machine does, one should be quick enough
    rate, figures = max(rounds)
    assert rate >= 5, figures


def _asked_ten_times(officer):
    """Explanations a second; and, in words, what of it is the engine's."""
    began, engine = time.perf_counter(), 0.0
    for record in people().index[:10]:
        officer.explain(RECORDS, [record], view="bank", index="owen")
        engine += officer.timings["whole"] - officer.timings["parties"]["bank"]
    taken = time.perf_counter() - began
    return 10 / taken, f"{10 / taken:.1f} a second, of {taken / 10:.3f} s each {engine / 10:.3f} s the engine's"


def test_two_requests_at_once_get_each_their_own_answer(running, officer):
    asked = people().index[[11, 12, 13]].tolist()

    def ask(record):
        with running.requester(OFFICER, timeout=60) as requester:
            return requester.explain(RECORDS, [record], view="bank", index="owen")

    with ThreadPoolExecutor() as threads:
        answers = list(threads.map(ask, asked))
    for record, found in zip(asked, answers, strict=True):
        assert list(found.data.index) == [record]
        again = officer.explain(RECORDS, [record], view="bank", index="owen")
        assert np.array_equal(found.values, again.values)


def test_a_view_without_right_is_refused_and_the_next_request_is_answered(officer):
    with pytest.raises(PrivacyError, match=r"the right to the views \['bank', 'full'\]"):
        officer.explain(RECORDS, SOME, view="shop")
    assert len(officer.explain(RECORDS, SOME[:1], view="bank")) == 1


def test_whoever_may_only_ask_cannot_end_a_run(officer):
    with pytest.raises(FederationError, match="by whoever has started it"):
        officer.stop(RECORDS)
    assert len(officer.explain(RECORDS, SOME[:1], view="bank")) == 1


def test_an_unknown_record_or_view_is_refused(officer):
    with pytest.raises(InputError, match="lacks 1 of 1"):
        officer.explain(RECORDS, ["nobody"], view="bank")
    with pytest.raises(InputError, match="`view` must be"):
        officer.explain(RECORDS, SOME, view="mars")


def test_a_requester_over_budget_is_refused(running, trained):
    with running.requester(CLERK, timeout=60) as clerk:
        clerk.explain(RECORDS, SOME[:2], view="bank")
        with pytest.raises(PrivacyError, match="2 are used and 1 more"):
            clerk.explain(RECORDS, SOME[2:], view="bank")


def test_every_site_has_a_ledger_that_verifies(running, officer):
    officer.explain(RECORDS, SOME[:1], view="bank")
    for name in (*PARTIES, "localhost"):
        ledger = Ledger(running.kits[name].folder / "dcshap" / "ledger.jsonl")
        assert ledger.verify() > 2
    kinds = {entry.kind for entry in Ledger(running.kits["shop"].folder / "dcshap" / "ledger.jsonl")}
    assert {"Representation", "RecordRepresentation", "RecordVectors"} <= kinds


def test_sites_listen_on_loopback_only(running, trained):
    listening = [
        connection.laddr.ip
        for site in (running.server, *running.sites.values())
        for process in site.processes()
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert listening
    assert set(listening) <= {"127.0.0.1", "::1"}


def test_the_commands_answer_from_the_shell(running, officer):
    app = typer.Typer(cls=ReadableErrors)
    app.add_typer(commands, name="federation")
    kit = ["--kit", str(running.kits[OFFICER].folder), "--json"]
    status = CliRunner().invoke(app, ["federation", "status", RECORDS, *kit])
    assert json.loads(status.stdout)["state"] == "serving"
    asked = ["--record", SOME[0], "--view", "bank", "--index", "owen"]
    found = CliRunner().invoke(app, ["federation", "explain", RECORDS, *asked, *kit])
    wanted = officer.explain(RECORDS, SOME[:1], view="bank", index="owen")
    assert np.array_equal(json.loads(found.stdout)["values"], wanted.values)
    refused = CliRunner().invoke(app, ["federation", "explain", RECORDS, "--record", SOME[0], "--view", "shop", *kit])
    assert refused.exit_code == 1


def _numbers(n: int, columns: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, columns)), columns=[f"x{at:02d}" for at in range(columns)])
    return table.assign(y=(table["x00"] + table["x01"] > 0).astype(int))


def test_a_representation_of_200_mb_arrives(running, tmp_path):
    columns, rows = 16, {"bank": 1_700_000, "shop": 1_000}
    schema = Schema(tuple(Number(f"x{at:02d}", low=-6.0, high=6.0) for at in range(columns)))
    schema.save(tmp_path / "schema.yaml")
    for name, n in rows.items():
        _numbers(n, columns, seed=n).to_parquet(tmp_path / f"{name}.parquet")
        settings = CollaborationConfig(
            "horizontal",
            {"parquet": str(tmp_path / f"{name}.parquet")},
            str(tmp_path / "schema.yaml"),
            tuple(other for other in PARTIES if other != name),
            target="y",
            agreement={"n_components": 15},
        )
        init_party(running.kits[name], "large", settings)
    with running.requester(timeout=120) as lead:
        told = lead.train("large", GaussianNB(), kind="horizontal", parties=PARTIES, timeout=300)
    phase = next(phase for phase in told["phases"] if phase["name"] == "represent")
    assert phase["received"] > 200_000_000
    assert told["state"] == "done"
