"""What was shown is kept as it was, with the line that says so."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa

from dcshap._bytes import table_bytes
from dcshap._tables import Cells
from dcshap.desk.accounts import Role
from dcshap.desk.database import explanations, references
from dcshap.desk.journal import Note
from dcshap.exceptions import StorageError
from dcshap.shapley.archive import table_from, written_table
from tests.desk.people import Browser, handle, make_desk

LOOKED = Note("olga", "officer", "looked")


def stored(desk):
    with desk.database.read() as connection:
        return [
            connection.execute(sa.select(sa.func.count()).select_from(t)).scalar() for t in (explanations, references)
        ]


def test_an_explanation_is_stored_with_its_line_or_not_at_all(desk, monkeypatch):
    fresh = desk.library.explain(handle(desk), "C0", reference="anchor")
    assert stored(desk) == [0, 0]
    append = desk.journal.append
    monkeypatch.setattr(desk.journal, "append", lambda *_: (_ for _ in ()).throw(StorageError("full")))
    with pytest.raises(StorageError):
        desk.library.show(fresh, LOOKED)
    assert stored(desk) == [0, 0]
    assert desk.journal.lines() == []
    monkeypatch.setattr(desk.journal, "append", append)
    desk.library.show(fresh, LOOKED)
    desk.library.show(desk.library.explain(handle(desk), "C0", reference="anchor"), LOOKED)
    assert stored(desk) == [1, 1]
    assert len(desk.journal.lines()) == 2


@pytest.mark.parametrize("reference", ["anchor", "background"])
def test_rows_that_cases_are_compared_with_are_stored_once_and_come_back_after_a_restart(desk, reference):
    for record in ("C0", "C1"):
        desk.library.show(desk.library.explain(handle(desk, record), record, reference=reference), LOOKED)
    assert stored(desk) == [2, 1]
    before = desk.library.shown_before(handle(desk), reference=reference)[0].explanation
    again = make_desk(desk.folder, desk.cases)
    after = again.library.shown_before(handle(desk), reference=reference)[0].explanation
    assert before is not after
    assert before.reference == after.reference
    assert before.data == after.data
    assert list(after.data.columns) == list(desk.cases.schema.names)
    assert after.values.tolist() == before.values.tolist()
    page = Browser(again, Role.OFFICER).get(f"/cases/{handle(desk)}?compared={reference}").text
    assert page.count("Shown since") == 1
    again.close()


def test_a_page_says_the_same_before_and_after_a_restart(desk, officer):
    place = f"/cases/{handle(desk)}"
    before = officer.get(place).text
    again = make_desk(desk.folder, desk.cases)
    after = Browser(again, Role.OFFICER).get(place).text
    again.close()

    def shown(page):
        return page.split('id="explanation"')[1].split('aria-labelledby="compared"')[0]

    assert shown(before) == shown(after)


def test_cells_of_every_kind_come_back_from_a_file_as_they_were():
    kinds: dict[str, list[Any]] = {
        "number": [1.5],
        "whole": [7],
        "text": ["clerk"],
        "yes or no": [True],
        "day": [date(2026, 11, 18)],
        "moment": [datetime(2026, 11, 18, 2, 30)],
        "absent": [None],
    }
    kind, content = written_table(Cells(kinds), what="data")
    assert kind == "cells"
    assert table_from(kind, content) == Cells(kinds)
    assert math.isnan(table_from(*written_table(Cells({"a": [math.nan]}), what="data")).columns["a"][0])


def test_rows_that_an_earlier_desk_stored_as_a_frame_are_still_read(desk):
    frame = desk.cases.row("C0")
    content = table_bytes(pa.Table.from_pandas(frame.reset_index(drop=True)))
    assert table_from("cells", content) == Cells.of(frame)
