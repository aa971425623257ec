"""Sites that train again: maps are kept, and found anew only where all parties say so."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap import Schema
from dcshap.collaboration import Analyst
from dcshap.exceptions import DcshapError, PrivacyWarning, ProtocolError
from dcshap.federation.seals.ledger import Ledger

from .conftest import horizontal_tables
from .twin import NAME

PARTIES = ["bank", "post", "shop"]
SPANS = ["supervised", "private", "shared", "random"]


def model():
    return LogisticRegression(max_iter=1000)


@pytest.fixture
def received(monkeypatch):
    """What reaches the analyst, training by training."""
    found = []
    receive = Analyst.receive_representation

    def keeping(self, message):
        found.append(message)
        receive(self, message)

    monkeypatch.setattr(Analyst, "receive_representation", keeping)
    return found


def grown() -> dict[str, pd.DataFrame]:
    """The parties' tables, of which one has one more row."""
    tables = horizontal_tables(PARTIES)
    more = tables["shop"].iloc[:1].assign(age=79.0, debt=4000.0)
    return tables | {"shop": pd.concat([tables["shop"], more], ignore_index=True)}


def changed(run, **changes):
    """The same sites with other settings, started again."""
    again = run.again()
    for site in again.sites.values():
        site.settings = dataclasses.replace(site.settings, **changes)
    return again


@pytest.mark.parametrize("span", SPANS)
def test_with_one_more_row_the_analyst_has_seen_no_further_dimension(twin, received, span):
    run = twin("horizontal", PARTIES, agreement={"span": span})
    run.trained(model())
    for name, table in grown().items():
        table.to_parquet(run.sites[name].config.folder / "table.parquet")
    run.again().trained(model())
    for name in PARTIES:
        first, second = (message for message in received if message.party == name)
        # Rows travel in an order of their own, in which the new one has its place.
        assert {row.tobytes() for row in first.rows} <= {row.tobytes() for row in second.rows}
        seen = np.concatenate([first.anchor, second.anchor], axis=1)
        rank = np.linalg.matrix_rank(seen - seen.mean(axis=0), tol=1e-8 * np.abs(seen).max())
        assert rank == first.anchor.shape[1] == second.anchor.shape[1]
    assert len(second.rows) == len(first.rows) + 1


def test_new_maps_are_found_where_all_parties_ask_for_them_with_a_warning(twin, received):
    run = twin("horizontal", PARTIES)
    run.trained(model())
    for name, table in grown().items():
        table.to_parquet(run.sites[name].config.folder / "table.parquet")
    with pytest.warns(PrivacyWarning, match="same rows through two maps"):
        changed(run, refit_span=True).trained(model())
    first, second = (message for message in received if message.party == "bank")
    assert not np.allclose(second.rows, first.rows)


@pytest.mark.filterwarnings("ignore::dcshap.exceptions.PrivacyWarning")
def test_one_party_cannot_make_the_others_find_new_maps(twin, received):
    run = twin("horizontal", PARTIES)
    run.trained(model())
    again = run.again()
    again.sites["post"].settings = dataclasses.replace(again.sites["post"].settings, refit_span=True)
    with pytest.raises(DcshapError, match="must find their span in the same way"):
        again.trained(model())
    assert len(received) == 3


def test_other_settings_after_a_training_need_new_maps(twin):
    run = twin("horizontal", PARTIES)
    run.trained(model())
    with pytest.raises(ProtocolError, match=r"maps of a training with other settings. Set `refit_span`"):
        changed(run, agreement={"noise": 0.3}).trained(model())


def test_all_settings_that_one_party_has_otherwise_are_named_at_once(twin):
    other = {"epsilon": 3.0, "noise": 0.1, "span_rounds": 5}
    run = twin("horizontal", PARTIES, changes={"shop": {"agreement": other}})
    with pytest.raises(ProtocolError) as refused:
        run.trained(model())
    assert "'shop' differs: ['epsilon', 'noise', 'span_rounds']" in str(refused.value)


def test_several_parties_other_settings_are_told_together(twin):
    changes = {"post": {"agreement": {"noise": 0.5}}, "shop": {"agreement": {"span_rounds": 1}}}
    with pytest.raises(ProtocolError) as refused:
        twin("horizontal", PARTIES, changes=changes).trained(model())
    assert "'post' differs: ['noise']" in str(refused.value)
    assert "'shop' differs: ['span_rounds']" in str(refused.value)


def test_knots_that_differ_are_named_by_column(twin):
    tables = horizontal_tables(PARTIES)
    plain = {name: table.drop(columns="repaid") for name, table in tables.items()}
    schemas = {name: Schema.from_frames(plain, knots=0) for name in PARTIES}
    schemas["shop"] = Schema.from_frames(plain, knots=4)
    with pytest.raises(DcshapError, match="column 'age' differs in knots"):
        twin("horizontal", PARTIES, schemas=schemas).trained(model())


def test_exact_rows_are_warned_of_at_the_party_that_sends_them(twin):
    with pytest.warns(PrivacyWarning, match="lattice reduction"):
        twin("horizontal", PARTIES, agreement={"noise": 0.0}).trained(model())


def test_the_epsilon_of_all_trainings_adds_up_in_the_ledger(twin):
    run = twin("horizontal", PARTIES, agreement={"epsilon": 15.0, "n_components": 2}, refit_span=True)
    run.trained(model())
    with pytest.warns(PrivacyWarning):
        run.again().trained(model())
    for site in run.sites.values():
        assert Ledger(site.config.ledger).epsilons() == {NAME: 30.0}


def test_a_training_with_kept_maps_spends_nothing(twin):
    run = twin("horizontal", PARTIES, agreement={"epsilon": 15.0, "n_components": 2})
    for _ in range(2):
        run.again().trained(model())
    assert Ledger(run.sites["bank"].config.ledger).epsilons() == {NAME: 15.0}
