"""A training that was interrupted at any step is resumed: nothing that took long is computed or sent a second time."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap._machine import new_identifier
from dcshap.collaboration import Analyst, HorizontalParty, VerticalParty
from dcshap.collaboration.supervision import Supervision
from dcshap.exceptions import DcshapError, FederationError, ProtocolError, StorageError
from dcshap.federation.seals.ledger import Ledger
from dcshap.federation.site.analyst_site import AnalystSite
from dcshap.federation.site.configuration import SiteConfig
from dcshap.federation.site.party_site import PartySite, load_trained
from dcshap.federation.site.runs import Runs

from .conftest import builder, horizontal_tables, people
from .loopback import ROWS, federation, sabotage
from .test_commit import current, silent_at
from .twin import NAME

PARTIES = ["bank", "shop"]
X = people().head(5).drop(columns="repaid")
PART = 1500
# Those that travel in an envelope to the party that is cut off; answers do not.
CUT = {
    "horizontal": ["anchor", "targets", "sums", "newton_2", "representation", "integration", "commit"],
    "vertical": ["pseudonyms", "common", "guest_triple", "records", "joined", "model", "commit"],
}


def model(c=1.0):
    return LogisticRegression(C=c, max_iter=1000)


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(PartySite, "part", PART)
    monkeypatch.setattr(AnalystSite, "part", PART)


@pytest.fixture
def counted(monkeypatch):
    """How often what takes long is computed, and by whom."""
    found: Counter[tuple[str, str]] = Counter()

    def count(owner, method, name):
        original = getattr(owner, method)

        def counting(self, *args, **kwargs):
            found[name, getattr(self, "name", getattr(self, "_party", ""))] += 1
            return original(self, *args, **kwargs)

        monkeypatch.setattr(owner, method, counting)

    count(HorizontalParty, "send_representation", "representation")
    count(VerticalParty, "send_records", "representation")
    count(Supervision, "_own_moments", "sums")
    count(Analyst, "_fit", "model")
    return found


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory, identities):
    """The models of trainings that nothing interrupts, by kind."""
    twin = builder(tmp_path_factory.mktemp("uninterrupted"), identities)
    return {kind: twin(kind, PARTIES, folder=kind).trained(model())._analyst.model_ for kind in CUT}


def interrupted(twin, kind, step, **more):
    """A training in which one party is cut off when a step reaches it; everybody is started again then."""
    run = twin(kind, PARTIES, **more)
    cut = silent_at(run, step, "shop")
    with pytest.raises(FederationError, match="shop"):
        run.trained(model())
    assert cut
    return run.again()


def parts_carried(run):
    """The step and number of every part that was brought or asked for."""
    named = re.compile(rb'"step": "(\w+)".*?"answers": "".*?"part": (\d+)')
    found = (named.search(data[:4000]) for data in run.network.carried)
    return [(each[1].decode(), int(each[2])) for each in found if each]


def resumed(run, estimator=None):
    site = run.analyst(estimator or model(), run=new_identifier(), resume=True)
    site.train()
    return site


@pytest.mark.parametrize(("kind", "step"), [(kind, step) for kind in CUT for step in CUT[kind]])
def test_a_training_that_was_cut_off_is_resumed_with_the_same_result(
    twin, uninterrupted, small_parts, counted, kind, step
):
    run = interrupted(twin, kind, step)
    site = resumed(run)
    assert np.allclose(site._analyst.model_.coef_, uninterrupted[kind].coef_, rtol=0, atol=1e-12)
    assert set(counted.values()) == {1}, counted
    assert set(current(run, site).values()) == {site.run}
    assert not list(run.folder.rglob("spool-*"))
    assert [each.run for each in site.history.all()] == [site.run]
    for each in run.sites.values():
        Ledger(each.config.ledger).verify()


@pytest.mark.parametrize("kind", ["horizontal", "vertical"])
def test_representations_that_have_arrived_are_not_sent_again(twin, small_parts, kind):
    run = interrupted(twin, kind, "integration" if kind == "horizontal" else "joined")
    resumed(run)
    assert {step for step, _ in parts_carried(run)} == ({"integration"} if kind == "horizontal" else {"model"})
    lines = [e for site in run.sites.values() for e in Ledger(site.config.ledger) if "Representation" in e.kind]
    assert [entry.note for entry in lines] == ["", ""]


def test_of_a_message_of_which_some_parts_have_arrived_the_others_are_sent(twin, small_parts):
    run = twin("horizontal", PARTIES)
    send, asked = run.network.send, []

    def cut(to, data, *, patience):
        if to == "shop" and b'"step": "representation"' in data[:4000] and (b'"part": -1' not in data[:4000]):
            asked.append(data)
            if len(asked) == 3:
                raise FederationError("No answer from 'shop'.")
        return send(to, data, patience=patience)

    run.network.send = cut
    with pytest.raises(FederationError, match="shop"):
        run.trained(model())
    again = run.again()
    site = resumed(again)
    asked_again = [number for step, number in parts_carried(again) if step == "representation"]
    (line,) = (e for e in Ledger(run.sites["shop"].config.ledger) if e.kind == "Representation" and e.note == "again")
    (first,) = (e for e in Ledger(run.sites["shop"].config.ledger) if e.kind == "Representation" and not e.note)
    assert asked_again == list(range(2, -(-first.n_bytes // PART)))
    assert line.n_bytes == first.n_bytes - 2 * PART
    assert line.request == site.settings.run != first.request == site.run


def test_what_leaves_again_is_the_very_same_and_the_ledger_says_so(twin, counted):
    run = interrupted(twin, "horizontal", "newton_2")
    resumed(run)
    for name, site in run.sites.items():
        lines = [entry for entry in Ledger(site.config.ledger) if entry.kind == "MaskedMoments"]
        first, second = (lines[:3], lines[3:]) if name == "bank" else (lines[:2], lines[2:])
        assert {entry.note for entry in first} == {""}
        assert [entry.note for entry in second[: len(first)]] == ["again"] * len(first)


def test_a_training_with_privacy_spends_once(twin):
    run = interrupted(twin, "horizontal", "representation", agreement={"epsilon": 5.0})
    resumed(run)
    for site in run.sites.values():
        assert Ledger(site.config.ledger).epsilons() == {NAME: 5.0}


def test_new_maps_count_once_however_often_a_training_is_resumed(twin):
    run = twin("horizontal", PARTIES, refit_span=True)
    run.trained(model())
    again = run.again()
    silent_at(again, "integration", "shop")
    with pytest.warns(match="new maps"), pytest.raises(FederationError):
        again.trained(model())
    resumed(run.again())
    for site in run.sites.values():
        assert [e.kind for e in Ledger(site.config.ledger)].count("New maps") == 1


# --- what must not be resumed -----------------------------------------------------------------------------------------


def test_without_an_interrupted_training_there_is_nothing_to_resume(twin):
    run = twin("horizontal", PARTIES)
    with pytest.raises(StorageError, match="no interrupted training"):
        resumed(run)
    run.trained(model())
    with pytest.raises(StorageError, match="no interrupted training"):
        resumed(run.again())


def test_another_model_is_not_trained_by_resuming(twin):
    run = interrupted(twin, "horizontal", "integration")
    with pytest.raises(ProtocolError, match="the model have changed"):
        resumed(run, model(0.5))
    assert resumed(run).run


def test_a_table_that_has_changed_is_not_summed_under_the_same_masks(twin):
    run = interrupted(twin, "horizontal", "newton_1")
    table = horizontal_tables(PARTIES)["shop"]
    table.iloc[:-1].to_parquet(run.sites["shop"].config.folder / "table.parquet")
    with pytest.raises(ProtocolError, match=r"'shop'.*The table"):
        resumed(run)
    assert current(run, None) == {"bank": "", "shop": "", "analyst": ""}


@pytest.mark.parametrize(("forgetful", "agreement"), [("bank", {}), ("shop", {"epsilon": 5.0})])
def test_a_party_that_has_lost_its_part_has_the_others_refuse(twin, forgetful, agreement):
    """It would send other keys, or other noise, than those that the others have computed with."""
    run = interrupted(twin, "horizontal", "integration", agreement=agreement)
    for spool in (run.folder / forgetful).rglob("spool-*"):
        shutil.rmtree(spool)
    with pytest.raises(ProtocolError, match="differs from what they sent before"):
        resumed(run)
    assert current(run, None) == {"bank": "", "shop": "", "analyst": ""}
    site = run.again().trained(model())
    assert set(current(run, site).values()) == {site.run}


def test_a_new_training_forgets_the_interrupted_one(twin):
    run = interrupted(twin, "horizontal", "integration")
    assert len(list(run.folder.rglob("spool-*"))) == 3
    site = run.trained(model(0.1))
    assert not list(run.folder.rglob("spool-*"))
    assert set(current(run, site).values()) == {site.run}


def test_a_party_that_missed_the_commit_is_told_by_resuming(twin):
    run = interrupted(twin, "horizontal", "commit")
    found = current(run, None)
    assert found["shop"] == "" != found["analyst"] == found["bank"]
    site = resumed(run)
    assert set(current(run, site).values()) == {site.run} == {found["analyst"]}
    alone = {name: load_trained(each.config, NAME).predict_proba(X) for name, each in run.sites.items()}
    assert np.allclose(alone["bank"], alone["shop"], rtol=0, atol=1e-9)


def test_a_training_that_is_used_cannot_begin_again_under_its_name(twin):
    run = twin("horizontal", PARTIES)
    used = run.trained(model()).run
    shutil.rmtree(run.folder / "server" / "dcshap" / NAME)
    with pytest.raises(ProtocolError, match="uses this training already"):
        run.again().trained(model(0.1), run=used)
    assert {Runs(site.folder).current for site in run.sites.values()} == {used}


# --- processes --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_training_between_processes_is_resumed_after_a_full_disk_and_a_kill(tmp_path):
    built = federation(tmp_path, PARTIES)
    sabotage(built, "shop", tmp_path / "orders", "full")
    with built, built.requester(timeout=120) as lead:
        lead.wait_for(PARTIES, timeout=120)
        told: dict[str, Any] = {"kind": "horizontal", "parties": PARTIES, "timeout": 120.0}
        with pytest.raises(DcshapError, match="shop"):
            lead.train(ROWS, model(), **told)
        (tmp_path / "orders").write_text("")
        built.sites["shop"].kill()
        built.sites["shop"].start()
        lead.wait_for(PARTIES, timeout=120)
        status = lead.train(ROWS, model(), **told, resume=True)
    assert status["state"] == "done"
    for name in PARTIES:
        config = SiteConfig.load(built.kits[name].folder)
        sent = [e for e in Ledger(config.ledger) if e.kind == "Representation"]
        assert [entry.note for entry in sent] == ["", "again"]
        assert sent[0].n_bytes == sent[1].n_bytes
        assert Runs(config.state_folder(ROWS)).current == status["run"] == sent[0].request
    assert not list(tmp_path.rglob("spool-*"))
