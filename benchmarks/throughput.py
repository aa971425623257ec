"""How many requests a running federation answers: 1, 4 and 16 requesters at once, on loopback.

Each requester is a thread with a session of its own that asks for one party view after the other. Memory is that of all
processes of the sites; threads are those of the busiest. One party's processes are then stopped, and `status` timed.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from benchmarks.federation import PARTIES, RECORDS, TIMEOUT, set_up
from dcshap import datasets
from dcshap.exceptions import DcshapError
from dcshap.federation.flare.local import LocalFederation
from dcshap.federation.flare.processes import SiteProcess
from dcshap.federation.flare.session import Session

REQUESTERS = (1, 4, 16)


def run(quick: bool, *, seconds: float | None = None) -> list[dict[str, Any]]:
    lasting = seconds or (10.0 if quick else 60.0)
    with serving() as (built, records):
        return [*(asked(built, n, records, lasting) for n in REQUESTERS), _stopped(built)]


@contextmanager
def serving() -> Iterator[tuple[LocalFederation, list[str]]]:
    """A vertical collaboration that answers, and the records to ask for: as many as a party may be told of."""
    adult = datasets.load_adult("train")
    table = adult.data.assign(income=adult.target).head(2000)
    table.index = pd.Index([f"customer-{at:05d}" for at in range(len(table))], name="customer")
    rows = {name: table.iloc[at::2].reset_index(drop=True) for at, name in enumerate(PARTIES)}
    records = {"bank": table.iloc[:, [*range(6), -1]], "shop": table.iloc[:, 6:12]}
    with tempfile.TemporaryDirectory(prefix="dcshap-") as folder:
        built = set_up(Path(folder), rows, records)
        with built, built.requester(timeout=TIMEOUT) as lead:
            lead.wait_for(PARTIES, timeout=TIMEOUT)
            lead.train(RECORDS, LogisticRegression(max_iter=1000), kind="vertical", parties=PARTIES, timeout=TIMEOUT)
            yield built, table.index.tolist()[:500]


def asked(
    built: LocalFederation, requesters: int, records: list[str], seconds: float, *, every: float = 0.0
) -> dict[str, Any]:
    """What so many requesters were answered in so many seconds; each asks that often, or again once it is answered."""
    began, times, errors = threading.Barrier(requesters), [], []

    def ask(at: int) -> None:
        with built.requester(timeout=60) as session:
            session.explain(RECORDS, records[:1], view="bank", index="owen")
            began.wait()
            due = time.perf_counter() + at * every / requesters
            until, mine = due + seconds, at
            while (start := time.perf_counter()) < until:
                if start < due:
                    time.sleep(due - start)
                    continue
                due = max(due + every, start)
                try:
                    session.explain(RECORDS, [records[mine % len(records)]], view="bank", index="owen")
                except DcshapError as error:
                    errors.append(error)
                else:
                    times.append(time.perf_counter() - start)
                mine += requesters

    before = memory(built)
    threads = [threading.Thread(target=ask, args=(at,)) for at in range(requesters)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {
        "what": f"{requesters} requesters, {seconds:g} s",
        "answers a second": len(times) / seconds,
        "p50, s": float(np.quantile(times, 0.5)),
        "p95, s": float(np.quantile(times, 0.95)),
        "errors": len(errors),
        "load": os.getloadavg()[0],
        "memory before, MB": before,
        "memory after, MB": memory(built),
        "most threads": max(process.num_threads() for site in sites_of(built) for process in site.processes()),
    }


def _stopped(built: LocalFederation) -> dict[str, Any]:
    """How long `status` takes while a party stands still and a request waits for it."""
    stopped = built.sites["shop"].processes()
    with built.requester(timeout=60) as lead, built.requester(timeout=10) as asking:
        for process in stopped:
            process.send_signal(signal.SIGSTOP)
        waiting = threading.Thread(target=_ask_in_vain, args=(asking,))
        waiting.start()
        time.sleep(1.0)
        times = []
        for _ in range(10):
            start = time.perf_counter()
            lead.status(RECORDS)
            times.append(time.perf_counter() - start)
        waiting.join()
        for process in stopped:
            process.send_signal(signal.SIGCONT)
    return {"what": "status, a party stands still", "p50, s": float(np.median(times)), "p95, s": max(times)}


def _ask_in_vain(session: Session) -> None:
    try:
        session.predict(RECORDS, ["customer-00000"])
    except DcshapError:
        return


def sites_of(built: LocalFederation) -> list[SiteProcess]:
    return [built.server, *built.sites.values()]


def memory(built: LocalFederation) -> float:
    return sum(process.memory_info().rss for site in sites_of(built) for process in site.processes()) / 1e6
