"""A desk on the kit of a horizontal party: it explains alone, and auditors compare signed receipts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sklearn.linear_model import LogisticRegression

from dcshap.desk.accounts import Role
from dcshap.desk.federated import cases_of_party
from dcshap.exceptions import InputError
from dcshap.explanation.receipt import Receipt
from dcshap.federation.seals.ledger import Entry
from dcshap.federation.site.party_site import REFUSAL
from tests.desk.people import WORDS, Browser, handle, make_desk, text_of

PARTIES = ["bank", "shop"]


@pytest.fixture
def desks(twin, tmp_path):
    """A desk at each party of a federation that was trained; the sites themselves are not asked again."""
    run = twin("horizontal", PARTIES)
    run.trained(LogisticRegression(max_iter=1000))
    made = {}
    for name in PARTIES:
        cases = cases_of_party(run.sites[name].config.folder, run.identities[name], None)
        words = replace(WORDS, output="yes", changeable=("income",))
        made[name] = make_desk(tmp_path / "desks" / name, cases, words=words)
    yield made
    for desk in made.values():
        desk.close()


def test_an_officer_sees_cases_asks_what_if_and_finds_the_smallest_change_with_no_network(desks):
    desk = desks["bank"]
    officer, place = Browser(desk, Role.OFFICER), f"/cases/{handle(desk, '0')}"
    page = text_of(officer.get(place).text)
    assert "Principal reasons" in page
    assert "✓ equal" in page
    schema = desk.cases.schema
    form = {"income": f"{schema['income'].high:.12g}"}
    assert "Then it would be" in text_of(officer.post(f"{place}/what-if", form).text)
    found = text_of(officer.post(f"{place}/smallest-change", {"change:income": "yes"}).text)
    assert "possibilities were tried" in found


def test_receipts_are_signed_with_the_kits_key(desks):
    desk = desks["bank"]
    kept = desk.library.explain(handle(desk, "0"), "0", reference="anchor")[0]
    receipt = Receipt.from_json(kept.receipt)
    receipt.verify(root=desk.cases.authority)
    assert receipt.party == "bank"
    assert "CERTIFICATE" in receipt.pem


def test_auditors_compare_receipts_of_the_same_synthetic_cases(desks):
    bank, shop = (Browser(desks[name], Role.AUDITOR) for name in PARTIES)
    page = text_of(bank.get("/audit/agreement").text)
    assert "no record leaves it" in page
    theirs = shop.get("/audit/controls").text
    assert len(theirs.splitlines()) == 10
    found = text_of(bank.post("/audit/controls", {"receipts": theirs}).text)
    assert "Corner Shop says the same of all 10 synthetic cases" in found
    lines = theirs.splitlines()
    forged = "\n".join([lines[0].replace('"run": "', '"run": "x'), *lines[1:]])
    found = text_of(bank.post("/audit/controls", {"receipts": forged}).text)
    assert "Corner Shop says the same of 9 of 10" in found
    assert "was changed, or signed by another" in found
    for text in ("", "nonsense", "\n".join(lines[:3])):
        assert bank.post("/audit/controls", {"receipts": text}).status_code == 422


def test_receipts_of_another_training_differ(desks, twin):
    other = twin("horizontal", PARTIES, folder="other")
    other.trained(LogisticRegression(max_iter=1000, C=1e-3))
    cases = cases_of_party(other.sites["shop"].config.folder, other.identities["shop"], None)
    theirs = "\n".join(receipt.to_json() for receipt in cases.controls())
    found = text_of(Browser(desks["bank"], Role.AUDITOR).post("/audit/controls", {"receipts": theirs}).text)
    assert "Corner Shop says the same of 0 of 10" in found
    assert "The model differs." in found


def test_a_vertical_party_s_kit_is_answered_in_words(twin):
    run = twin("vertical", PARTIES)
    with pytest.raises(InputError, match="which horizontal one"):
        cases_of_party(run.sites["bank"].config.folder, run.identities["bank"], None)
    name = next(iter(run.sites["bank"].config.collaborations))
    with pytest.raises(InputError, match="asked for by a requester"):
        cases_of_party(run.sites["bank"].config.folder, run.identities["bank"], name)


def test_an_operator_sees_the_training_and_the_sites_ledger(desks):
    operator = Browser(desks["bank"], Role.OPERATOR)
    page = text_of(operator.get("/operator").text)
    assert "lines, whole" in page
    assert "other parties shop" in page
    assert "last error none" in page
    ledger = desks["bank"].cases._ledger
    ledger.append(Entry("shop", REFUSAL, 0, note="request: PrivacyError"))
    assert "request: PrivacyError" in text_of(operator.get("/operator").text)
    file = ledger.path
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:1] + lines[2:]))
    assert "lines, whole" not in text_of(operator.get("/operator").text)
