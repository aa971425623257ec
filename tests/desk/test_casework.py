from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap import HorizontalCollaboration
from dcshap.desk.accounts import Role
from dcshap.desk.enquiries import ANSWERS
from dcshap.desk.exposition import exposed
from dcshap.desk.horizontal_cases import HorizontalCases
from dcshap.desk.onsite import Source
from dcshap.desk.pages.hypotheses import _decisions
from dcshap.desk.vocabulary import Organisation
from dcshap.exceptions import InputError
from tests.desk.conftest import vertical_desk
from tests.desk.people import WORDS, Browser, handle, horizontal, make_desk, people, schema, table, text_of


def test_cases_are_listed_some_at_a_time_in_the_order_that_is_asked_for(desk, officer):
    first = re.findall(r">(C\d+)</a>", officer.get("/cases").text)
    assert first == [f"C{at}" for at in range(25)]
    last = re.findall(r">(C\d+)</a>", officer.get("/cases?page=3").text)
    assert last == [f"C{at}" for at in range(50, 60)]
    values = desk.cases.predictions()[:, 1]
    falling = re.findall(r">(C\d+)</a>", officer.get("/cases?sort=prediction&order=down").text)
    assert falling == [f"C{at}" for at in np.argsort(values, kind="stable")[::-1][:25]]


@pytest.fixture(scope="module")
def three_classes():
    X, _ = table()
    y = np.digitize(X["income"], [2700, 3300])
    run = HorizontalCollaboration(LogisticRegression(max_iter=500), schema=schema(), random_state=0)
    run.fit({"north": (X.iloc[:150], y[:150]), "south": (X.iloc[150:], y[150:])})
    return HorizontalCases(Source(lambda: run, lambda: 0), "north", people())


def test_the_list_tells_of_the_same_class_as_the_case(three_classes, tmp_path):
    desk = make_desk(tmp_path, three_classes, words=replace(WORDS, output=""))
    officer, answers = Browser(desk, Role.OFFICER), three_classes.predictions()
    assert set(np.argmax(answers, axis=1)) == {0, 1, 2}
    falling = re.findall(r">(C\d+)</a>", officer.get("/cases?sort=prediction&order=down").text)
    assert falling == [f"C{at}" for at in np.argsort(answers.max(axis=1), kind="stable")[::-1][:25]]
    low = int(np.argmax(answers[:, 0]))
    told = f"{100 * answers[low].max():.1f} %"
    assert told in text_of(officer.get(f"/cases/{handle(desk, f'C{low}')}").text)
    assert told in text_of(officer.get("/cases?sort=prediction&order=down").text)
    assert _decisions(desk, three_classes.decided()(f"C{low}", people().iloc[[low]])) == ["The loan is granted."]
    desk.close()


def test_words_that_name_a_class_that_the_model_lacks_are_refused(three_classes, tmp_path):
    words = replace(WORDS, output="yes")
    with pytest.raises(InputError, match="`output` in the desk's words must be one of"):
        make_desk(tmp_path, three_classes, words=words)
    assert not (tmp_path / "desk.key").exists()


@pytest.mark.parametrize("page", ["0", "-1", "999", "x", "²"])
def test_a_page_number_that_is_none_shows_cases_all_the_same(officer, page):
    assert "C" in text_of(officer.get("/cases", params={"page": page}).text)


def test_an_identifier_is_found_by_a_form_and_leads_to_a_handle_that_tells_nothing(desk, officer):
    found = officer.post("/cases/find", {"identifier": " C7 "})
    assert found.status_code == 303
    assert found.headers["location"] == f"/cases/{handle(desk, 'C7')}"
    assert "C7" not in found.headers["location"]


def test_a_case_shows_prediction_meaning_reasons_bars_and_a_sum_that_holds(desk, officer, north):
    page = text_of(officer.get(f"/cases/{handle(desk)}").text)
    chance = north.predict_proba(people().iloc[:1], party="north")[0, 1]
    assert f"{100 * chance:.1f} %" in page
    assert ("The loan is granted." if chance >= 0.5 else "The loan is refused.") in page
    assert "the model expects repayment in about" in page
    assert "✓ equal" in page
    kept = desk.library.shown_before(handle(desk), reference="anchor")[0]
    for reason in exposed(kept, desk.words).reasons:
        assert reason.sentence in page


