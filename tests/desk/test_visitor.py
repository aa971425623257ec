from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from dcshap.desk.accounts import Role
from dcshap.explanation.receipt import receipt_of
from tests.desk.people import Browser, handle, people, text_of


def test_a_person_reads_their_own_case_and_nothing_of_a_sensitive_column_among_the_reasons(desk, person):
    page = person.get("/mine")
    reasons = text_of(page.text.split("<h3>Why</h3>")[1].split("<h3>")[0])
    assert "repayment" in reasons
    assert "age is" not in reasons


def test_a_person_downloads_the_data_that_were_used(person):
    content = json.loads(person.get("/mine/data").content)
    row = people().iloc[0]
    assert content["case"] == "C0"
    assert content["data"]["job"] == row["job"]
    assert float(content["data"]["income"].replace(",", "")) == row["income"]
    assert set(content["data"]) == set(row.index)


def test_a_vertical_case_says_who_else_holds_data_but_not_which(bank):
    person = Browser(bank, Role.PERSON, handle=handle(bank))
    content = json.loads(person.get("/mine/data").content)
    assert content["held by others"] == [{"organisation": "Corner Shop", "kind of data": "purchases"}]
    assert set(content["data"]) == {"age", "income", "job"}


@pytest.mark.parametrize(("kind", "said"), [("review", "Asked for review"), ("contest", "Contested")])
def test_what_a_person_asks_for_the_officer_sees_and_answers_and_the_person_reads_it(desk, person, officer, kind, said):
    assert person.post("/mine/review", {"kind": kind, "words": "I earn more now."}).status_code == 303
    assert "waiting" in officer.get("/reviews").text
    assert "waits for a human review" in officer.get("/cases").text
    page = text_of(officer.get(f"/cases/{handle(desk)}").text)
    assert said in page
    assert "I earn more now." in page
    review = desk.reviews.all()[0].identifier
    place = f"/cases/{handle(desk)}/reviews/{review}"
    assert officer.post(place, {"outcome": "changed", "answer": "The new income counts."}).status_code == 303
    mine = text_of(person.get("/mine").text)
    assert "The decision is changed" in mine
    assert "The new income counts." in mine
    assert [line.act for line in desk.journal.lines() if "review" in line.act or "contest" in line.act][1:] == [
        "answered a review"
    ]


def test_a_review_is_answered_once_with_an_outcome_and_a_reason(desk, person, officer):
    person.post("/mine/review", {"kind": "review"})
    place = f"/cases/{handle(desk)}/reviews/{desk.reviews.all()[0].identifier}"
    assert officer.post(place, {"outcome": "", "answer": "why"}).status_code == 422
    assert officer.post(place, {"outcome": "upheld", "answer": " "}).status_code == 422
    assert officer.post(place, {"outcome": "upheld", "answer": "why"}).status_code == 303
    again = officer.post(place, {"outcome": "changed", "answer": "why"})
    assert again.status_code == 422
    assert "answered already" in again.text
    assert desk.reviews.all()[0].outcome == "upheld"


def test_a_review_of_another_case_is_unknown(desk, person, officer):
    person.post("/mine/review", {"kind": "review"})
    review = desk.reviews.all()[0].identifier
    other = f"/cases/{handle(desk, 'C1')}/reviews/{review}"
    assert officer.post(other, {"outcome": "upheld", "answer": "why"}).status_code == 404


def test_a_request_without_its_kind_is_refused_in_words(person, desk):
    answer = person.post("/mine/review", {"words": "?"})
    assert answer.status_code == 422
    assert "Choose whether" in answer.text
    assert desk.reviews.all() == []


@pytest.mark.parametrize("language", ["en", "de", "ja"])
def test_letters_say_the_decision_and_its_reasons_and_nothing_of_a_sensitive_column(desk, person, officer, language):
    case = f"/cases/{handle(desk)}/notice/{language}"
    pages = [officer.get(case), person.get(f"/mine/notice/{language}")]
    files = [officer.get(f"{case}/html"), person.get(f"/mine/notice/{language}/html")]
    kept = desk.library.shown_before(handle(desk), reference="anchor")[0]
    decisions = {"en": "The loan", "de": "Der Kredit", "ja": "The loan"}  # in the first language where it lacks one
    for page in (*pages, *files):
        assert page.status_code == 200
        assert decisions[language] in page.text
        assert "review@test.example" in page.text
        assert kept.code in page.text
        assert "age is" not in page.text
        assert " age " not in text_of(page.text)
    assert [line.act for line in desk.journal.lines()] == ["wrote a letter"] * 4


@pytest.mark.parametrize("language", ["en", "de", "ja"])
def test_letters_are_pdf_files_too(person, language):
    answer = person.get(f"/mine/notice/{language}/pdf")
    assert answer.headers["content-type"] == "application/pdf"
    assert io.BytesIO(answer.content).read(5) == b"%PDF-"


@pytest.mark.parametrize("path", ["/mine/notice/fr", "/mine/notice/en/doc", "/mine/notice/../en"])
def test_a_language_or_form_that_is_not_there_is_unknown(person, path):
    assert person.get(path).status_code == 404


def test_a_receipt_is_given_out_and_two_of_one_explanation_are_the_same(desk, officer, auditor):
    officer.get(f"/cases/{handle(desk)}")
    kept = desk.library.shown_before(handle(desk), reference="anchor")[0]
    one = officer.get(f"/explanations/{kept.identifier}/receipt").text
    other = officer.post(f"/explanations/{kept.identifier}/receipt", {"opening": kept.opening}).text
    page = text_of(auditor.post("/receipts", {"one": one, "other": other}).text)
    assert "Both state the same explanation" in page


def test_receipts_of_two_organisations_agree_and_those_of_two_cases_do_not(desk, north, officer, auditor):
    officer.get(f"/cases/{handle(desk)}")
    kept = desk.library.shown_before(handle(desk), reference="anchor")[0]
    rows = people()

    def south(at):
        explained = north.explain(rows.iloc[[at]], party="south")
        return receipt_of(north.parties_["south"], explained, opening=kept.opening).to_json()

    same = text_of(auditor.post("/receipts", {"one": kept.receipt, "other": south(0)}).text)
    differs = text_of(auditor.post("/receipts", {"one": kept.receipt, "other": south(1)}).text)
    assert "Both state the same explanation" in same
    assert "do not prove the same explanation" in differs


def test_what_is_no_receipt_is_refused_in_words(auditor):
    answer = auditor.post("/receipts", {"one": "{}", "other": "x"})
    assert answer.status_code == 422
    assert "must be one line of JSON" in answer.text


def test_a_person_is_told_that_something_sensitive_counts_though_no_reason_names_it(desk, person):
    page = text_of(person.get("/mine").text)
    why = page.split("Why")[1].split("How the parts add up")[0]
    assert "Age" not in why
    assert "What is marked as sensitive is not named" in why
    desk.words = replace(desk.words, sensitive=())
    other = next(r for r in desk.cases.records() if desk.cases.row(r)["age"].iloc[0] == typical_age(desk))
    page = text_of(Browser(desk, Role.PERSON, handle=handle(desk, other)).get("/mine").text)
    assert "What is marked as sensitive" not in page


def typical_age(desk):
    return desk.library.explain(handle(desk), "C0", reference="anchor")[0].explanation.reference.columns["age"][0]
