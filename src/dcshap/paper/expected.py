"""The figures that this version gives, with tolerances: what a change must not move unnoticed.

`expected.json` holds them, each group with the options that make its rows. Groups marked fast take seconds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from dcshap.paper.outcome import Options, Row

__all__ = ["Expectation", "expectations"]


@dataclass(frozen=True)
class Expectation:
    """An experiment with options, and for some of its rows the figures and how far they may be off."""

    experiment: str
    options: Options
    fast: bool
    rows: tuple[tuple[Row, dict[str, tuple[float, float]]], ...]  # (where, {figure: (value, tolerance)})

    def misses(self, found: Sequence[Row]) -> list[str]:
        """A sentence for every figure that is not as expected, and every row that is not there."""
        sentences = []
        for where, figures in self.rows:
            fitting = [row for row in found if all(row.get(name) == value for name, value in where.items())]
            name = f"{self.experiment} {where}"
            if len(fitting) != 1:
                sentences.append(f"{name}: there must be one such row, and there are {len(fitting)}.")
                continue
            sentences += [
                f"{name}: {figure} must be {value:g} ± {tolerance:g}. Got {fitting[0][figure]}."
                for figure, (value, tolerance) in figures.items()
                if fitting[0][figure] is None or abs(fitting[0][figure] - value) > tolerance
            ]
        return sentences


def expectations() -> list[Expectation]:
    """What `expected.json` holds."""
    content = json.loads(files("dcshap.paper").joinpath("expected.json").read_text(encoding="utf-8"))
    return [_expectation(entry) for entry in content]


def _expectation(entry: Mapping[str, Any]) -> Expectation:
    options: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in entry["options"].items()
    }
    rows = [
        (row["where"], {name: (value, tolerance) for name, (value, tolerance) in row["figures"].items()})
        for row in entry["rows"]
    ]
    return Expectation(entry["experiment"], Options(**options), entry["fast"], tuple(rows))
