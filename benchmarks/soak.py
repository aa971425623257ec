"""Whether the memory of a federation's processes stays flat while it answers for 20 minutes, on loopback.

Four requesters ask all the time. Every ten seconds the memory of each process is noted; what the last quarter has more
than the third is what it grows by once caches are full.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from typing import Any

import numpy as np

from benchmarks.throughput import asked, serving, sites_of
from dcshap.federation.flare.local import LocalFederation

REQUESTERS = 4
EVERY = 10.0  # seconds between looks


def run(quick: bool, *, seconds: float | None = None) -> list[dict[str, Any]]:
    lasting = seconds or (60.0 if quick else 1200.0)
    with serving() as (built, records):
        noted: dict[str, list[tuple[float, float]]] = defaultdict(list)
        done = threading.Event()
        watching = threading.Thread(target=_watch, args=(built, noted, done))
        watching.start()
        try:
            found = asked(built, REQUESTERS, records, lasting)
        finally:
            done.set()
            watching.join()
    return [found, *(_grown(name, seen) for name, seen in noted.items())]


def _watch(built: LocalFederation, noted: dict[str, list[tuple[float, float]]], done: threading.Event) -> None:
    began = time.monotonic()
    while not done.wait(EVERY):
        for site in sites_of(built):
            for at, process in enumerate(site.processes()):
                name = f"{site.kit.name}, {'site' if not at else f'{process.name()} {process.pid}'}"
                noted[name].append((time.monotonic() - began, process.memory_info().rss / 1e6))
        print(*(f"{name} {seen[-1][1]:.0f} MB;" for name, seen in noted.items()), flush=True)


def _grown(name: str, seen: list[tuple[float, float]]) -> dict[str, Any]:
    """Medians of quarters: garbage is collected now and then, so a line through single looks slopes by chance."""
    times, sizes = np.array(seen).T
    quarters = np.minimum((4 * times / times[-1]).astype(int), 3)
    third, last = (float(np.median(sizes[quarters == quarter])) for quarter in (2, 3))
    hours = times[-1] / 4 / 3600
    return {
        "what": name,
        "first, MB": float(sizes[0]),
        "third quarter, MB": third,
        "last quarter, MB": last,
        "growth between them, MB an hour": (last - third) / hours,
    }
