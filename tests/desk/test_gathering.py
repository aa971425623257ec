"""What threads ask for at the same time is done together, and each gets its own answer."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dcshap.desk import horizontal_cases
from dcshap.desk.gathering import Gathering
from dcshap.desk.horizontal_cases import HorizontalCases, _Asked
from dcshap.desk.onsite import Source
from dcshap.exceptions import DcshapError, InputError
from dcshap.explanation.receipt.issuing import require_stated
from dcshap.explanation.rows import explain_codes
from tests.desk.people import people


def asked_at_once(gathering, questions):
    """What each of several threads is answered, where none is answered before all have asked."""
    answers = {}

    def ask(question):
        try:
            answers[question] = gathering.ask(question)
        except InputError as error:
            answers[question] = str(error)

    threads = [threading.Thread(target=ask, args=(each,)) for each in questions]
    gathering._busy = True
    for thread in threads:
        thread.start()
    limit = time.monotonic() + 10
    while len(gathering._pending) < len(threads) and time.monotonic() < limit:
        time.sleep(0.001)
    gathering._hand_over([])
    for thread in threads:
        thread.join()
    return answers


def test_what_is_asked_at_once_is_done_in_one_go_and_answered_to_whoever_asked():
    batches = []

    def double(numbers):
        batches.append(sorted(numbers))
        return [2 * each for each in numbers]

    assert asked_at_once(Gathering(double), range(8)) == {each: 2 * each for each in range(8)}
    assert batches == [list(range(8))]


def test_a_failure_is_told_to_all_who_asked_and_the_next_are_answered():
    fails = [True]

    def work(asked):
        if fails.pop():
            raise InputError("no")
        return asked

    gathering = Gathering(work)
    assert asked_at_once(gathering, range(3)) == dict.fromkeys(range(3), "no")
    fails.append(False)
    assert gathering.ask(7) == 7


def test_everybody_is_answered_however_many_ask_and_one_thing_is_done_at_a_time():
    working, most = [0], [0]

    def work(asked):
        working[0] += 1
        most[0] = max(most[0], working[0])
        time.sleep(0.001)
        working[0] -= 1
        return [each + 1 for each in asked]

    gathering = Gathering(work)
    answers = {}

    def ask(first):
        for at in range(first, first + 50):
            answers[at] = gathering.ask(at)

    threads = [threading.Thread(target=ask, args=(50 * at,)) for at in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert answers == {at: at + 1 for at in range(800)}
    assert most == [1]


@pytest.fixture
def cases(north):
    return HorizontalCases(Source(lambda: north, lambda: 0), "north", people())


def asked(cases, row, reference="anchor"):
    party = cases._party()
    return _Asked(party, party.codes_of(row), reference)


def counted(monkeypatch: pytest.MonkeyPatch, **how: Any) -> list[int]:
    """How many rows each call of the engine gets, which may be told how to explain them."""
    calls: list[int] = []

    def count(party: Any, codes: Any, rows: Any, **options: Any) -> Any:
        calls.append(len(codes))
        return explain_codes(party, codes, rows, **options, **how)

    monkeypatch.setattr(horizontal_cases, "explain_codes", count)
    return calls


def test_rows_that_are_explained_together_are_explained_as_each_alone(cases, north, monkeypatch):
    alone = [north.explain(people().iloc[[at]], party="north") for at in range(6)]
    calls = counted(monkeypatch)
    together = cases._explained_together([asked(cases, cases.row(f"C{at}")) for at in range(6)])
    assert calls == [6]
    for found, wanted in zip(together, alone, strict=True):
        told = found.explanation
        assert np.abs(told.values - wanted.values).max() < 1e-12
        assert np.array_equal(told.base_values, wanted.base_values)
        assert told.feature_names == wanted.feature_names
        assert [column[0] for column in told.data.columns.values()] == wanted.data.iloc[0].tolist()
        require_stated(found.receipt, wanted)  # whose cells are in a table, not in lists


def test_a_row_that_cannot_be_explained_keeps_nobody_else_from_an_explanation(cases):
    questions = [asked(cases, cases.row(f"C{at}")) for at in range(3)]
    questions[1] = replace(questions[1], codes=questions[1].codes + 0.5)  # no category has such a code
    found = cases._explained_together(questions)
    assert isinstance(found[1], DcshapError)
    assert [len(each.explanation) for each in (found[0], found[2])] == [1, 1]


def test_what_is_compared_with_different_things_is_explained_one_by_one(cases, monkeypatch):
    calls = counted(monkeypatch)
    questions = [asked(cases, cases.row("C0")), asked(cases, cases.row("C1"), "background")]
    found = cases._explained_together(questions)
    assert calls == [1, 1]
    assert [each.explanation.reference_choice for each in found] == ["anchor", "background"]


def test_sampled_values_do_not_depend_on_who_else_asks(cases, monkeypatch):
    calls = counted(monkeypatch, method="sampled", max_evals=12, random_state=0)
    questions = [asked(cases, cases.row(f"C{at}")) for at in range(4)]
    alone = [cases._explained_together([each])[0].explanation.values for each in questions]
    for _ in range(2):
        together = [found.explanation.values for found in cases._explained_together(questions)]
        assert all(np.array_equal(one, other) for one, other in zip(together, alone, strict=True))
    assert calls == [1] * 4 + [4] + [1] * 8  # once it was found that they are sampled, nobody tries again
