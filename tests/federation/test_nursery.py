"""Processes that runs leave behind."""

from __future__ import annotations

import subprocess
import sys

import pytest

# A child starts a grandchild and ends; the grandchild ends too, and nobody but the adopter can wait for it.
ADOPTER = """
import os, subprocess, sys, time
import psutil
from dcshap.federation.flare import nursery
nursery._LOOK = 0.05
nursery.adopt_orphans()
grandchild = "import time; time.sleep(2)"
child = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {grandchild!r}], stdout=-3).pid)"
orphan = int(subprocess.run([sys.executable, "-c", child], capture_output=True, check=True).stdout)
assert psutil.Process(orphan).ppid() == os.getpid()
until = time.monotonic() + 30
while psutil.pid_exists(orphan) and time.monotonic() < until:
    time.sleep(0.05)
own = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
sys.exit(0 if not psutil.pid_exists(orphan) and own.wait() == 3 else 1)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt its grandchildren")
def test_what_a_run_leaves_behind_is_buried_and_own_children_are_waited_for_as_ever():
    done = subprocess.run([sys.executable, "-c", ADOPTER], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
