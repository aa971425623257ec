"""What Data Collaboration costs beside the model's own fit: time against pooled PCA, memory against the raw matrix.

Both sides run on one thread in the same process, in turns, and the fastest of each counts: a busy machine only ever
adds time. Memory is the peak of a process of its own, less what that process held when the data were in place.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from threadpoolctl import threadpool_limits

from dcshap.collaboration import HorizontalTraining
from dcshap.schema import Number, Schema

__all__ = ["run"]

N_COLUMNS, N_COMPONENTS, N_PARTIES = 50, 37, 4
SIZES = {True: 100_000, False: 1_000_000}  # rows, quick or not


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Time and memory per span, as ratios; one row each."""
    n_rows = SIZES[quick]
    X, data, schema = make(n_rows)
    rows = []
    for span in ("private", "shared", "random"):
        with threadpool_limits(1):
            pooled, own = _fastest(
                [partial(PCA(N_COMPONENTS).fit_transform, X), partial(train, data, schema, span)],
                repeats=3 if quick else 5,
            )
        rows.append(
            {
                "rows": n_rows,
                "columns": N_COLUMNS,
                "parties": N_PARTIES,
                "span": span,
                "pooled_pca_seconds": round(pooled, 3),
                "own_work_seconds": round(own, 3),
                "time_ratio": round(own / pooled, 2),
                "time_target": 3.0,
                "memory_ratio": round(memory_ratio(n_rows, span), 2),
                "memory_target": 4.0,
            }
        )
    return rows


def make(n_rows: int) -> tuple[np.ndarray[Any, Any], dict[str, tuple[Any, Any]], Schema]:
    """Correlated rows in equal parts, and the schema that the parties agreed on beforehand."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, N_COLUMNS)) @ rng.standard_normal((N_COLUMNS, N_COLUMNS))
    y = rng.integers(2, size=n_rows)
    schema = Schema(
        tuple(Number(f"x{j}", low, high) for j, (low, high) in enumerate(zip(X.min(0), X.max(0), strict=True)))
    )
    parts = np.array_split(np.arange(n_rows), N_PARTIES)
    data = {f"party {i}": (X[rows[0] : rows[-1] + 1], y[rows]) for i, rows in enumerate(parts)}
    return X, data, schema


def train(data: dict[str, tuple[Any, Any]], schema: Schema, span: Any) -> None:
    """A training whose model costs nothing, so that what is left is the collaboration's own work."""
    HorizontalTraining(DummyClassifier(), N_COMPONENTS, span=span, schema=schema, random_state=0).fit(data)


def memory_ratio(n_rows: int, span: str) -> float:
    """Peak memory of a training beyond the data it is given, as a multiple of the raw matrix."""
    script = f"from benchmarks.collaboration import measure; print(*measure({n_rows}, {span!r}))"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)  # noqa: S603 - our own interpreter and script
    before, after = map(int, done.stdout.split())
    return (after - before) / (n_rows * N_COLUMNS * 8)


def measure(n_rows: int, span: str) -> tuple[int, int]:
    """Resident bytes with the data in place, and at the peak of a training."""
    _, data, schema = make(n_rows)
    warm = {name: (part[:500], labels[:500]) for name, (part, labels) in data.items()}
    train(warm, schema, span)  # what every run needs once: imports, thread pools
    _reset_peak()
    before = _peak()
    train(data, schema, span)
    return before, _peak()


def _reset_peak() -> None:
    """Let the peak begin at what is resident now, where the system can do so (Linux)."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:  # noqa: PTH123 - not a path to keep
            file.write("5")
    except OSError:
        return


def _peak() -> int:
    try:
        with open("/proc/self/status", encoding="ascii") as file:  # noqa: PTH123 - not a path to keep
            line = next(line for line in file if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def _fastest(actions: list[Callable[[], Any]], *, repeats: int) -> list[float]:
    seconds = [[0.0] * repeats for _ in actions]
    for repeat in range(repeats):
        for position, action in enumerate(actions):
            start = time.perf_counter()
            action()
            seconds[position][repeat] = time.perf_counter() - start
    return [min(column) for column in seconds]
