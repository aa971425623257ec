from __future__ import annotations

import numpy as np
import pytest

from dcshap._tables import is_missing, row_cells
from dcshap.exceptions import InputError
from dcshap.schema import Schema
from dcshap.schema.columns import Category, Date, Number, Time
from dcshap.schema.typed import bounds_typed, cell_of, cells_of, code_typed, typed

AGE = Number("age", 18.0, 90.0)
BORN = Date("born", 0.0, 20_000.0, since="1970-01-01")
AT = Time("at", 480.0, 1440.0)
JOB = Category("job", ("cook", "nurse", 3))


@pytest.mark.parametrize(
    ("column", "text", "code", "cell"),
    [
        (AGE, "42", 42.0, 42.0),
        (AGE, "4.25e1", 42.5, 42.5),
        (Number("pay", 0.0, 1e6), "12,000", 12_000.0, 12_000.0),
        (BORN, "1970-01-31", 30.0, "1970-01-31"),
        (AT, "14:05", 845.0, "14:05"),
        (AT, "2:05 pm", 845.0, "14:05"),
        (JOB, "nurse", 1.0, "nurse"),
        (JOB, "3", 2.0, 3),
    ],
)
def test_what_is_typed_is_read_and_written_the_same(column, text, code, cell):
    assert code_typed(column, text) == code
    assert cell_of(column, code) == cell
    assert code_typed(column, typed(column, code)) == code


def test_cells_of_codes_are_those_of_the_table():
    schema = Schema((AGE, BORN, AT, JOB))
    codes = np.array([[42.5, 30.0, 845.0, 2.0], [np.nan, np.nan, np.nan, np.nan], [90.0, 0.0, 480.0, 0.0]])
    cells, table = cells_of(schema.columns, codes), schema.frame(codes)
    for row in (0, 2):
        assert row_cells(cells, row, schema.names) == row_cells(table, row, schema.names)
    assert all(is_missing(cell) for cell in row_cells(cells, 1, schema.names).values())


@pytest.mark.parametrize(
    ("column", "text", "said"),
    [
        (AGE, "17", "from 18 to 90"),
        (AGE, "nan", "must be a number"),
        (AGE, "inf", "from 18 to 90"),
        (AGE, "old", "must be a number"),
        (BORN, "31/01/1970", "must be a date"),
        (BORN, "2125-01-01", "from 1970-01-01 to 2024-10-04"),
        (AT, "14.05", r"must be a time \(HH:MM\)"),
        (AT, "07:59", "from 08:00 to 24:00"),
        (JOB, "king", "one of the categories"),
    ],
)
def test_what_is_no_value_of_the_column_is_refused_and_not_repeated(column, text, said):
    with pytest.raises(InputError, match=said) as refused:
        code_typed(column, text)
    assert text not in str(refused.value).replace("a number", "")


def test_a_missing_cell_is_empty_and_one_out_of_range_at_its_end():
    assert typed(AGE, np.nan) == typed(BORN, np.nan) == typed(JOB, np.nan) == ""
    assert typed(AGE, 200.0) == "90"
    assert bounds_typed(BORN) == ("1970-01-01", "2024-10-04")
