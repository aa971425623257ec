from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap import HorizontalCollaboration, Schema
from dcshap.desk.accounts import Role
from dcshap.desk.horizontal_cases import HorizontalCases
from dcshap.desk.onsite import Source
from tests.desk.people import Browser, handle, make_desk, people, text_of

BORN = ("1965-05-05", "2010-05-05")


def inputs(desk, **changed):
    row = people().iloc[0]
    return {name: str(value) for name, value in row.items()} | {name: str(value) for name, value in changed.items()}


def test_what_if_shows_what_the_model_says_to_the_changed_row(desk, officer, north):
    page = text_of(officer.post(f"/cases/{handle(desk)}/what-if", inputs(desk, income=4500)).text)
    changed = people().iloc[:1].assign(income=4500.0)
    assert f"{100 * north.predict_proba(changed, party='north')[0, 1]:.1f} %" in page
    assert "Then it would be" in page


def test_what_if_and_contrast_compare_with_what_the_officer_chose(desk, officer):
    place = f"/cases/{handle(desk)}"
    assert f"{place}/what-if?compared=background" in officer.get(f"{place}?compared=background").text
    assert 'name="compared" value="background"' in officer.get(f"{place}/what-if?compared=background").text
    page = text_of(officer.post(f"{place}/what-if", inputs(desk, income=4500, compared="background")).text)
    assert "Compared with a synthetic population" in page
    page = text_of(officer.post(f"{place}/contrast", {"other": "C1", "compared": "background"}).text)
    assert "compared with a synthetic population" in page


def test_a_case_is_not_contrasted_with_itself(desk, officer):
    answer = officer.post(f"/cases/{handle(desk)}/contrast", {"other": "C0"})
    assert answer.status_code == 422
    assert "Name another case" in answer.text


def test_what_if_of_a_vertical_case_keeps_what_the_other_organisation_holds(bank, together):
    officer = Browser(bank, Role.OFFICER)
    page = text_of(officer.post(f"/cases/{handle(bank)}/what-if", {"income": "4500"}).text)
    X = people().iloc[:1].assign(income=4500.0)
    chance = together.predict_proba({"bank": X[["age", "income", "job"]], "shop": X[["spent", "visits"]]})[0, 1]
    shown = float(page.split("Then it would be")[1].split("%")[0])
    assert abs(shown - 100 * chance) < 10  # a changed row gets noise of its own


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("income", "1e9", "must be from"), ("income", "much", "must be a number"), ("job", "king", "must be one of")],
)
def test_a_value_outside_the_schema_is_refused_in_words_and_costs_nothing(desk, officer, name, value, said):
    answer = officer.post(f"/cases/{handle(desk)}/what-if", inputs(desk, **{name: value}))
    assert answer.status_code == 422
    assert said in text_of(answer.text)
    assert desk.what_ifs_left("officer") == desk.what_ifs


def test_a_used_up_budget_says_when_it_renews_and_another_officer_has_one_left(desk, officer):
    desk.what_ifs = 2
    for _ in range(2):
        assert officer.post(f"/cases/{handle(desk)}/what-if", inputs(desk, income=4000)).status_code == 200
    answer = officer.post(f"/cases/{handle(desk)}/what-if", inputs(desk, income=4100))
    assert answer.status_code == 429
    assert desk.budget_renews() in answer.text
    other = Browser(desk, Role.OFFICER, who="another")
    assert other.post(f"/cases/{handle(desk)}/what-if", inputs(desk, income=4100)).status_code == 200


def test_the_smallest_change_turns_the_decision_of_the_model(desk, officer, north):
    chances = desk.cases.predictions()[:, 1]
    at = int((chances - 0.5).__abs__().argmin())
    place = f"/cases/{handle(desk, f'C{at}')}/smallest-change"
    page = text_of(officer.post(place, {"change:income": "yes", "change:spent": "yes"}).text)
    assert "This would turn it" in page
    assert "income" in page or "spent" in page


def test_where_no_change_turns_the_decision_the_page_says_so(desk, officer):
    at = int(desk.cases.predictions()[:, 1].argmin())
    page = officer.post(f"/cases/{handle(desk, f'C{at}')}/smallest-change", {"change:visits": "yes"}).text
    assert "Nothing found" in page


def test_a_search_without_a_feature_to_change_asks_for_one(desk, officer):
    assert "Choose at least one feature" in officer.post(f"/cases/{handle(desk)}/smallest-change").text


def test_a_contrast_sums_to_the_difference_of_the_predictions(desk, officer):
    page = text_of(officer.post(f"/cases/{handle(desk)}/contrast", {"other": "C1"}).text)
    first, second = desk.cases.predictions()[:2, 1]
    assert f"{100 * first:.1f} %" in page
    assert f"{100 * second:.1f} %" in page
    assert [line.act for line in desk.journal.lines()] == ["contrasted", "contrasted"]


def test_a_contrast_with_an_unknown_case_is_an_unknown_case(desk, officer):
    assert officer.post(f"/cases/{handle(desk)}/contrast", {"other": "nobody"}).status_code == 404


def test_dates_and_missing_cells_can_be_changed_too(tmp_path):
    rng, n = np.random.default_rng(0), 200
    X = pd.DataFrame({"born": pd.to_datetime("1960-01-01") + pd.to_timedelta(rng.integers(0, 20_000, n), "D")})
    X = X.assign(job=rng.choice(["cook", "nurse"], n), born=X["born"].dt.strftime("%Y-%m-%d"))
    y = (X["born"] < "1990").astype(int).to_numpy()
    found = Schema.for_supervision([X])
    run = HorizontalCollaboration(LogisticRegression(), schema=found, missing="reference", random_state=0)
    run.fit({"north": (X.iloc[:100], y[:100]), "south": (X.iloc[100:], y[100:])})
    rows = X.iloc[:2].set_axis(pd.Index(["C0", "C1"]))
    rows.loc["C1", "job"] = None
    made = make_desk(tmp_path, HorizontalCases(Source(lambda: run, lambda: 0), "north", rows))
    officer = Browser(made, Role.OFFICER)
    form = officer.get(f"/cases/{handle(made)}/what-if").text
    assert f'type="date" id="f1" name="born" value="{rows["born"].iloc[0]}"' in form
    answers = [text_of(officer.post(f"/cases/{handle(made)}/what-if", {"born": day}).text) for day in BORN]
    chances = [float(answer.split("Then it would be")[1].split("%")[0]) for answer in answers]
    assert chances[0] > 50 > chances[1]
    missing = officer.get(f"/cases/{handle(made, 'C1')}/what-if").text
    assert '<option value="">missing</option>' in missing
    kept = text_of(officer.post(f"/cases/{handle(made, 'C1')}/what-if", {"job": "", "born": BORN[0]}).text)
    assert "Then it would be" in kept
    wrong = officer.post(f"/cases/{handle(made)}/what-if", {"born": "tomorrow"})
    assert wrong.status_code == 422
    assert "must be a date" in wrong.text
    made.close()


def test_a_cell_beyond_the_agreed_range_is_said_and_stays_unless_it_is_changed(north, tmp_path):
    rows = people().iloc[:1].assign(age=300)
    made = make_desk(tmp_path, HorizontalCases(Source(lambda: north, lambda: 0), "north", rows))
    officer, place = Browser(made, Role.OFFICER), f"/cases/{handle(made)}/what-if"
    form = officer.get(place).text
    assert "Is 300, beyond the agreed" in form
    age = form.split('name="age" value="')[1].split('"')[0]
    page = text_of(officer.post(place, {"age": age, "income": "4500"}).text)
    assert "age = 300" in page
    made.close()
