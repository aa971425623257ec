"""Whether the memory of a federation's processes stays flat while it answers for 20 minutes, on loopback.

Four requesters ask at a set rate, which takes about one core. Every ten seconds the memory of each process is noted,
that of the requesters' own too, which gives memory back as a desk on a requester's kit does. Growth is the median of
the slopes between all looks after the first five minutes (Theil and Sen), with its 95% interval: memory moves in steps,
and a line through the looks would follow a single one.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from typing import Any

import numpy as np
import psutil
from scipy.stats import theilslopes

from benchmarks.throughput import asked, serving, sites_of
from dcshap.federation.flare.heaps import give_back_memory
from dcshap.federation.flare.local import LocalFederation

REQUESTERS, RATE = 4, 8.0  # requests a second, of all requesters together
EVERY = 10.0  # seconds between looks
WARM_UP = 300.0  # seconds until caches are full
Noted = dict[str, list[tuple[float, float]]]


def run(quick: bool, *, seconds: float | None = None) -> list[dict[str, Any]]:
    give_back_memory()
    lasting = seconds or (60.0 if quick else 1200.0)
    with serving() as (built, records):
        noted: Noted = defaultdict(list)
        done = threading.Event()
        watching = threading.Thread(target=_watch, args=(built, noted, done))
        watching.start()
        try:
            found = asked(built, REQUESTERS, records, lasting, every=REQUESTERS / RATE)
        finally:
            done.set()
            watching.join()
    return [found, *(_grown(name, seen, found["answers a second"]) for name, seen in noted.items())]


def _watch(built: LocalFederation, noted: Noted, done: threading.Event) -> None:
    began = time.monotonic()
    while not done.wait(EVERY):
        at, sizes = time.monotonic() - began, _sizes(built)
        for name, size in (sizes | {"all sites": sum(sizes.values()) - sizes["requesters"]}).items():
            noted[name].append((at, size))
        print(f"{at:.0f} s:", *(f"{name} {seen[-1][1]:.1f} MB;" for name, seen in noted.items()), flush=True)


def _sizes(built: LocalFederation) -> dict[str, float]:
    """The resident memory of each process."""
    found = {"requesters": psutil.Process()}
    for site in sites_of(built):
        for at, process in enumerate(site.processes()):
            found[f"{site.kit.name}, {'site' if not at else f'{process.name()} {process.pid}'}"] = process
    return {name: process.memory_info().rss / 1e6 for name, process in found.items()}


def _grown(name: str, seen: list[tuple[float, float]], rate: float) -> dict[str, Any]:
    times, sizes = np.array(seen).T
    later = times >= min(WARM_UP, times[-1] / 3)
    slope, _, low, high = theilslopes(sizes[later], times[later])
    return {
        "what": name,
        "first, MB": float(sizes[0]),
        "after warming up, MB": float(sizes[later][0]),
        "last, MB": float(sizes[-1]),
        "growth, MB an hour": 3600 * float(slope),
        "95% of it": f"{3600 * float(low):.1f} to {3600 * float(high):.1f}",
        "growth, kB an answer": 1000 * float(slope) / rate,
    }
