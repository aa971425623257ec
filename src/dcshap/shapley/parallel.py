"""Tasks over cores or a cluster, and the bar that says how far they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import joblib
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

__all__ = ["progress_bar", "run"]

Result = TypeVar("Result")


def run(
    task: Callable[..., Result], arguments: Iterable[tuple[Any, ...]], *, n_jobs: int | None, in_threads: bool
) -> Iterator[Result]:
    """Results of `task(*a) for a in arguments`, in that order, as they become ready.

    `n_jobs` and the backend are joblib's: within `joblib.parallel_config(backend="dask")` the tasks run on the
    cluster. Otherwise they run in threads if the task works in parallel there, and else in processes.
    """
    parallel = joblib.Parallel(n_jobs=n_jobs, prefer="threads" if in_threads else "processes", return_as="generator")
    results: Iterator[Result] = parallel(joblib.delayed(task)(*each) for each in arguments)
    return results


@contextmanager
def progress_bar(total: int, *, shown: bool, what: str = "samples") -> Iterator[Callable[[int], None]]:
    """A function that takes the number of samples newly done; with `shown`, a bar on stderr follows it."""
    if not shown:
        yield lambda _: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(what),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    # On a screen the bar vanishes once it is full; in a file its last state is all there is to see.
    with Progress(*columns, console=console, transient=console.is_terminal) as bar:
        task = bar.add_task("explaining", total=total)
        yield lambda done: bar.advance(task, done)
