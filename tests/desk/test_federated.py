"""A desk on a federation: a stand-in for the server's session, and what is shown when it does not answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from dcshap.desk.accounts import Role
from dcshap.desk.cases import changed_row
from dcshap.desk.enquiries import ASKS
from dcshap.desk.federated import FederationCases
from dcshap.exceptions import FederationError, PrivacyError, UnanswerableError
from dcshap.explanation.receipt import Receipt, Signer, compare, fresh_opening, receipt_of
from tests.desk.people import COLUMNS, WORDS, Browser, handle, make_desk, people, schema, text_of


class Server:
    """Answers as a federation's server would, from a run in this process."""

    def __init__(self, run) -> None:
        self.run, self.sessions = run, 0
        self.trouble: Exception | None = None
        self.asked: list[tuple[str, tuple[str, ...], str]] = []
        self.changes: list[dict[str, str]] = []
        self.sign: Callable[[Receipt], Receipt] = lambda receipt: receipt

    def __enter__(self):
        self._fail()
        self.sessions += 1
        return self

    def __exit__(self, *_):
        pass

    def _fail(self):
        if self.trouble is not None:
            raise self.trouble

    def connected(self):
        self._fail()
        return ["bank"]

    def collaborations(self):
        self._fail()
        return ["credit"]

    def status(self, _):
        self._fail()
        return {"run": self.run.analyst_.run, "certificates": {"bank": "", "shop": ""}, "state": "serving"}

    def explain_signed(self, collaboration, records, *, view, reference="anchor", openings=None, changes=None):
        self._fail()
        self.asked.append((collaboration, tuple(records), view))
        rows = people()
        if records[0] not in rows.index:
            raise UnanswerableError
        X = {name: rows.loc[list(records), held] for name, held in COLUMNS.items()}
        if changes:
            self.changes.append(changes)
            X[view] = changed_row(X[view], schema().select(COLUMNS[view]), changes)
        explained = self.run.explain(X, view=view, index="owen", reference=reference)
        codes = openings or [fresh_opening() for _ in records]
        party = self.run.parties_[view]
        return explained, [self.sign(receipt_of(party, explained, sample=i, opening=c)) for i, c in enumerate(codes)]


@pytest.fixture
def server(together):
    return Server(together)


@pytest.fixture
def desk(server, tmp_path):
    words = replace(WORDS, sensitive=())
    made = make_desk(tmp_path, FederationCases(lambda: server, party="bank"), words=words)
    yield made
    made.close()


@pytest.fixture
def with_schema(server, tmp_path):
    """A desk that was given the agreed schema, in which age is marked as sensitive."""
    made = make_desk(tmp_path, FederationCases(lambda: server, party="bank", schema=schema()))
    yield made
    made.close()


def find(officer, record="C0"):
    return officer.get(officer.post("/cases/find", {"identifier": record}).headers["location"])


def test_a_case_is_asked_for_once_and_then_shown_as_it_was(desk, server):
    officer = Browser(desk, Role.OFFICER)
    page = text_of(find(officer).text)
    assert "Corner Shop: purchases" in page
    assert text_of(find(officer).text).split("Shown since")[0] == page.split("Shown since")[0]
    assert server.asked == [("credit", ("C0",), "bank")]
    assert "C0" in officer.get("/cases").text


def test_another_organisation_is_asked_at_once_by_the_usual_request(desk, server):
    officer = Browser(desk, Role.OFFICER)
    find(officer)
    officer.post(f"/cases/{handle(desk)}/ask", {"organisation": "shop"})
    assert server.asked[-1] == ("credit", ("C0",), "shop")
    page = text_of(officer.get(f"/cases/{handle(desk)}").text)
    assert "spent" in page or "visits" in page


def test_a_case_that_no_party_holds_is_an_unknown_case(desk):
    officer = Browser(desk, Role.OFFICER)
    answer = find(officer, "nobody")
    assert answer.status_code == 404
    assert "There is no such case" in answer.text


def test_where_a_party_does_not_answer_what_was_shown_before_is_shown(desk, server):
    officer = Browser(desk, Role.OFFICER)
    find(officer)
    server.trouble = FederationError("'shop' did not answer in time.")
    again = text_of(find(officer).text)  # the explanation is there already: nobody needs to answer
    assert "Principal reasons" in again
    unseen = find(officer, "C1")
    assert unseen.status_code == 503
    assert "&#39;shop&#39; did not answer in time." in unseen.text
    server.trouble = None
    assert find(officer, "C1").status_code == 200


