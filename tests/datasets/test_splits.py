from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dcshap.datasets import contradiction_split, hold_out, iid_split, label_skew, load_adult
from dcshap.exceptions import InputError


def _counts(y: NDArray[Any], parts: Iterable[NDArray[np.intp]]) -> list[list[int]]:
    labels = np.unique(y)
    return [[int(np.sum(y[rows] == label)) for label in labels] for rows in parts]


def _assert_each_row_once(parts: Sequence[NDArray[np.intp]], n_rows: int) -> None:
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(n_rows))
    for rows in parts:
        assert np.all(np.diff(rows) > 0)


@pytest.fixture(scope="module")
def income():
    return load_adult("train").target.to_numpy()


def test_label_skew_gives_party_0_most_positives_and_few_negatives():
    y = np.tile([0, 0, 1], 100)
    assert _counts(y, label_skew(y)) == [[20, 90], [180, 10]]


def test_label_skew_on_adult_leaves_no_row_out(income):
    parts = label_skew(income)
    _assert_each_row_once(parts, 32561)
    assert _counts(income, parts) == [[2472, 7057], [22248, 784]]


def test_label_skew_of_three_classes_falls_evenly_from_one_party_to_the_other():
    y = np.repeat([0, 1, 2], 100)
    assert _counts(y, label_skew(y, 2)) == [[10, 50, 90], [90, 50, 10]]


def test_label_skew_of_many_parties_falls_evenly_from_the_first_to_the_last():
    y = np.repeat([0, 1], 1000)
    positives = [counts[1] for counts in _counts(y, label_skew(y, 10))]
    assert positives == sorted(positives, reverse=True)
    assert positives[0] == pytest.approx(9 * positives[-1], rel=0.02)


def test_label_skew_of_a_half_is_even_with_two_parties():
    y = np.repeat([0, 1], [60, 40])
    assert _counts(y, label_skew(y, majority=0.5)) == [[30, 20], [30, 20]]


@pytest.mark.parametrize(
    "y",
    [
        np.repeat(["no", "yes"], 50),
        np.repeat([False, True], 50),
        pd.Series(np.repeat(["no", "yes"], 50), dtype="category", index=range(100, 200)),
        ["no"] * 50 + ["yes"] * 50,
    ],
    ids=["strings", "booleans", "categories", "list"],
)
def test_label_skew_takes_labels_of_any_kind(y):
    expected = label_skew(np.repeat([0, 1], 50))
    for rows, as_numbers in zip(label_skew(y), expected, strict=True):
        np.testing.assert_array_equal(rows, as_numbers)


@given(
    st.lists(st.integers(1, 40), min_size=2, max_size=5),
    st.integers(2, 6),
    st.floats(0.5, 1.0),
    st.integers(0, 5),
)
def test_label_skew_gives_every_row_to_one_party_and_each_class_its_share(sizes, n_parties, majority, seed):
    y = np.repeat(np.arange(len(sizes)), sizes)
    try:
        parts = label_skew(y, n_parties, majority=majority, random_state=seed)
    except InputError as error:
        assert "Every party must get rows" in str(error)  # noqa: PT017 - small tables may be too small
        return
    _assert_each_row_once(parts, len(y))
    for code, size in enumerate(sizes):
        place = (len(sizes) - 1 - code) / (len(sizes) - 1)
        weights = [majority + (1 - 2 * majority) * abs(p / (n_parties - 1) - place) for p in range(n_parties)]
        for rows, weight in zip(parts, weights, strict=True):
            # A count is rounded at both ends of its stretch.
            assert abs(int(np.sum(y[rows] == code)) - size * weight / sum(weights)) <= 1


def test_contradiction_split_has_the_counts_of_the_paper(income):
    # 32561 rows less 100, of which 7811 stayed positive: the validation rows held 30 positives.
    kept, held_out = hold_out(income, {0: 70, 1: 30})
    y = income[kept]
    parts = contradiction_split(y)
    assert len(held_out) == 100
    assert _counts(y, parts) == [[781, 7030], [23869, 781]]
    assert [len(rows) for rows in parts] == [7811, 24650]
    assert [round(float(y[rows].mean()), 2) for rows in parts] == [0.90, 0.03]
    _assert_each_row_once(parts, 32461)


