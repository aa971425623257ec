from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dcshap.report.texts import column_texts, decimals_for, fixed, listed, plain_value, shortened, signed


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (39.0, "39"),
        (np.int64(2024), "2024"),
        (15024, "15,024"),
        (-3.25, "−3.25"),
        (1 / 3, "0.3333"),
        (1234567.891, "1,234,568"),
        (0.0000123, "1.23e−05"),
        (float("nan"), "missing"),
        (None, "missing"),
        (pd.NA, "missing"),
        (pd.NaT, "missing"),
        (np.inf, "inf"),
        ("Never-married", "Never-married"),
        ("two\n lines", "two lines"),
        (True, "True"),
        (-0.0, "0"),
    ],
)
def test_a_value_reads_as_a_person_would_write_it(value: Any, text: str):
    assert plain_value(value) == text


@pytest.mark.parametrize(
    ("scale", "decimals"), [(1.0, 3), (1 + 1e-15, 3), (0.7, 3), (0.06, 4), (12, 1), (5e4, 0), (0, 3)]
)
def test_decimals_show_three_digits_of_the_largest_number(scale: float, decimals: int):
    assert decimals_for(scale) == decimals


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_very_small_and_very_large_numbers_get_an_exponent(scale: float):
    assert decimals_for(scale) is None
    assert "e" in fixed(scale, None)


def test_attributions_have_a_sign_unless_they_are_nothing():
    assert [signed(value, 3) for value in (0.12, -0.0354, 0.0, 1e-9, -1e-9)] == [
        "+0.120",
        "−0.035",
        "0",
        "0.000",
        "0.000",
    ]


def test_a_long_name_is_cut_in_the_middle_and_keeps_both_ends():
    name = "income before tax in the year of the application"
    short = shortened(name, 20)
    assert len(short) <= 20
    assert (short[:6], short[-5:]) == ("income", "ation")
    assert "…" in short
    assert shortened("short") == "short"


def test_a_column_of_numbers_has_the_same_decimals_and_shows_what_is_too_small_for_them():
    assert column_texts([0.0628, 0.019, 2e-5, 0.0, float("nan")]) == ["0.0628", "0.0190", "2e−05", "0.0000", "missing"]
    assert column_texts([1.0, 12.0]) == ["1", "12"]


def test_a_long_list_says_how_many_more_there_are():
    assert listed(["a", "b"]) == "a, b"
    assert listed([f"category {j}" for j in range(50)], longest=40) == "category 0, category 1, category 2 and 47 more"
