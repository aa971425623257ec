"""A desk on a federation: a stand-in for the server's session, and what is shown when it does not answer."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dcshap.desk.accounts import Role
from dcshap.desk.enquiries import ASKS
from dcshap.desk.federated import FederationCases
from dcshap.exceptions import FederationError, InputError, PrivacyError
from tests.desk.people import COLUMNS, WORDS, Browser, handle, make_desk, people, text_of


class Server:
    """Answers as a federation's server would, from a run in this process."""

    def __init__(self, run) -> None:
        self.run, self.sessions = run, 0
        self.trouble: Exception | None = None
        self.asked: list[tuple[str, tuple[str, ...], str]] = []

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

    def explain(self, collaboration, records, **what):
        self._fail()
        self.asked.append((collaboration, tuple(records), what["view"]))
        rows = people()
        if records[0] not in rows.index:
            raise InputError("'bank': Party 'bank' must hold the records that are asked for. It lacks 1 of 1.")
        X = {name: rows.loc[list(records), held] for name, held in COLUMNS.items()}
        return self.run.explain(X, **what)


@pytest.fixture
def server(together):
    return Server(together)


@pytest.fixture
def desk(server, tmp_path):
    words = replace(WORDS, sensitive=())
    made = make_desk(tmp_path, FederationCases(lambda: server, party="bank"), words=words)
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


def test_what_if_says_that_it_needs_own_columns(desk):
    officer = Browser(desk, Role.OFFICER)
    find(officer)
    answer = officer.get(f"/cases/{handle(desk)}/what-if")
    assert answer.status_code == 404
    assert "no own columns" in answer.text


def test_an_operator_sees_who_is_connected_and_the_last_error(desk, server):
    operator = Browser(desk, Role.OPERATOR)
    page = text_of(operator.get("/operator").text)
    assert "not connected shop" in page
    server.trouble = FederationError("The analyst's server cannot be reached. Is it running?")
    assert "cannot be reached" in text_of(operator.get("/operator").text)
    server.trouble = None
    page = text_of(operator.get("/operator").text)
    assert "server answers" in page
    assert "last error The analyst" in page


def test_an_auditor_is_pointed_to_receipts_where_parties_cannot_be_asked(desk):
    assert "Compare receipts" in Browser(desk, Role.AUDITOR).get("/audit/agreement").text


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
