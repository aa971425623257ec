from __future__ import annotations

import errno
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dcshap._disk import Disk, using_disk
from dcshap.desk import database as module
from dcshap.desk.database import Database
from dcshap.desk.enquiries import Mail
from dcshap.exceptions import StorageError
from tests.desk.people import handle, make_desk


class FullDisk(Disk):
    def write(self, path: Path, data: bytes, *, size: int) -> None:
        super().write(path, data[:2], size=size)
        raise OSError(errno.ENOSPC, "")


def test_a_locked_database_is_said_in_words_and_works_again_when_it_is_free(desk, officer, monkeypatch):
    place = f"/cases/{handle(desk)}"
    assert officer.get(place).status_code == 200
    desk.database._engine.dispose()
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    desk.database = Database(f"sqlite:///{desk.folder / 'desk.db'}")
    desk.journal._database = desk.database
    other = sqlite3.connect(desk.folder / "desk.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    answer = officer.get(place)
    assert answer.status_code == 503
    assert "locked or cannot be reached" in answer.text
    other.execute("ROLLBACK")
    other.close()
    assert officer.get(place).status_code == 200
    assert desk.journal.verify() is None


def test_a_database_that_is_gone_is_said_in_words(desk, officer):
    desk.database._engine.dispose()
    for file in desk.folder.glob("desk.db*"):
        file.unlink()
    (desk.folder / "desk.db").mkdir()
    answer = officer.get("/cases")
    assert answer.status_code == 503
    assert "cannot be reached" in answer.text


def test_what_fails_within_a_transaction_leaves_nothing_behind(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'd.db'}")

    def fail() -> None:
        with database.write() as connection:
            connection.execute(module.cases.insert(), {"handle": "h", "record": "r"})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.read() as connection:
        assert connection.execute(module.cases.select()).all() == []


@pytest.mark.parametrize("url", ["nothing", "oracle://x/y"])
def test_a_url_that_is_none_is_refused_in_words(url):
    with pytest.raises(StorageError, match="must be a URL"):
        Database(url)


def test_nobody_else_can_read_the_key_and_it_stays_the_same(desk):
    key = desk.folder / "desk.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert key.read_bytes() == desk.key


def test_nobody_else_can_look_into_the_folder_or_the_database(desk, officer):
    officer.get(f"/cases/{handle(desk)}")
    assert stat.S_IMODE(desk.folder.stat().st_mode) == 0o700
    files = sorted(desk.folder.glob("desk.db*"))
    assert [file.name for file in files] == ["desk.db", "desk.db-queue", "desk.db-shm", "desk.db-turns", "desk.db-wal"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_what_others_could_read_before_is_closed_when_the_desk_opens(desk):
    desk.close()
    desk.folder.chmod(0o755)
    (desk.folder / "desk.db").chmod(0o644)
    again = make_desk(desk.folder, desk.cases)
    assert stat.S_IMODE(desk.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((desk.folder / "desk.db").stat().st_mode) == 0o600
    again.close()


def test_a_database_where_no_folder_is_is_refused_in_words(tmp_path):
    with pytest.raises(StorageError, match="must be a file that this user owns"):
        Database(f"sqlite:///{tmp_path / 'none' / 'd.db'}")


def test_a_letter_that_cannot_be_written_whole_is_not_there_and_nobody_else_can_read_one(tmp_path):
    mail, identifier = Mail(tmp_path), "0" * 32
    with using_disk(FullDisk()), pytest.raises(StorageError, match="is the disk full"):
        mail.send("shop", identifier, "a letter")
    assert list((tmp_path / "shop").glob("*.json")) == []
    assert mail.send("shop", identifier, "a letter")
    file = tmp_path / "shop" / f"{identifier}.json"
    assert file.read_text() == "a letter"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_cookies_name_tells_nothing_of_the_key(desk):
    name = desk.cookie_name.removeprefix("desk-")
    assert len(name) == 8
    assert name not in desk.key.hex()


HOLDER = """
import sys, time
from dcshap.desk.database import Database

with Database(sys.argv[1]).write():
    print("has it", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def held_elsewhere(url: str, seconds: float) -> subprocess.Popen[str]:
    """Another process that is writing."""
    other = subprocess.Popen([sys.executable, "-c", HOLDER, url, str(seconds)], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "has it\n"
    return other


@pytest.mark.parametrize(("seconds", "killed"), [(0.5, False), (60, True)])
def test_a_writer_waits_for_another_process_until_it_has_written_or_is_gone(tmp_path, seconds, killed):
    url = f"sqlite:///{tmp_path / 'd.db'}"
    database = Database(url)
    with held_elsewhere(url, seconds) as other:
        if killed:
            other.kill()
        began = time.monotonic()
        with database.write():
            waited = time.monotonic() - began
    assert waited < 4
    assert killed or waited > 0.2
    database.close()
