"""How soon a federation answers again by itself after `kill -9`, on loopback: from the restart to the next answer.

Killed while it serves are the server with all its processes, a party with all of its, and the process of a run alone,
which nobody starts again. Nobody calls `serve`.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.federation import RECORDS
from benchmarks.throughput import serving
from dcshap.exceptions import DcshapError
from dcshap.federation.flare.local import LocalFederation
from dcshap.federation.flare.nursery import RUN
from dcshap.federation.flare.processes import SiteProcess

PATIENCE = 120.0  # seconds
POLL = 0.1


def run(quick: bool, *, kills: int | None = None) -> list[dict[str, Any]]:
    n = kills or (1 if quick else 6)
    with serving() as (built, records):
        _answered(built, records[0])
        return [
            _again(built, records, n, "server", built.server, whole=True),
            _again(built, records, n, "party", built.sites["shop"], whole=True),
            _again(built, records, n, "the server's process of the run", built.server, whole=False),
            _again(built, records, n, "a party's process of the run", built.sites["shop"], whole=False),
        ]


def _again(
    built: LocalFederation, records: list[str], n: int, what: str, site: SiteProcess, *, whole: bool
) -> dict[str, Any]:
    times = []
    for at in range(n):
        if whole:
            site.kill()
            site.start()
        else:
            runs = [process for process in site.processes() if process.name() == RUN]
            assert runs, "no process of a run is there to be killed"
            for process in runs:
                process.kill()
        began = time.monotonic()
        _answered(built, records[at])
        times.append(time.monotonic() - began)
        print(f"{what} killed: answered after {times[-1]:.1f} s", flush=True)
    return {"killed": what, "times": n, "median, s": float(np.median(times)), "worst, s": max(times)}


def _answered(built: LocalFederation, record: str) -> None:
    """Ask, with a session of one's own each time, until there is an answer."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            with built.requester(timeout=10) as session:
                session.explain(RECORDS, [record], view="bank", index="owen")
        except DcshapError:
            if time.monotonic() > until:
                raise
            time.sleep(POLL)
        else:
            return
