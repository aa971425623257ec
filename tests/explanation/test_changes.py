from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcshap import Schema
from dcshap.exceptions import InputError, SchemaError
from dcshap.explanation.changes import changed_values, smallest_change
from dcshap.schema.columns import Category, Number

SCHEMA = Schema(
    (
        Number("income", 0, 10, 5),
        Number("debt", 0, 10, 5),
        Category("job", ("none", "part", "full")),
        Number("age", 18, 98, 40),
    )
)
ROW = {"income": 3.0, "debt": 4.0, "job": "part", "age": 40.0}


def score(table: pd.DataFrame) -> np.ndarray:
    job = table["job"].astype(str).map({"none": -1.0, "part": 0.0, "full": 1.5}).to_numpy()
    return np.asarray(table["income"] - 0.8 * table["debt"] + job + 0.01 * table["age"])


def decide(table: pd.DataFrame, least: float = 3.0) -> np.ndarray:
    return np.where(score(table) >= least, "yes", "no")


def strict(table: pd.DataFrame) -> np.ndarray:
    return decide(table, 4.5)


def brute_force(row, changeable, target, least, max_columns):
    """The fewest columns and the least distance by which any row of the grid is decided as wanted."""
    codes = SCHEMA.codes(pd.DataFrame({name: [value] for name, value in row.items()}))[0]
    grid = {}
    for at, column in enumerate(SCHEMA.columns):
        grid[column.name] = [codes[at]]
        if column.name in changeable:
            grid[column.name].extend(changed_values(column, codes[at]))
    best: tuple[int, float] | None = None
    every = list(itertools.product(*grid.values()))
    for cells, decision in zip(every, decide(SCHEMA.frame(np.array(every)), least), strict=True):
        changed = [at for at in range(len(codes)) if cells[at] != codes[at]]
        if not changed or len(changed) > max_columns or decision != target:
            continue
        distance = 0.0
        for at in changed:
            column = SCHEMA.columns[at]
            distance += 1.0 if isinstance(column, Category) else abs(cells[at] - codes[at]) / (column.high - column.low)
        if best is None or (len(changed), distance) < (best[0], best[1] - 1e-12):
            best = (len(changed), distance)
    return best


@settings(max_examples=15, deadline=None)
@given(
    income=st.integers(0, 10),
    debt=st.integers(0, 10),
    job=st.sampled_from(["none", "part", "full"]),
    least=st.sampled_from([-2.3, 1.7, 4.2, 7.9, 20.0]),
)
def test_the_change_is_the_one_that_brute_force_finds(income, debt, job, least):
    row = ROW | {"income": float(income), "debt": float(debt), "job": job}
    changeable = ["income", "debt", "job"]
    now = decide(pd.DataFrame([row]), least)[0]
    wanted = "no" if now == "yes" else "yes"
    found = smallest_change(lambda table: decide(table, least), SCHEMA, row, changeable=changeable)
    best = brute_force(row, changeable, wanted, least, 3)
    assert found.found == (best is not None)
    assert found.decision_before == now
    if best is not None:
        assert (len(found.after), found.decision_after) == (best[0], wanted)
        assert found.distance == pytest.approx(best[1], abs=1e-12)
        turned = pd.DataFrame([row | dict(found.after)])
        assert decide(turned, least)[0] == wanted
        assert all(row[name] == found.before[name] != value for name, value in found.after.items())


def test_fewer_columns_win_over_a_nearer_change_of_more():
    found = smallest_change(decide, SCHEMA, ROW, changeable=["income", "debt", "job", "age"])
    assert dict(found.after) == {"income": 6.0}
    assert dict(found.before) == {"income": 3.0}
    assert found.distance == pytest.approx(0.3)
    assert found.sentence() == "The decision would be “yes” if income were 6 instead of 3."


def test_two_columns_change_where_one_is_not_enough():
    found = smallest_change(strict, SCHEMA, ROW, changeable=["job", "debt"])
    assert set(found.after) == {"job", "debt"}
    assert found.n_columns == 2
    assert "and" in found.sentence()


