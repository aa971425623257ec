"""Every single fault, in a process of its own: that of the tests has so much in memory that copies of it cost more."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

PROGRAM = """
import json, sys
from dataclasses import asdict
from dcshap.federation.rehearsal.programme import every_single_fault
print(json.dumps(asdict(every_single_fault(int(sys.argv[1]), scenes=json.loads(sys.argv[2])))))
"""


def single_faults(n_parties: int, *scenes: tuple[str, str]) -> dict[str, Any]:
    """What `every_single_fault` finds."""
    command = [sys.executable, "-c", PROGRAM, str(n_parties), json.dumps(scenes)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return dict(json.loads(done.stdout))
