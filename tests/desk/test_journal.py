from __future__ import annotations

import threading
import time

import pytest
import sqlalchemy as sa

from dcshap.desk.database import Database, journal
from dcshap.desk.journal import Journal, Note
from dcshap.exceptions import StorageError
from tests.desk.people import handle


def kept(tmp_path, n=5):
    found = Journal(Database(f"sqlite:///{tmp_path / 'j.db'}"), b"key")
    for at in range(n):
        found.record(Note("olga", "officer", "looked", f"h{at}"))
    return found


def test_a_chain_that_nobody_touched_is_whole(tmp_path):
    found = kept(tmp_path)
    assert found.verify() is None
    assert [line.number for line in found.lines()] == [1, 2, 3, 4, 5]
    assert found.head() == (5, found.lines()[-1].digest)


@pytest.mark.parametrize("column", ["at", "who", "role", "act", "handle", "explanation", "detail", "digest"])
def test_a_changed_line_breaks_the_chain(tmp_path, column):
    found = kept(tmp_path)
    with found._database.write() as connection:
        connection.execute(journal.update().where(journal.c.number == 3).values({column: "x"}))
    assert found.verify() == "Line 3 was changed after it was written."


def test_a_removed_line_breaks_the_chain(tmp_path):
    found = kept(tmp_path)
    with found._database.write() as connection:
        connection.execute(journal.delete().where(journal.c.number == 3))
    assert found.verify() == "Line 3 is missing."


def test_lines_written_with_another_key_break_the_chain(tmp_path):
    found = kept(tmp_path, n=2)
    Journal(found._database, b"another").record(Note("eve", "officer", "looked"))
    assert found.verify() == "Line 3 was changed after it was written."


def test_many_threads_write_one_chain_and_no_line_is_lost(tmp_path):
    found = kept(tmp_path, n=0)

    def look(who):
        for at in range(20):
            found.record(Note(f"officer {who}", "officer", "looked", str(at)))

    threads = [threading.Thread(target=look, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.verify() is None
    assert len({(line.who, line.handle) for line in found.lines()}) == 160


def test_two_desks_on_one_database_write_one_chain(tmp_path):
    first = kept(tmp_path, n=0)
    second = Journal(Database(f"sqlite:///{tmp_path / 'j.db'}"), b"key")
    for _ in range(5):
        first.record(Note("a", "officer", "looked"))
        second.record(Note("b", "officer", "looked"))
    assert first.verify() is None
    assert len(first.lines()) == 10


def test_a_view_is_on_disk_before_it_is_shown(desk, officer, monkeypatch):
    seen = []
    page = desk.renderer.page

    def look_first(visit, template, **context):
        seen.append([line.act for line in desk.journal.lines()])
        return page(visit, template, **context)

    monkeypatch.setattr(desk.renderer, "page", look_first)
    officer.get(f"/cases/{handle(desk)}")
    assert seen == [["looked"]]


def test_what_cannot_be_recorded_is_not_shown(desk, officer, monkeypatch):
    def full(*_, **__):
        raise StorageError("The desk's database is locked or cannot be reached.")

    place = f"/cases/{handle(desk)}"
    shown = officer.get(place).text
    monkeypatch.setattr(desk.journal, "record", full)
    answer = officer.get(place)
    assert answer.status_code == 503
    assert "Prediction" in shown
    assert "Prediction" not in answer.text


def test_a_write_that_fails_is_told_to_all_who_waited_for_it(tmp_path):
    found = kept(tmp_path, n=0)
    with found._database.write() as connection:
        connection.execute(sa.text("DROP TABLE journal"))
    with pytest.raises(StorageError, match="locked or cannot be reached"):
        found.record(Note("a", "officer", "looked"))


def test_a_note_that_cannot_be_written_lets_nobody_who_waited_go_on(tmp_path):
    found, outcomes = kept(tmp_path, n=0), {}

    def record(who, detail):
        try:
            found.record(Note(who, "officer", "looked", detail=detail))
            outcomes[who] = "written"
        except (StorageError, TypeError) as error:
            outcomes[who] = type(error).__name__

    details = {"a": {}, "b": {"what": object()}, "c": {}}
    threads = [threading.Thread(target=record, args=each) for each in details.items()]
    found._writing._busy = True
    for thread in threads:
        thread.start()
    limit = time.monotonic() + 10
    while len(found._writing._pending) < len(threads) and time.monotonic() < limit:
        time.sleep(0.001)
    found._writing._hand_over([])
    for thread in threads:
        thread.join()
    assert len(outcomes) == 3
    assert "written" not in outcomes.values()
    assert found.lines() == []
    found.record(Note("a", "officer", "looked"))
    assert found.verify() is None