def test_after_a_retraining_that_nobody_answers_for_the_old_explanation_is_shown_with_why(desk, server):
    officer = Browser(desk, Role.OFFICER)
    find(officer)
    desk.cases._run = "a newer training"
    server.trouble = FederationError("'shop' did not answer in time.")
    page = text_of(find(officer).text)
    assert "did not answer in time" in page
    assert "Below is what was shown before" in page
    assert "Principal reasons" in page


def test_a_budget_that_is_used_up_at_a_party_is_said_in_its_words(desk, server):
    officer = Browser(desk, Role.OFFICER)
    server.trouble = PrivacyError("'bank': The budget of 'desk' is 5 records in 30 days.")
    answer = find(officer)
    assert answer.status_code == 429
    assert "5 records in 30 days" in answer.text


def test_what_if_says_that_it_needs_the_schema(desk):
    officer = Browser(desk, Role.OFFICER)
    find(officer)
    answer = officer.get(f"/cases/{handle(desk)}/what-if")
    assert answer.status_code == 409
    assert "--schema" in answer.text


def test_what_if_asks_the_own_party_for_changed_cells_under_the_desks_budget(with_schema, server):
    officer, place = Browser(with_schema, Role.OFFICER), f"/cases/{handle(with_schema)}"
    assert "Look at the case first" in officer.get(f"{place}/what-if").text
    before = text_of(find(officer).text)
    form = officer.get(f"{place}/what-if").text
    income = float(people()["income"].iloc[0])
    assert f'value="{income:.12g}"' in form
    assert "count against their budgets" in text_of(form)
    server.asked.clear()
    answer = text_of(officer.post(f"{place}/what-if", {"income": "4500"}).text)
    assert server.changes == [{"income": "4500"}]
    assert server.asked == [("credit", ("C0",), "bank")]
    assert "Then it would be" in answer
    assert answer.split("Then it would be")[1][:9] not in before
    assert with_schema.what_ifs_left("officer") == with_schema.what_ifs - 1
    kept = [line for line in with_schema.journal.lines() if line.act == "what if"]
    assert with_schema.library.get(kept[0].explanation).receipt


def test_what_if_outside_the_schema_asks_nobody(with_schema, server):
    officer = Browser(with_schema, Role.OFFICER)
    find(officer)
    server.asked.clear()
    answer = officer.post(f"/cases/{handle(with_schema)}/what-if", {"income": "1e9"})
    assert answer.status_code == 422
    assert server.asked == []


def test_what_if_that_a_party_does_not_allow_is_said_in_its_words(with_schema, server):
    officer = Browser(with_schema, Role.OFFICER)
    find(officer)
    server.trouble = PrivacyError("'bank': Party 'bank' has given 'desk' no right to ask what if.")
    answer = officer.post(f"/cases/{handle(with_schema)}/what-if", {"income": "4500"})
    assert answer.status_code == 422
    assert "no right to ask what if" in answer.text
    assert with_schema.what_ifs_left("officer") == with_schema.what_ifs


def test_the_search_for_the_smallest_change_says_why_there_is_none(with_schema):
    officer, place = Browser(with_schema, Role.OFFICER), f"/cases/{handle(with_schema)}"
    assert "smallest-change" not in find(officer).text
    for answer in (officer.get(f"{place}/smallest-change"), officer.post(f"{place}/smallest-change")):
        assert answer.status_code == 409
        assert "thousands of changed cases" in answer.text


def test_what_the_schema_marks_as_sensitive_is_in_no_letter_without_a_word_about_it(with_schema):
    assert with_schema.words.sensitive is None
    officer = Browser(with_schema, Role.OFFICER)
    find(officer)
    letter = text_of(officer.get(f"/cases/{handle(with_schema)}/notice/en").text)
    assert "Reasons" in letter or "reasons" in letter
    assert "age" not in letter.split()


def test_every_explanation_has_the_receipt_of_the_party_that_explains(desk, server):
    officer = Browser(desk, Role.OFFICER)
    page = find(officer).text
    path = page.split('href="/explanations/')[1].split('"')[0]
    receipt = Receipt.from_json(officer.get(f"/explanations/{path}").text)
    receipt.verify()
    assert (receipt.party, receipt.view, receipt.run) == ("bank", "bank", desk.cases.run)
    letter = text_of(officer.get(f"/cases/{handle(desk)}/notice/en").text)
    assert receipt.code in letter


def test_a_receipt_under_anothers_opening_is_asked_of_the_party_again(desk, server):
    officer, opening = Browser(desk, Role.OFFICER), fresh_opening()
    path = "/explanations/" + find(officer).text.split('href="/explanations/')[1].split('"')[0]
    server.asked.clear()
    mine = Receipt.from_json(officer.post(path, {"opening": opening}).text)
    assert server.asked == [("credit", ("C0",), "bank")]
    theirs = server.explain_signed("credit", ["C0"], view="shop", openings=[opening])[1][0]
    assert compare(mine, theirs).same


