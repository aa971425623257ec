"""What an experiment is, and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from dcshap.paper.cells import Cell, Results
from dcshap.report import Picture

__all__ = ["Experiment", "Group", "Options", "Outcome", "Row", "by_seed", "factor_of", "mean_and_sd", "table_of"]

Row = dict[str, Any]
Group = tuple[dict[str, str], list[Cell]]  # arguments, and the cells that have them in common

NO_DIFFERENCE = 1e-9  # below it values differ by rounding, and a factor would say nothing
SMALL = 5e-4  # what three decimals would show as nothing


@dataclass(frozen=True)
class Options:
    """What was asked for; None leaves it to the experiment."""

    settings: tuple[str, ...] | None = None
    splits: tuple[str, ...] | None = None
    n_seeds: int | None = None
    datasets: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Outcome:
    """Rows for machines; text, tables by caption and pictures by the name of their file for people."""

    rows: list[Row]
    text: str
    tables: dict[str, pd.DataFrame]
    pictures: dict[str, Picture] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """An experiment: the cells that it needs, and what it makes of their results."""

    name: str
    title: str
    groups: Callable[[Options], list[Group]]
    outcome: Callable[[Options, Results], Outcome]

    def cells(self, options: Options) -> list[Cell]:
        """The cells of all groups."""
        return [cell for _, group in self.groups(options) for cell in group]


def by_seed(task: Callable[..., Any], options: Options, *, n_seeds: int, **defaults: Iterable[str]) -> list[Group]:
    """A group for each combination of a task's arguments, with one cell per seed.

    `defaults` are the values of each argument, such as `setting`, `split` and `dataset`, unless options ask for others.
    """
    asked = {"setting": options.settings, "split": options.splits, "dataset": options.datasets}
    wanted = [asked.get(name) or values for name, values in defaults.items()]
    seeds = range(options.n_seeds or n_seeds)
    places = [dict(zip(defaults, values, strict=True)) for values in product(*wanted)]
    return [(where, [Cell.of(task, **where, seed=seed) for seed in seeds]) for where in places]


def mean_and_sd(values: list[float]) -> tuple[float, float | None]:
    """Mean and standard deviation over seeds; of one seed there is no deviation."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


def factor_of(before: float, after: float) -> float | None:
    """How many times smaller a difference has become; None where none is left to divide by."""
    return before / after if after > NO_DIFFERENCE else None


def table_of(rows: list[Row], columns: dict[str, str]) -> pd.DataFrame:
    """Some fields of rows under the headings that a reader sees.

    A field that has a deviation beside it (its name and `_sd`) is shown as `mean ± deviation`; one that is None, as
    missing.
    """
    return pd.DataFrame([{heading: _cell(row, name) for name, heading in columns.items()} for row in rows])


def _cell(row: Row, name: str) -> Any:
    value, sd = row.get(name), row.get(f"{name}_sd")
    if isinstance(value, float) and value != 0 and abs(value) < SMALL:
        return f"{value:.1e}"
    if sd is not None and value is not None:
        return f"{value:.3f} ± {sd:.3f}"
    return round(value, 3) if isinstance(value, float) else value
