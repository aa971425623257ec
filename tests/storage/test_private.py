from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from dcshap.exceptions import StorageError
from dcshap.explanation.receipt import Signer
from dcshap.storage import read_private, write_once


def test_what_is_written_once_stays_and_nobody_else_can_read_it(tmp_path):
    path = tmp_path / "a" / "key"
    assert write_once(path, b"first") == b"first"
    assert write_once(path, b"second") == path.read_bytes() == b"first"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["key"]


def test_of_several_who_make_a_key_at_once_all_get_the_same(tmp_path):
    n = 8
    for attempt in range(10):
        together = Barrier(n)

        def made(_: int, path=tmp_path / str(attempt) / "key", together=together) -> str:
            together.wait(timeout=30)
            return Signer.kept_in(path).pem

        with ThreadPoolExecutor(n) as threads:
            assert len(set(threads.map(made, range(n)))) == 1


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, '"text"', "{}", '{"run": {"a": 1}}', "\udcff"])
def test_a_file_whose_content_is_not_what_it_must_be_is_damaged_and_says_what_to_do(tmp_path, text):
    (tmp_path / "state.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(StorageError, match=r"state\.json is damaged: train again\."):
        read_private(tmp_path / "state.json", lambda content: content["run"].lower(), remedy="train again")


def test_a_file_of_a_newer_version_is_refused_and_a_participant_may_be_called_version(tmp_path):
    (tmp_path / "state.json").write_text('{"version": 2}')
    with pytest.raises(StorageError, match="newer dcshap"):
        read_private(tmp_path / "state.json", dict)
    (tmp_path / "state.json").write_text('{"version": "AA:BB"}')
    assert read_private(tmp_path / "state.json", dict) == {"version": "AA:BB"}


def test_without_a_file_there_is_what_the_caller_says(tmp_path):
    assert read_private(tmp_path / "state.json", dict, otherwise={}) == {}
    with pytest.raises(StorageError, match="damaged"):
        read_private(tmp_path / "state.json", dict)
