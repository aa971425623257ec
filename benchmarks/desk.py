"""The desk under load: 50 readers at once, each asking again as soon as they were answered; every view is recorded.

Adult, one horizontal party, logistic regression, SQLite on this disk. Cached explanations were shown before; fresh ones
are computed, signed and stored first. Beside them the engine's own time for a fresh explanation: for one row after the
other, and for several in one call, as the desk asks for those that are wanted at the same time. Fresh views and the
engine take turns, as a machine's speed changes by the minute; rows have their medians, and `of the engine's speed` is
the median of what views per second are of the engine's, one row after the other, in the same turn. Processor time is
that of all the desk's processes; on a machine that is busy otherwise it tells more than the clock. The readers are a
process on the same cores: what they take is told beside it, and is lost to the desk by the clock.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from dcshap import HorizontalCollaboration, datasets
from dcshap.desk.accounts import Role
from dcshap.desk.horizontal_cases import HorizontalCases
from dcshap.desk.onsite import Source
from dcshap.desk.server import Opening, most_processes, serve
from dcshap.desk.state import Desk

READERS = 50
CACHED = 200  # cases that were shown before
TURNS = 9
TOGETHER = 8  # rows in one call of the engine


def run(quick: bool) -> list[dict[str, Any]]:
    threadpool_limits(1)  # as `dcshap desk` does
    adult = datasets.load_adult("train")
    n_views, n_fresh, turns = (500, 50, 1) if quick else (5000, 400, TURNS)
    parts = datasets.label_skew(adult.target, random_state=0)
    parties = {name: (adult.data.iloc[at], adult.target.iloc[at]) for name, at in zip("ab", parts, strict=True)}
    trained = HorizontalCollaboration(LogisticRegression(max_iter=1000), random_state=0).fit(parties)
    n_people = CACHED + turns * n_fresh
    people = adult.data.head(n_people).set_axis(pd.Index([f"P{at}" for at in range(n_people)]))
    cases = HorizontalCases(Source(lambda: trained, lambda: 0), "a", people)
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder), cases)
        handles = [desk.library.handle_of(record) or "" for record in cases.records()]
        cookies = [f"{desk.cookie_name}={desk.accounts.open(f'r{at}', Role.OFFICER)}" for at in range(READERS)]
        desk.close()
        opening = Opening(Desk(Path(folder), cases))
        bound = opening.bound()
        server = multiprocessing.get_context("fork").Process(
            target=serve, args=([(opening, bound)],), kwargs={"processes": most_processes()}
        )
        server.start()
        port = bound.getsockname()[1]
        served = psutil.Process(int(server.pid or 0))
        try:
            _row("first", served, port, cookies, handles[:CACHED])
            cached = _row("cached", served, port, cookies, [handles[at % CACHED] for at in range(n_views)])
            taken = []
            for at in range(CACHED, n_people, n_fresh):
                fresh = _row("fresh", served, port, cookies, handles[at : at + n_fresh])
                engine = [_engine(trained, people, together) for together in (1, TOGETHER)]
                fresh["of the engine's speed"] = fresh["views per second"] / engine[0]["views per second"]
                taken.append([fresh, *engine])
        finally:
            os.kill(served.pid, signal.SIGTERM)
            server.join(timeout=10)
    return [cached, *(_middle(rows) for rows in zip(*taken, strict=True))]


def _middle(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The median of every figure."""
    first = rows[0]
    return {key: np.median([row[key] for row in rows]) if type(first[key]) is float else first[key] for key in first}


def _processor(server: psutil.Process) -> float:
    """Seconds of processor time that a process and its children have used."""
    times = [each.cpu_times() for each in (server, *server.children())]
    return float(sum(each.user + each.system for each in times))


async def _read(port: int, cookies: list[str], handles: list[str]) -> tuple[list[float], float]:
    """Seconds that each of the views took, and all of them."""
    waiting, took = list(reversed(handles)), []

    async def reader(cookie: str) -> None:
        source, sink = await asyncio.open_connection("127.0.0.1", port)
        while waiting:
            handle, began = waiting.pop(), time.perf_counter()
            sink.write(f"GET /cases/{handle} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\n\r\n".encode())
            head = await source.readuntil(b"\r\n\r\n")
            size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            await source.readexactly(size)
            assert head.startswith(b"HTTP/1.1 200"), head[:60]
            took.append(time.perf_counter() - began)
        sink.close()

    began = time.perf_counter()
    await asyncio.gather(*(reader(cookie) for cookie in cookies))
    return took, time.perf_counter() - began


def _row(name: str, server: psutil.Process, port: int, cookies: list[str], handles: list[str]) -> dict[str, Any]:
    used, readers = _processor(server), time.process_time()
    measured, whole = asyncio.run(_read(port, cookies, handles))
    took = np.array(measured)
    return {
        "case": name,
        "readers": READERS,
        "views": len(took),
        "processor ms": 1e3 * (_processor(server) - used) / len(took),
        "readers' ms": 1e3 * (time.process_time() - readers) / len(took),
        "median ms": 1e3 * float(np.median(took)),
        "p95 ms": 1e3 * float(np.quantile(took, 0.95)),
        "views per second": len(took) / whole,
    }


def _engine(trained: HorizontalCollaboration, people: pd.DataFrame, together: int) -> dict[str, Any]:
    """What the engine alone takes for one call after another, without signing, storing or showing anything."""
    trained.explain(people.iloc[:together], party="a")
    calls, began, used = 50, time.perf_counter(), time.process_time()
    for at in range(calls):
        trained.explain(people.iloc[at : at + together], party="a")
    n = calls * together
    each, processor = (time.perf_counter() - began) / n, (time.process_time() - used) / n
    return {
        "case": f"engine alone, {together} in a call",
        "readers": 1,
        "views": n,
        "processor ms": 1e3 * processor,
        "median ms": 1e3 * each * together,
        "views per second": 1 / each,
    }
