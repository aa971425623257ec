"""Roles and sites take time, chance and threads from one module and change the disk through another, nowhere else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dcshap
from dcshap._machine import Machine, at_once, new_identifier, now, random_bits, using_machine

ROOT = Path(dcshap.__file__).parent
ROOMS = ("collaboration", "protocol", "storage", "federation/seals", "federation/site")
OWN = re.compile(
    r"\btime\.(time|monotonic|perf_counter)\(|datetime\.now\(|\bsecrets\.(token|rand)|os\.urandom|uuid4|"
    r"ThreadPoolExecutor|\.write_(text|bytes)\(|\.rename\(|os\.replace|shutil\.(rmtree|copy)|tempfile\."
)


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_that_is_rehearsed_asks_the_machine_itself(room):
    for path in sorted((ROOT / room).rglob("*.py")):
        if path.name != "world.py":
            assert not OWN.search(path.read_text(encoding="utf-8")), path


def test_another_machine_takes_the_place_of_the_real_one_and_gives_it_back():
    class Stopped(Machine):
        def now(self) -> float:
            return 5.0

        def random_bytes(self, n: int) -> bytes:
            return b"\xff" * n

    with using_machine(Stopped()):
        assert now() == 5.0
        assert new_identifier() == "ff" * 16
        assert random_bits(5) == 31
    assert now() > 5.0
    assert new_identifier() != new_identifier()


def test_the_sabotaged_clock_of_a_process_is_an_hour_ahead(tmp_path):
    (tmp_path / "how").write_text("clock")
    folder = Path(__file__).parent / "federation" / "sabotage"
    env = os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT.parent}", "DCSHAP_SABOTAGE": str(tmp_path / "how")}
    script = "import time; from dcshap._machine import now; import dcshap.federation.seals.envelopes as _; "
    done = subprocess.run(
        [sys.executable, "-c", script + "print(now() - time.time())"],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert 3500 < float(done.stdout) < 3700


def test_at_once_keeps_the_order():
    assert at_once(lambda item: item * 2, [3, 1, 2]) == [6, 2, 4]
    assert at_once(lambda item: item, []) == []
