"""Every single fault at every step of a training; in a process of its own, of which copies are cheap."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, sys
from dataclasses import asdict
from dcshap.federation.rehearsal.programme import every_single_fault
print(json.dumps(asdict(every_single_fault(2, scenes=[(sys.argv[1], "train")]))))
"""


@pytest.mark.parametrize("kind", ["horizontal", "vertical"])
def test_every_single_fault_at_every_step_of_a_training_holds(kind):
    done = subprocess.run([sys.executable, "-c", PROGRAM, kind], stdout=subprocess.PIPE, check=True)
    found = json.loads(done.stdout)
    assert found["failures"] == []
    assert found["faults"] == found["schedules"] - 1 > 800
