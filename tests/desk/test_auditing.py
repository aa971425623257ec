from __future__ import annotations

import json
import re

import pytest
import sqlalchemy as sa

from dcshap.desk.accounts import Role
from dcshap.desk.database import journal
from dcshap.desk.journal import Note
from dcshap.desk.pages import auditing
from tests.desk.people import Browser, handle, text_of


def test_an_auditor_sees_that_the_chain_is_whole_or_where_it_is_broken(desk, officer, auditor):
    officer.get(f"/cases/{handle(desk)}")
    assert "chain is whole" in auditor.get("/audit").text
    with desk.database.write() as connection:
        connection.execute(sa.update(journal).where(journal.c.number == 1).values(who="nobody"))
    page = text_of(auditor.get("/audit").text)
    assert "chain is broken" in page
    assert "Line 1 was changed" in page


def test_the_journal_says_who_looked_at_which_explanation_when(desk, officer, auditor):
    officer.get(f"/cases/{handle(desk)}")
    line = desk.journal.lines()[0]
    page = text_of(auditor.get("/audit/journal").text)
    assert line.explanation[:8] in page
    assert line.handle[:8] in page
    assert "officer" in page
    assert "C0" not in page


def test_organisations_of_a_horizontal_run_agree_to_the_last_digits(auditor):
    page = text_of(auditor.get("/audit/agreement").text)
    assert "explained by Test Bank, south" in page
    assert "They say the same" in page
    assert float(page.split("difference (RMSE)")[1].split()[0]) < 1e-9


def test_organisations_of_a_vertical_run_agree_on_every_partys_sum(bank):
    page = text_of(Browser(bank, Role.AUDITOR).get("/audit/agreement").text)
    assert "explained by Test Bank, Corner Shop" in page
    assert float(page.split("difference (RMSE)")[1].split()[0]) < 1e-9


def test_the_whole_journal_can_be_read_some_lines_at_a_time(desk, auditor, monkeypatch):
    monkeypatch.setattr(auditing, "NEWEST", 3)
    desk.journal.record(*(Note("olga", "officer", f"act {at}") for at in range(5)))
    first = auditor.get("/audit/journal").text
    assert "act 4" in first
    assert "act 2" not in first
    older = re.findall(r"/audit/journal\?before=\d+", first)[0]
    page = auditor.get(older).text
    assert [f"act {at}" in page for at in range(5)] == [True, True, True, False, False]
    for odd in ("x", "", "-1", "9" * 30, "²"):
        assert auditor.get(f"/audit/journal?before={odd}").status_code == 200


def test_an_export_holds_what_the_pages_show_but_not_what_people_wrote(desk, officer, person, auditor):
    officer.get(f"/cases/{handle(desk)}")
    officer.post(f"/cases/{handle(desk)}/what-if", {"income": "4000"})
    person.post("/mine/review", {"kind": "contest", "words": "I am Jane Doe"})
    review = desk.reviews.all()[0].identifier
    officer.post(f"/cases/{handle(desk)}/reviews/{review}", {"outcome": "upheld", "answer": "Ms Doe was told"})
    content = json.loads(auditor.get("/audit/export").content)
    assert content["chain"] == "whole"
    assert [line["act"] for line in content["journal"]] == [
        "looked",
        "what if",
        "contested",
        "answered a review",
        "compared organisations",
        "exported",
    ]
    assert content["agreement"]["cases"] == 20
    assert content["agreement"]["rmse"] < 1e-9
    assert content["reviews"][0]["kind"] == "contest"
    assert content["reviews"][0]["outcome"] == "upheld"
    assert "Doe" not in json.dumps(content)
    assert content["budgets"] == {"used today": {"officer": 1}, "of": desk.what_ifs}
    assert all(json.loads(each["receipt"])["party"] == "north" for each in content["receipts"])
    assert "C0" not in re.findall(r"\w+", re.sub(r"[\w+/]{40,}=*", "", auditor.get("/audit/export").text))


def test_the_audits_verdict_is_shown_where_there_is_one(desk, auditor):
    assert "No audit was given" in auditor.get("/audit").text
    line = {"attack": "lattice", "attacker": "analyst", "verdict": "pass", "words": "No row was decoded.", "advice": ""}
    desk.audit = {"verdict": "warn", "lines": [line]}
    page = text_of(auditor.get("/audit").text)
    assert "Verdict on what this party sends: warn" in page
    assert "lattice analyst pass No row was decoded." in page


def test_an_operator_sees_state_and_no_case(desk):
    page = text_of(Browser(desk, Role.OPERATOR).get("/operator").text)
    assert "south" in page
    assert "SQLite" in page
    assert "C0" not in page


@pytest.mark.parametrize("page", ["/audit", "/audit/journal", "/audit/agreement", "/audit/export"])
def test_that_somebody_audits_is_recorded_too(desk, auditor, page):
    auditor.get(page)
    assert desk.journal.lines()[-1].role == "auditor"