def test_bars_reach_from_the_start_to_the_prediction_without_a_gap(desk, officer):
    officer.get(f"/cases/{handle(desk)}")
    shown = exposed(desk.library.shown_before(handle(desk), reference="anchor")[0], desk.words)
    ends = [shown.base_at]
    for bar in shown.bars[::-1]:
        assert bar.start == ends[-1]
        ends.append(bar.end)
    assert ends[-1] == shown.prediction_at


def test_the_background_can_be_chosen_and_the_choice_is_recorded(desk, officer):
    page = text_of(officer.get(f"/cases/{handle(desk)}?compared=background").text)
    assert "a synthetic population" in page
    assert '"compared": "background"' in desk.journal.lines()[-1].detail


def test_another_organisations_bar_is_named_and_a_principal_one_says_whom_to_ask(bank):
    officer = Browser(bank, Role.OFFICER)
    pages = [text_of(officer.get(f"/cases/{handle(bank, f'C{at}')}").text) for at in range(6)]
    assert all("Corner Shop: purchases" in page for page in pages)
    assert any("A specific reason must be asked of Corner Shop" in page for page in pages)
    assert all("spent" not in page for page in pages)


def test_reasons_travel_sealed_from_one_desk_to_the_other(together, tmp_path):
    bank, shop = (vertical_desk(together, name, tmp_path) for name in ("bank", "shop"))
    asking, answering = Browser(bank, Role.OFFICER), Browser(shop, Role.OFFICER)
    place = f"/cases/{handle(bank)}"
    assert asking.post(f"{place}/ask", {"organisation": "shop"}).status_code == 303
    assert "No answer yet" in asking.get(place).text
    request = shop.enquiries.letters()[0][1]
    shown = text_of(answering.post("/requests/read", {"request": request}).text)
    assert "spent" in shown or "visits" in shown
    released = answering.post("/requests/release", {"request": request})
    assert released.status_code == 200
    sealed = bank.enquiries.mail.arrived("bank", ANSWERS)
    assert all("spent" not in text and "visits" not in text for text in sealed)
    page = text_of(asking.get(place).text)
    assert "spent" in page or "visits" in page
    assert [line.act for line in shop.journal.lines()][-1] == "released reasons"


def test_what_is_no_letter_is_left_alone(together, tmp_path):
    bank = vertical_desk(together, "bank", tmp_path)
    (tmp_path / "mail" / "bank").mkdir(parents=True)
    for at, text in enumerate(["", "{", "[]", '{"format": "another"}']):
        (tmp_path / "mail" / "bank" / f"{at}.json").write_text(text)
    assert Browser(bank, Role.OFFICER).get("/requests").status_code == 200
    bank.close()


def test_a_bad_answer_in_the_mail_keeps_nobody_from_the_case_nor_from_a_good_one(together, tmp_path):
    bank, shop = (vertical_desk(together, name, tmp_path) for name in ("bank", "shop"))
    asking, place = Browser(bank, Role.OFFICER), f"/cases/{handle(bank)}"
    asking.post(f"{place}/ask", {"organisation": "shop"})
    identifier = bank.enquiries.of(handle(bank))[0].identifier
    (tmp_path / "mail" / "bank").mkdir()
    for at, named in enumerate([identifier, [identifier], {"a": 1}, None]):
        text = json.dumps({"format": ANSWERS, "identifier": named, "key": "AAAA", "sealed": "AAAA"})
        (tmp_path / "mail" / "bank" / f" {at}.json").write_text(text)
    assert asking.get(place).status_code == 200
    Browser(shop, Role.OFFICER).post("/requests/release", {"request": shop.enquiries.letters()[0][1]})
    assert "No answer yet" not in asking.get(place).text
    bank.close()
    shop.close()


def test_a_sealed_answer_that_was_changed_is_refused(together, tmp_path):
    bank, shop = (vertical_desk(together, name, tmp_path) for name in ("bank", "shop"))
    asking, answering = Browser(bank, Role.OFFICER), Browser(shop, Role.OFFICER)
    asking.post(f"/cases/{handle(bank)}/ask", {"organisation": "shop"})
    answering.post("/requests/release", {"request": shop.enquiries.letters()[0][1]})
    sealed = bank.enquiries.mail.arrived("bank", ANSWERS)[0]
    changed = re.sub(r'"sealed": "(.)', lambda found: f'"sealed": "{"B" if found[1] != "B" else "C"}', sealed)
    answer = asking.post(f"/cases/{handle(bank)}/answer", {"sealed": changed})
    assert answer.status_code == 422
    assert "This one was changed" in answer.text


