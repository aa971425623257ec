"""A desk on a running federation of real processes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sklearn.linear_model import LogisticRegression

from dcshap.desk.accounts import Role
from dcshap.desk.federated import FederationCases
from dcshap.desk.state import Case
from dcshap.explanation.receipt import Receipt
from dcshap.federation.flare.local import LEAD
from tests.desk.people import WORDS, Browser, make_desk, text_of
from tests.federation.conftest import OFFICER, people, schema_of
from tests.federation.loopback import CLERK, RECORDS, federation

# The engine's own code uses what its libraries have deprecated.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]
TIMEOUT = 240.0


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    with federation(tmp_path_factory.mktemp("federation"), ["bank", "shop"]) as running:
        with running.requester(LEAD, timeout=TIMEOUT) as lead:
            lead.wait_for(["bank", "shop"], timeout=TIMEOUT)
            model = LogisticRegression()
            lead.train(RECORDS, model, kind="vertical", parties=["bank", "shop"], timeout=TIMEOUT)
        yield running


def opened(built, folder, name):
    kit = built.requester(name).kit.folder
    asked = {"schema": schema_of(people()), "authority": (kit / "startup" / "rootCA.pem").read_text()}
    cases = FederationCases(lambda: built.requester(name, timeout=TIMEOUT), RECORDS, party="bank", **asked)
    return make_desk(folder, cases, words=replace(WORDS, output="yes"))


def find(officer, record):
    return officer.get(officer.post("/cases/find", {"identifier": record}).headers["location"])


def test_an_officer_reads_a_case_and_an_operator_sees_who_is_connected(built, tmp_path):
    desk = opened(built, tmp_path, OFFICER)
    page = text_of(find(Browser(desk, Role.OFFICER), people().index[0]).text)
    assert "Principal reasons" in page
    assert "Corner Shop: purchases" in page
    assert "visits" not in page
    state = text_of(Browser(desk, Role.OPERATOR).get("/operator").text)
    assert "connected bank, shop" in state
    assert "not connected nobody" in state
    assert find(Browser(desk, Role.OFFICER), "nobody").status_code == 404
    desk.cases.close()
    desk.close()


def test_an_officer_asks_what_if_and_every_answer_has_the_partys_receipt(built, tmp_path):
    desk = opened(built, tmp_path, OFFICER)
    officer, record = Browser(desk, Role.OFFICER), people().index[5]
    find(officer, record)
    place = f"/cases/{desk.library.handle_of(record)}"
    column = desk.own_row(Case(desk.library.handle_of(record), record))[1].columns[0]
    answer = text_of(officer.post(f"{place}/what-if", {column.name: f"{column.high:.12g}"}).text)
    assert "Then it would be" in answer
    receipts = [Receipt.from_json(each["receipt"]) for each in desk.library.receipts()]
    assert len(receipts) == 2
    for receipt in receipts:
        receipt.verify(root=desk.cases.authority)
        assert receipt.party == "bank"
    refused = Browser(desk, Role.AUDITOR).post("/audit/agreement")  # this officer may not ask for the shop's view
    assert refused.status_code == 429
    assert "the right to the views" in text_of(refused.text)
    desk.cases.close()
    desk.close()


def test_a_budget_that_is_used_up_is_said_in_the_partys_words_and_what_was_shown_stays(built, tmp_path):
    desk = opened(built, tmp_path, CLERK)
    officer, records = Browser(desk, Role.OFFICER), people().index[1:4]
    assert [find(officer, record).status_code for record in records[:2]] == [200, 200]
    refused = find(officer, records[2])
    assert refused.status_code == 429
    assert "is 2 records in 30 days" in text_of(refused.text)
    assert find(officer, records[0]).status_code == 200
    desk.cases.close()
    desk.close()
