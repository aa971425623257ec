from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from dcshap.explanation.receipt import Signer
from dcshap.storage import write_once


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
