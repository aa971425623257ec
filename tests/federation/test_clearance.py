"""A party attacks its own release before it trains: where that fails, nothing leaves."""

from __future__ import annotations

import json

import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from dcshap.audit import Audit, Line
from dcshap.cli.main import app
from dcshap.exceptions import InputError, PrivacyError, PrivacyWarning
from dcshap.federation.seals.ledger import Ledger
from dcshap.federation.site import clearance
from dcshap.federation.site.clearance import Clearance, party_at_hand
from dcshap.federation.site.configuration import CollaborationConfig, Right, SiteConfig

from .conftest import OFFICER, horizontal_tables, people
from .twin import NAME

PARTIES = ["bank", "shop"]


def model():
    return LogisticRegression(max_iter=1000)


def left(run, name):
    return [line for line in Ledger(run.sites[name].config.ledger) if line.kind != "Refusal"]


@pytest.fixture
def found(monkeypatch):
    """Audits find what a test says; how often they ran is counted."""
    asked = []

    def set_to(verdict):
        def audit(party, **_):
            asked.append(party.name)
            return Audit(party.name, (Line("linkage", "analyst", "linkage", 1.0, verdict, "found"),))

        def here(kit, collaboration, *, task):
            config = SiteConfig.load(kit)
            own = party_at_hand(config, collaboration, task=task)
            Clearance(config, collaboration, Ledger(config.ledger)).audit(own)

        monkeypatch.setattr(clearance, "audit_party", audit)
        monkeypatch.setattr(clearance, "attack_aside", here)
        return asked

    return set_to


def test_exact_numbers_do_not_leave_where_the_audit_is_not_accepted(twin):
    run = twin("horizontal", PARTIES, agreement={"noise": 0.0}, audit={})
    with pytest.warns(PrivacyWarning), pytest.raises(PrivacyError, match="its own audit of what it would send") as said:
        run.trained(model())
    assert "'bank'" in str(said.value)
    for attack in ("lattice", "linkage", "R²", "rows read"):
        assert attack not in str(said.value)
    assert {line.kind for name in PARTIES for line in left(run, name)} == {"Greeting"}


def test_one_party_s_audit_stops_the_training_of_all(twin, found):
    found("fail")
    run = twin("vertical", PARTIES, changes={"shop": {"audit": {}}})
    with pytest.raises(PrivacyError, match="Party 'shop' does not train"):
        run.trained(model())
    assert not [line for line in left(run, "bank") if line.kind == "RecordPseudonyms"]


def test_an_accepted_audit_is_in_the_ledger_with_its_reason(twin, found):
    found("fail")
    run = twin("horizontal", PARTIES, audit={"accept": True, "reason": "a contract with the analyst"})
    analyst = run.trained(model())
    (line,) = [line for line in left(run, "bank") if line.kind == "Audit"]
    assert (line.note, line.request) == ("not run, accepted: a contract with the analyst", analyst.run)


@pytest.mark.parametrize("audit", [{"accept": True}, {"accept": True, "reason": " "}, {"ignore": True}, "accept"])
def test_an_audit_is_not_accepted_without_a_reason(audit):
    with pytest.raises(InputError, match=r"reason"):
        CollaborationConfig("horizontal", {"csv": "t.csv"}, "s.yaml", ("shop",), target="y", audit=audit)


@pytest.mark.parametrize("verdict", ["pass", "warn"])
def test_a_party_whose_audit_does_not_fail_trains_and_is_not_attacked_again(twin, found, verdict):
    asked = found(verdict)
    run = twin("horizontal", PARTIES, audit={})
    run.trained(model())
    run.again().trained(model())
    assert sorted(asked) == PARTIES


@pytest.mark.parametrize("change", ["table", "labels"])
def test_another_table_is_attacked_anew(twin, found, change):
    asked = found("pass")
    run = twin("horizontal", PARTIES, audit={})
    run.trained(model())
    table = horizontal_tables(PARTIES)["shop"]
    table.loc[0, "repaid" if change == "labels" else "age"] = "no" if change == "labels" else 33.0
    table.loc[1, "repaid"] = "yes"
    table.to_parquet(run.sites["shop"].config.folder / "table.parquet")
    run.again().trained(model())
    assert sorted(asked) == ["bank", "shop", "shop"]


def test_the_history_is_what_the_ledger_has(twin):
    rights = {OFFICER: Right(("bank",), 100)}
    run = twin("vertical", PARTIES, rights=rights, algorithm_3=False)
    analyst = run.trained(model())
    for records in (people().index[:3], people().index[1:5]):
        run.requester(analyst, OFFICER).explain(records.tolist(), view="bank")
    shop = run.sites["shop"]
    history = Clearance(shop.config, NAME, shop.ledger).history()
    assert history.record_vectors == {"bank": 5}
    assert (history.maps, history.algorithm3, history.n_parties) == (1, False, 2)


def test_new_maps_are_counted(twin):
    run = twin("horizontal", PARTIES, refit_span=True, agreement={"epsilon": 2.0, "n_components": 2})
    run.trained(model())
    with pytest.warns(PrivacyWarning):
        run.again().trained(model())
    bank = run.sites["bank"]
    history = Clearance(bank.config, NAME, bank.ledger).history()
    assert (history.maps, history.epsilon) == (2, 4.0)


@pytest.mark.parametrize("kind", ["horizontal", "vertical"])
def test_the_command_attacks_before_and_after_the_training(twin, kind):
    run = twin(kind, PARTIES)
    kit = str(run.sites["bank"].config.folder)

    def audited(*options):
        done = CliRunner().invoke(app, ["federation", "audit", kit, NAME, "--json", *options])
        content = json.loads(done.stdout)
        assert done.exit_code == {"pass": 0, "warn": 1, "fail": 2}[content["verdict"]]
        return content

    before = audited()
    run.trained(model())
    assert Ledger(run.sites["bank"].config.ledger).verify()
    assert [line.note for line in left(run, "bank") if line.kind == "Audit"] == [
        f"{before['verdict']}, accepted: people who do not exist"
    ]
    after = audited()
    assert [line["attack"] for line in after["lines"]] == [line["attack"] for line in before["lines"]]
