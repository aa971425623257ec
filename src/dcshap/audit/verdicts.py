"""The thresholds of the audit: up to which value a line passes, and beyond which it fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dcshap.exceptions import InputError

__all__ = ["ORDER", "THRESHOLDS", "Threshold", "Thresholds", "Verdict", "chosen_thresholds", "parse_threshold", "worst"]

Verdict = Literal["pass", "warn", "fail"]
ORDER: tuple[Verdict, ...] = ("pass", "warn", "fail")


@dataclass(frozen=True)
class Threshold:
    """A line passes up to `passes` and fails beyond `fails`; the other way round where `passes` is the larger one."""

    passes: float
    fails: float
    words: str = ""

    def verdict(self, value: float) -> Verdict:
        """Pass, fail, or warn between the two; what could not be measured warns."""
        if np.isnan(value):
            return "warn"
        if self.passes > self.fails:  # the more the better
            return "pass" if value >= self.passes else "fail" if value < self.fails else "warn"
        return "pass" if value <= self.passes else "fail" if value > self.fails else "warn"


Thresholds = Mapping[str, Threshold]  # by the name of the measure
THRESHOLDS: Thresholds = {
    "noise": Threshold(0.1, 0.01, "noise over the root mean square of a representation"),
    "lattice": Threshold(
        0.5, 0.999, "bits by which integer relations stand out beyond the controls; half a bit is still chance"
    ),
    "cells": Threshold(0.10, 0.30, "cells read exactly, above the rate of always guessing the most frequent value"),
    "rows": Threshold(0.0, 0.01, "rows read exactly"),
    "columns": Threshold(0.45, 0.65, "R² of the columns' reconstruction, on average"),
    "sensitive": Threshold(0.5, 0.9, "R² of a sensitive column's reconstruction"),
    "linkage": Threshold(0.05, 0.20, "records found as the reconstruction's nearest neighbour"),
    "components": Threshold(0.7, 0.9, "correlation of a component with a sensitive column"),
    "rank": Threshold(0.0, 0.0, "dimensions seen over all trainings beyond those of one"),
    "records": Threshold(-1.0, 4.0, "record vectors that one recipient has, less the columns"),
    "membership": Threshold(0.05, 0.20, "members found at one percent of false alarms"),
    "epsilon": Threshold(3.0, np.inf, "privacy budget of the released sums, in all"),
    "summed rows": Threshold(np.inf, 100.0, "rows of the smaller of two parties whose exact sums are known"),
    "extremes": Threshold(0.0, np.inf, "bounds and classes that point to single rows"),
}


def worst(verdicts: list[Verdict]) -> Verdict:
    """The worst of several verdicts; pass where there is none."""
    return max(verdicts, key=ORDER.index, default="pass")


def chosen_thresholds(overrides: Mapping[str, tuple[float, float]] | None) -> dict[str, Threshold]:
    """The table with a user's own values in place of some."""
    table = dict(THRESHOLDS)
    for name, values in (overrides or {}).items():
        if name not in table:
            raise InputError(f"A threshold must be one of {sorted(table)}. Got {name!r}.")
        passes, fails = (float(value) for value in values)
        if np.isnan(passes) or np.isnan(fails):
            raise InputError(f"The threshold {name!r} needs two numbers: up to which it passes, beyond which it fails.")
        default = table[name]
        if (default.passes > default.fails) != (passes > fails) and passes != fails:
            raise InputError(
                f"The threshold {name!r} must be ordered as its default {default.passes:g}:{default.fails:g} is."
            )
        table[name] = Threshold(passes, fails, default.words)
    return table


def parse_threshold(text: str) -> tuple[str, tuple[float, float]]:
    """`NAME=PASS:FAIL` as a name and two numbers."""
    name, _, values = text.partition("=")
    try:
        passes, fails = (float(part) for part in values.split(":"))
    except ValueError:
        raise InputError(f"A threshold must be written NAME=PASS:FAIL, as in linkage=0.05:0.2. Got {text!r}.") from None
    return name.strip(), (passes, fails)
