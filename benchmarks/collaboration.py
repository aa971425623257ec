"""What Data Collaboration costs beside the model's own fit: time against pooled PCA, memory against the raw matrix.

Time is that of the processor, on one thread, in one process: a busy machine does not add to it, and on an idle one it
is what the clock shows. Both sides run several times over, the fastest counts, and freed memory stays with the
process: how long the system takes to find fresh pages says nothing of either. Memory is the peak of another process,
less what it held when the data were in place.
"""

from __future__ import annotations

import os
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

from dcshap import HorizontalCollaboration
from dcshap.schema import Number, Schema

__all__ = ["run"]

N_COLUMNS, N_COMPONENTS, N_PARTIES = 50, 37, 4
SIZES = {True: 100_000, False: 1_000_000}  # rows, quick or not
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40), "MALLOC_TOP_PAD_": str(2**26)}


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Time and memory per span, as ratios; one row each."""
    return [_measured(SIZES[quick], span) for span in ("private", "shared", "random")]


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
    HorizontalCollaboration(DummyClassifier(), N_COMPONENTS, span=span, schema=schema, random_state=0).fit(data)


def seconds(n_rows: int, span: str) -> tuple[float, float]:
    """Processor seconds of pooled PCA, and of the collaboration's own work."""
    X, data, schema = make(n_rows)
    with threadpool_limits(1):
        return _fastest(lambda: PCA(N_COMPONENTS).fit_transform(X)), _fastest(partial(train, data, schema, span))


def peaks(n_rows: int, span: str) -> tuple[float, float]:
    """Resident bytes with the data in place, and at the peak of a training."""
    _, data, schema = make(n_rows)
    warm = {name: (part[:500], labels[:500]) for name, (part, labels) in data.items()}
    train(warm, schema, span)  # what every run needs once: imports, thread pools
    _reset_peak()
    before = _peak()
    train(data, schema, span)
    return before, _peak()


def _measured(n_rows: int, span: str) -> dict[str, Any]:
    pooled, own = _in_a_process_of_its_own("seconds", n_rows, span, KEEP_MEMORY)
    before, after = _in_a_process_of_its_own("peaks", n_rows, span, {})
    return {
        "rows": n_rows,
        "columns": N_COLUMNS,
        "parties": N_PARTIES,
        "span": span,
        "pooled_pca_seconds": round(pooled, 3),
        "own_work_seconds": round(own, 3),
        "time_ratio": round(own / pooled, 2),
        "time_target": 3.0,
        "memory_ratio": round((after - before) / (n_rows * N_COLUMNS * 8), 2),
        "memory_target": 4.0,
    }


def _in_a_process_of_its_own(function: str, n_rows: int, span: str, environment: dict[str, str]) -> list[float]:
    script = f"from benchmarks import collaboration; print(*collaboration.{function}({n_rows}, {span!r}))"
    done = subprocess.run(  # noqa: S603 - our own interpreter and script
        [sys.executable, "-c", script], env=os.environ | environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return [float(word) for word in done.stdout.split()]


def _fastest(action: Callable[[], Any], *, repeats: int = 6) -> float:
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        taken.append(time.process_time() - start)
    return min(taken)


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
