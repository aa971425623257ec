"""Timing, and what becomes of a benchmark's rows: a table for people, a file for machines."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

__all__ = ["PACKAGES", "RESULTS", "best_time", "show", "told", "write"]

Row = dict[str, Any]
Result = TypeVar("Result")

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("dcshap", "numpy", "scikit-learn", "numba", "shap", "shapiq", "lightshap")


def best_time(
    task: Callable[[], Result],
    *,
    at_least: float = 1.0,
    at_most: int = 7,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, Result]:
    """Seconds of the fastest run, and what it returned; repeated until a second has passed or seven runs are done.

    With `clock=time.process_time`, seconds of the processor: for work on one core, whatever else the machine does.
    """
    best, total, runs = float("inf"), 0.0, 0
    while True:
        start = clock()
        result = task()
        seconds = clock() - start
        best, total, runs = min(best, seconds), total + seconds, runs + 1
        if total >= at_least or runs >= at_most:
            return best, result


def show(name: str, rows: list[Row], console: Console) -> None:
    """Print the rows as a table."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = Table(title=name)
    for column in columns:
        table.add_column(column, justify="left" if isinstance(rows[0].get(column), str) else "right")
    for row in rows:
        table.add_row(*(_shown(row.get(column)) for column in columns))
    console.print(table)


def told(rows: Iterable[Row]) -> Iterator[Row]:
    """The same rows, each printed to stderr as soon as it is there."""
    for row in rows:
        print(", ".join(f"{key} {_shown(value)}" for key, value in row.items()), file=sys.stderr, flush=True)
        yield row


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def write(name: str, rows: list[Row]) -> Path:
    """Write the rows, with the versions and the machine they were measured with, to `results/<name>.json`."""
    RESULTS.mkdir(exist_ok=True)
    about = {
        "benchmark": name,
        "versions": {package: version(package) for package in PACKAGES},
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
    }
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")
    return path
