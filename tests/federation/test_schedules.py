"""Several things go wrong, at random; in a process of its own, of which copies are cheap."""

from __future__ import annotations

import json
import subprocess
import sys


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
