from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dcshap._numerals import are_thousands, with_numbers


def numbers_of(values, comma=None):
    table, noted = with_numbers(pd.DataFrame({"x": values}), comma)
    return (table["x"].tolist(), noted) if table["x"].dtype == np.float64 else None


@pytest.mark.parametrize(
    ("values", "comma", "expected"),
    [
        (["1,234", "2,345,678"], "thousands", [1234.0, 2345678.0]),
        (["1,234", "2,5"], "decimal", [1.234, 2.5]),
        (["1.234,5", "2", "-3.000"], "decimal", [1234.5, 2.0, -3000.0]),
        (["1.234,5", "2", "3"], None, [1234.5, 2.0, 3.0]),
        (["12 %", "3,5 %"], "decimal", [12.0, 3.5]),
        (["12%", "3.5%"], "thousands", [12.0, 3.5]),
        (["$1,200.50", "-$3"], "thousands", [1200.5, -3.0]),
        (["1 200,50 €", "3 €"], "decimal", [1200.5, 3.0]),
        (["CHF 1'200.50", "CHF 3"], "thousands", [1200.5, 3.0]),
        (["12\u00a0345", "1\u202f000", "7"], "decimal", [12345.0, 1000.0, 7.0]),
    ],
)
def test_numbers_written_for_people_are_numbers(values, comma, expected):
    found = numbers_of(values, comma)
    assert found is not None
    assert found[0] == expected


@pytest.mark.parametrize(
    "values",
    [
        ["1,234", "5,678"],  # either a thousand or a little more than one
        ["€ 1", "$ 2"],
        ["12 %", "3"],
        ["000123", "000124"],
        ["12", "13"],
        ["1.2.3", "1.3.4"],
        ["31.03.2024", "01.04.2024"],
        ["044 123 45 67", "044 123 45 68"],
        ["a", "b"],
        ["%", "%"],
        ["1,23,4", "2"],
    ],
)
def test_what_may_mean_something_else_stays_text(values):
    assert numbers_of(values) is None


def test_missing_values_stay_missing_and_only_decimal_commas_need_no_note():
    values, noted = numbers_of(["1,5", None, "2"], "decimal")
    assert values[0] == 1.5
    assert np.isnan(values[1])
    assert noted == []
    assert numbers_of(["1.000,5", "2"], "decimal")[1] == []
    assert numbers_of(["1 000,5", "2"], "decimal")[1] == ["x"]
    assert numbers_of(["1,500", "2"], "thousands")[1] == ["x"]


def test_points_between_thousands_are_told_from_fractions():
    assert are_thousands(pd.Series(["1.234", "12.000", "7"]))
    assert not are_thousands(pd.Series(["1.234", "0.5"]))
    assert not are_thousands(pd.Series(["0.123", "0.500"]))
    assert not are_thousands(pd.Series(["12", "7"]))
