"""Several things go wrong, at random; in a process of its own, of which copies are cheap."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from dcshap.federation.rehearsal.programme import simulate


def test_a_thousand_random_schedules_hold():
    command = [sys.executable, "-m", "dcshap", "federation", "simulate", "--parties", "2", "--json"]
    done = subprocess.run([*command, "--schedules", "1000"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["failures"] == []
    assert found["seeds"][0] == 0
    assert [found[key] for key in ("schedules", "hung", "wrong", "lost", "overdrawn")] == [1000, 0, 0, 0, 0]
    assert found["faults"] > 1000
    assert "900 schedules (seeds 0 to" in done.stderr  # what was done so far, if it is cut short


@pytest.mark.parametrize(
    ("n_parties", "seed"),
    [
        (3, 510_025),  # an envelope was damaged on its way to the analyst, who passed it on: the head was unreadable
        (2, 1_000_034),  # likewise, and its content did not open
    ],
)
def test_schedules_that_failed_once_hold(n_parties, seed):
    found = simulate(seed, 1, n_parties, tell=lambda _: None)
    assert found.failures == []
    assert found.faults > 1
