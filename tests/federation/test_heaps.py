"""What a process has freed goes back to the system."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

# Every fiftieth block stays, so that the heap cannot simply be cut off at its end.
HOLES = """
import time
import psutil
from dcshap.federation.flare import heaps
heaps._TRIM = 0.05
blocks = [bytes(1000) for _ in range(100_000)]
full = psutil.Process().memory_info().rss
kept = blocks[::50]
del blocks
{begin}
until = time.monotonic() + {patience}
while psutil.Process().memory_info().rss > full - 60e6 and time.monotonic() < until:
    time.sleep(0.02)
print(full - psutil.Process().memory_info().rss > 60e6)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="not the GNU C library")
@pytest.mark.parametrize(("begin", "patience", "given_back"), [("heaps.give_back_memory()", 30, True), ("", 1, False)])
def test_free_memory_between_blocks_in_use_is_given_back(begin, patience, given_back):
    script = HOLES.format(begin=begin, patience=patience)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == str(given_back)
