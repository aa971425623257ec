"""Cells: the pieces that an experiment's work falls into, computed once and kept.

A cell is a function and its arguments. Its result is plain JSON, written to a folder as soon as it is there, so that
an interrupted run goes on where it stopped. A result is used again only by the same code: the key holds the package's
version and a hash of the sources that results depend on.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

import joblib
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from dcshap.exceptions import PrivacyWarning, QualityWarning, RangeWarning, ReferenceWarning

__all__ = ["Cell", "Results", "run_cells"]

Results = dict["Cell", Any]

_PACKAGE = Path(__file__).parents[1]
_ABOVE = ("cli", "desk", "federation", "report", "tracking")  # no result depends on these


@dataclass(frozen=True)
class Cell:
    """A function and its arguments, all of them plain values."""

    task: Callable[..., Any]
    arguments: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, task: Callable[..., Any], **arguments: Any) -> Self:
        """The cell of a call."""
        return cls(task, tuple(sorted(arguments.items())))

    @property
    def key(self) -> dict[str, Any]:
        """What tells this cell from all others, and from itself in other versions."""
        return {
            "task": f"{self.task.__module__}.{self.task.__qualname__}",
            "arguments": dict(self.arguments),
            "version": importlib.metadata.version("dcshap"),
            "sources": _sources(),
        }

    def run(self) -> Any:
        """Compute the result.

        One thread per cell: cells run side by side, and sums of the same numbers come out the same on any machine.
        What the parties would be warned of is known here: the paper's anchor is uniform, held-out rows may exceed
        the ranges of the training rows, a skewed party's rows lie far from the others', and the neural network stops
        after a fixed number of steps.
        """
        with threadpool_limits(1), warnings.catch_warnings():
            for category in (PrivacyWarning, QualityWarning, RangeWarning, ReferenceWarning, ConvergenceWarning):
                warnings.simplefilter("ignore", category)
            return self.task(**dict(self.arguments))


def run_cells(cells: Iterable[Cell], *, folder: Path, n_jobs: int | None = -1, progress: bool | None = None) -> Results:
    """The results of all cells, from the folder where they are there: it keeps them, a JSON file each.

    Processes are counted as joblib does. A bar on stderr shows the `progress`; by default where that is a terminal.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = list(dict.fromkeys(cells))
    results: Results = {cell: kept for cell in wanted if (kept := _kept(cell, folder)) is not None}
    missing = [cell for cell in wanted if cell not in results]
    jobs = joblib.Parallel(n_jobs=n_jobs if len(missing) > 1 else 1, return_as="generator_unordered")
    with _bar(len(wanted), done=len(results), shown=progress) as advance:
        for cell, result in jobs(joblib.delayed(_computed)(cell) for cell in missing):
            _keep(cell, result, folder)
            # What was written is what a later run will read.
            results[cell] = json.loads(json.dumps(result))
            advance()
    return results


def _computed(cell: Cell) -> tuple[Cell, Any]:
    return cell, cell.run()


def _file(cell: Cell, folder: Path) -> Path:
    digest = hashlib.sha256(json.dumps(cell.key, sort_keys=True).encode()).hexdigest()[:20]
    return folder / f"{cell.task.__module__.rpartition('.')[2]}-{digest}.json"


def _kept(cell: Cell, folder: Path) -> Any:
    """The result in the folder; None where there is none, or a run was stopped while it wrote."""
    file = _file(cell, folder)
    if not file.exists():
        return None
    try:
        return json.loads(file.read_text(encoding="utf-8"))["result"]
    except (ValueError, KeyError):
        return None


def _keep(cell: Cell, result: Any, folder: Path) -> None:
    """Write a result under another name first: a file of the right name is always whole."""
    file = _file(cell, folder)
    part = file.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps({"key": cell.key, "result": result}, allow_nan=False), encoding="utf-8")
    part.replace(file)


@cache
def _sources() -> str:
    """A hash of every source file that a result can depend on."""
    digest = hashlib.sha256()
    for file in sorted(_PACKAGE.rglob("*.py")):
        if file.relative_to(_PACKAGE).parts[0] not in _ABOVE:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def _bar(total: int, *, done: int, shown: bool | None) -> Iterator[Callable[[], None]]:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    hidden = not (console.is_terminal if shown is None else shown)
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("experiments", total=total, completed=done)
        yield lambda: bar.advance(task)