def test_there_is_none_and_it_is_said():
    found = smallest_change(decide, SCHEMA, ROW, changeable=["age"])
    assert not found.found
    assert (found.after, found.decision_after, found.distance) == ({}, None, math.inf)
    assert found.sentence("en").startswith("No change of up to 1")
    assert found.sentence("de").startswith("Keine Änderung")
    assert "変わりません" in found.sentence("ja")


def test_a_column_changes_only_the_way_it_may():
    up = smallest_change(decide, SCHEMA, ROW, changeable={"debt": "up", "income": "down"}, target="yes")
    assert not up.found
    down = smallest_change(strict, SCHEMA, ROW, changeable={"debt": "down", "job": "up"})
    assert (down.after["debt"] < 4, down.after["job"]) == (True, "full")


def test_a_target_among_several_decisions_can_be_named():
    def three(table):
        return np.digitize(score(table), [0.0, 3.0])

    found = smallest_change(three, SCHEMA, ROW, changeable=["income"], target=2)
    assert (found.decision_before, found.decision_after) == (1, 2)
    with pytest.raises(InputError, match="the target already"):
        smallest_change(three, SCHEMA, ROW, changeable=["income"], target=1)


def test_the_search_stays_within_its_budget_and_says_how_far_it_went():
    asked = []

    def counting(table):
        asked.append(len(table))
        return np.full(len(table), "no")

    found = smallest_change(counting, SCHEMA, ROW, changeable=SCHEMA.names, max_rows=200)
    assert (found.found, found.n_columns) == (False, 1)
    assert sum(asked) == found.n_rows <= 200


def test_the_same_question_has_the_same_answer_whatever_the_order_of_columns():
    one = smallest_change(decide, SCHEMA, ROW, changeable=["job", "debt", "age"])
    two = smallest_change(decide, SCHEMA, ROW, changeable=["job", "debt", "age"])
    assert one == two


def test_a_missing_cell_may_be_filled_in_and_others_stay_missing():
    row = ROW | {"income": np.nan, "age": np.nan}

    def careful(table):
        return np.where(table["income"].fillna(0.0) >= 8, "yes", "no")

    found = smallest_change(careful, SCHEMA, row, changeable=["income", "age"])
    assert list(found.after) == ["income"]
    assert found.after["income"] >= 8
    assert found.sentence().endswith("instead of missing.")


@pytest.mark.parametrize(
    ("column", "code", "values"),
    [
        (Number("n", 0, 10, 5), 3.0, [0, 1, 2, 4, 5, 6, 7, 8, 9, 10]),
        (Number("n", 0, 1, 0.5), 0.5, [k / 20 for k in range(21) if k != 10]),
        (Number("n", 0.3, 0.9, 0.5), 0.3, [0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9]),
        (Number("n", 1234, 5678, 2000), 2000.0, [1234, *(k * 500 for k in range(3, 12) if k != 4), 5678]),
        (Category("c", ("a", "b", "c")), 1.0, [0, 2]),
    ],
)
def test_round_values_within_the_range_are_tried(column, code, values):
    np.testing.assert_allclose(changed_values(column, code), values)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"changeable": ["wealth"]}, SchemaError, "no column 'wealth'"),
        ({"changeable": {"age": "sideways"}}, InputError, "'up' or 'down'"),
        ({"changeable": ["age"], "steps": 0}, InputError, "`steps` must be at least 1"),
    ],
)
def test_what_cannot_be_searched_is_said(arguments, error, text):
    with pytest.raises(error, match=text):
        smallest_change(decide, SCHEMA, ROW, **arguments)


def test_decisions_must_be_one_per_row():
    with pytest.raises(InputError, match="one decision per row"):
        smallest_change(lambda table: np.zeros((len(table), 2)), SCHEMA, ROW, changeable=["age"])


def test_a_party_s_decision_is_turned(horizontal, heart):
    party, X = horizontal.parties_["north"], heart[0]
    found = smallest_change(party.predict, horizontal.schema_, X.iloc[:1], changeable=["cp", "thal", "ca", "exang"])
    assert found.found
    turned = X.iloc[:1].assign(**{name: [value] for name, value in found.after.items()})
    assert party.predict(turned)[0] == found.decision_after != party.predict(X.iloc[:1])[0] == found.decision_before