def test_contradiction_split_takes_all_positives_and_no_negative_at_majority_one():
    y = np.repeat([0, 1], [30, 20])
    assert _counts(y, contradiction_split(y, majority=1.0)) == [[0, 20], [30, 0]]


def test_hold_out_draws_at_random_from_all_rows(income):
    kept, held_out = hold_out(income, 100)
    assert len(held_out) == 100
    _assert_each_row_once([kept, held_out], 32561)
    assert not np.array_equal(held_out, hold_out(income, 100, random_state=1)[1])


def test_hold_out_draws_as_many_of_each_label_as_asked():
    y = np.tile(["a", "b", "c"], 20)
    kept, held_out = hold_out(y, {"a": 3, "c": 20})
    assert _counts(y, [kept, held_out]) == [[17, 20, 0], [3, 0, 20]]
    _assert_each_row_once([kept, held_out], 60)


def test_hold_out_of_nothing_keeps_everything():
    kept, held_out = hold_out([0, 1, 0], {})
    assert held_out.dtype == np.intp
    assert (kept.tolist(), held_out.tolist()) == ([0, 1, 2], [])


@given(st.integers(2, 8), st.integers(0, 50), st.integers(0, 5))
def test_iid_split_gives_every_row_to_one_party_in_equal_parts(n_parties, more, seed):
    n_rows = n_parties + more
    parts = iid_split(n_rows, n_parties, random_state=seed)
    _assert_each_row_once(parts, n_rows)
    sizes = [len(rows) for rows in parts]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    "split",
    [
        lambda seed: iid_split(100, 2, random_state=seed),
        lambda seed: label_skew(np.tile([0, 1], 50), random_state=seed),
        lambda seed: contradiction_split(np.tile([0, 1], 50), random_state=seed),
        lambda seed: hold_out(np.tile([0, 1], 50), 50, random_state=seed),
    ],
    ids=["iid_split", "label_skew", "contradiction_split", "hold_out"],
)
def test_a_split_depends_on_its_seed_alone(split):
    first, again, other = split(3)[0], split(np.random.default_rng(3))[0], split(4)[0]
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (lambda: iid_split(10, 1), "`n_parties` must be at least 2. Got 1"),
        (lambda: iid_split(2, 3), "2 rows for 3 parties. Use fewer parties"),
        (lambda: label_skew([0, 1], 1), "`n_parties` must be at least 2. Got 1"),
        (lambda: label_skew([0, 1] * 10, majority=1.5), "`majority` must be a share from 0.5 to 1. Got 1.5"),
        (lambda: label_skew([1, 1, 1]), "at least two classes. Got 1"),
        (lambda: label_skew([0.0, 1.0, np.nan]), "Got 1 missing. Drop"),
        (lambda: label_skew(np.zeros((4, 2))), r"one dimension. Got shape \(4, 2\)"),
        (lambda: label_skew([0, 1], 5), r"Got none for parties \["),
        (lambda: contradiction_split([0, 1, 2]), "two classes. Got 3. Use `label_skew`"),
        (lambda: contradiction_split([0, 1], majority=0), "above 0 and at most 1. Got 0"),
        (
            lambda: contradiction_split(np.repeat([0, 1], [5, 95]), majority=0.6),
            "needs 38 negatives beside 57 positives at party 0, and there are 5. Use a larger",
        ),
        (lambda: hold_out([0, 1], 3), "here 2. Got 3"),
        (lambda: hold_out([0, 1], {0: 2}), "here 1. Got 2"),
        (lambda: hold_out([0, 1], -1), "here 2. Got -1"),
    ],
)
def test_what_cannot_be_divided_is_refused(split, message):
    with pytest.raises(InputError, match=message):
        split()