def test_an_operator_sees_who_is_connected_and_the_last_error(desk, server):
    operator = Browser(desk, Role.OPERATOR)
    page = text_of(operator.get("/operator").text)
    assert "not connected shop" in page
    assert "dcshap federation ledger" in page
    server.trouble = FederationError("The analyst's server cannot be reached. Is it running?")
    assert "cannot be reached" in text_of(operator.get("/operator").text)
    server.trouble = None
    page = text_of(operator.get("/operator").text)
    assert "server answers" in page
    assert "last error The analyst" in page


def test_an_auditor_asks_all_organisations_about_cases_that_were_looked_at(desk, server):
    auditor = Browser(desk, Role.AUDITOR)
    assert "none to ask about" in text_of(auditor.get("/audit/agreement").text)
    find(Browser(desk, Role.OFFICER))
    before = auditor.get("/audit/agreement")
    assert "against the budget" in text_of(before.text)
    server.asked.clear()
    page = text_of(auditor.post("/audit/agreement").text)
    assert server.asked == [("credit", ("C0",), "bank"), ("credit", ("C0",), "shop")]
    assert "their receipts agree" in page
    assert "They say the same" in page
    assert float(page.split("Difference Contradictions Test Bank")[1].split()[0]) < 1e-9
    assert any(line.act == "compared organisations" for line in desk.journal.lines())


def test_receipts_that_do_not_agree_are_said_to_the_auditor(desk, server):
    find(Browser(desk, Role.OFFICER))
    key = Signer.kept_in(desk.folder / "other.key")
    server.sign = lambda receipt: replace(receipt, model="0" * 64).signed(key) if receipt.party == "shop" else receipt
    page = text_of(Browser(desk, Role.AUDITOR).post("/audit/agreement").text)
    assert "do not prove the same explanation" in page
    assert "The model differs." in page


def test_an_organisation_that_does_not_let_its_view_be_asked_for_is_said(desk, server):
    find(Browser(desk, Role.OFFICER))
    server.trouble = PrivacyError("'shop' has given 'desk' the right to the views ['bank']. Asked for: 'shop'.")
    answer = Browser(desk, Role.AUDITOR).post("/audit/agreement")
    assert answer.status_code == 429
    assert "the right to the views" in answer.text


def test_a_session_that_failed_is_begun_again(desk, server):
    officer = Browser(desk, Role.OFFICER)
    server.trouble = FederationError("gone")
    find(officer)
    server.trouble = None
    before = server.sessions
    find(officer)
    assert server.sessions == before + 1


def test_a_class_that_the_model_lacks_is_said_when_the_first_case_comes(desk):
    desk.words = replace(WORDS, output="yes")
    answer = find(Browser(desk, Role.OFFICER))
    assert answer.status_code == 422
    assert "must be one of the model" in answer.text


def with_words(desk, sensitive):
    desk.words = replace(WORDS, sensitive=sensitive)
    return Browser(desk, Role.OFFICER)


def test_while_nobody_said_which_columns_are_sensitive_nothing_is_told_beyond_the_desk(desk, server):
    officer = with_words(desk, None)
    find(officer)
    before = len(server.asked)
    place = f"/cases/{handle(desk)}"
    refused = [officer.get(f"{place}/notice/en"), officer.get(f"{place}/notice/en/pdf")]
    refused.append(officer.post(f"{place}/ask", {"organisation": "shop"}))
    request = {
        "format": ASKS,
        "identifier": "0" * 32,
        "sender": "shop",
        "recipient": "bank",
        "record": "C0",
        "run": desk.cases.run,
    }
    refused += [officer.post(f"/requests/{act}", {"request": json.dumps(request)}) for act in ("read", "release")]
    assert [answer.status_code for answer in refused] == [409] * 5
    assert all("Sensitive columns are not known" in answer.text for answer in refused)
    assert len(server.asked) == before
    person = Browser(desk, Role.PERSON, handle=handle(desk))
    why = text_of(person.get("/mine").text).split("Why")[1].split("How the parts add up")[0]
    assert not any(name in why.split() for name in COLUMNS["bank"])


def test_what_the_words_call_sensitive_is_in_no_letter_and_no_answer(desk):
    every = tuple(name for held in COLUMNS.values() for name in held)
    officer = with_words(desk, every[:2] + every[3:])
    find(officer)
    place = f"/cases/{handle(desk)}"
    letter = text_of(officer.get(f"{place}/notice/en").text)
    assert "income" not in letter
    assert "age" not in letter.split()
    officer.post(f"{place}/ask", {"organisation": "shop"})
    assert desk.enquiries.of(handle(desk))[0].reasons == []