def test_after_a_retraining_the_old_explanation_stays_and_the_new_one_stands_beside_it(tmp_path):
    runs = [horizontal(0), horizontal(1)]
    at = [0]
    cases = HorizontalCases(Source(lambda: runs[at[0]], lambda: at[0]), "north", people())
    desk = make_desk(tmp_path, cases)
    officer, place = Browser(desk, Role.OFFICER), f"/cases/{handle(desk)}"
    before = text_of(officer.get(place).text)
    kept = desk.library.shown_before(handle(desk), reference="anchor")[0]
    at[0] = 1
    after = text_of(officer.get(place).text)
    assert "By an earlier model" in after
    assert "By the model of now" in after
    assert "By an earlier model" not in before
    shown = desk.library.explain(handle(desk), "C0", reference="anchor")
    assert [each.run for each in shown] == [runs[1].analyst_.run, runs[0].analyst_.run]
    assert shown[1].explanation.values.tolist() == kept.explanation.values.tolist()
    assert shown[1].receipt == kept.receipt
    desk.close()


def test_a_stored_explanation_is_read_as_it_was_made(desk, officer):
    officer.get(f"/cases/{handle(desk)}")
    kept = desk.library.shown_before(handle(desk), reference="anchor")[0]
    desk.library._at_hand.clear()
    again = desk.library.get(kept.identifier)
    assert again is not None
    assert again.explanation.values.tolist() == kept.explanation.values.tolist()
    assert (again.answer, again.receipt, again.opening) == (kept.answer, kept.receipt, kept.opening)


def test_vertical_cases_can_be_compared_with_a_population_and_the_choice_is_recorded(bank):
    officer, place = Browser(bank, Role.OFFICER), f"/cases/{handle(bank)}"
    assert "A population" in officer.get(place).text
    page = text_of(officer.get(f"{place}?compared=background").text)
    assert "Compared with a synthetic population" in page
    assert "✓ equal" in page
    assert "Compared with Contribution" not in page  # there is no single value to name
    looked = [json.loads(line.detail)["compared"] for line in bank.journal.lines() if line.act == "looked"]
    assert looked == ["anchor", "background"]


def test_a_feature_that_is_as_in_the_typical_case_is_said_to_be_so(desk, officer):
    typical = desk.library.explain(handle(desk), "C0", reference="anchor")[0].explanation.reference.columns["job"][0]
    jobs = people()["job"]
    for job in jobs.unique():
        page = text_of(officer.get(f"/cases/{handle(desk, jobs.index[jobs == job][0])}").text)
        assert ("= typical" in page) == (job == typical)


def test_what_an_organisation_holds_is_said_in_the_language_of_the_letter(bank):
    held = Organisation("Corner Shop", {"en": "purchases", "de": "Einkäufe"})
    bank.words = replace(WORDS, category={"en": "accounts", "de": "Konten"}, organisations={"shop": held})
    officer, place = Browser(bank, Role.OFFICER), f"/cases/{handle(bank)}/notice"
    german, english = (text_of(officer.get(f"{place}/{language}").text) for language in ("de", "en"))
    assert "Test Bank: Konten" in german
    assert "Corner Shop: Einkäufe" in german
    assert "Corner Shop: purchases" in english


@pytest.mark.parametrize(
    ("chance", "said"),
    [(0.49996, "49.996"), (0.5, "50.0"), (0.50004, "50.004"), (0.4, "40.0"), (0.4999999999999, "50.0")],
)
def test_a_chance_has_as_many_digits_as_it_takes_to_see_on_which_side_it_is(desk, chance, said):
    assert desk.words.percent(chance).startswith(said)


@pytest.mark.parametrize(("chance", "said"), [(0.497, "just under 50"), (0.503, "just over 50"), (0.62, "about 62")])
def test_a_chance_next_to_the_line_does_not_read_as_one_on_it(desk, chance, said):
    kept = desk.library.explain(handle(desk), "C0", reference="anchor")[0]
    total = kept.explanation.values.sum(axis=1)
    base = np.array([[1 - chance, chance]]) - total
    shown = exposed(replace(kept, explanation=replace(kept.explanation, base_values=base)), desk.words)
    assert said in shown.meaning
    assert ("at or above" in shown.meaning) == (chance >= 0.5)


@pytest.mark.parametrize("name", ["desk", "bank"])
def test_what_the_first_view_would_wait_for_is_done_before_and_leaves_no_trace(request, name):
    desk = request.getfixturevalue(name)
    desk.prepare()
    assert desk.journal.lines() == []
    assert desk.library.shown_before(handle(desk), reference="anchor") == []
    assert desk.library.receipts() == []
