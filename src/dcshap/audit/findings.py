"""What an audit found: one line per attack, and the worst of them as the verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd

from dcshap._html import paragraph, snippet, table
from dcshap.audit.verdicts import ORDER, Thresholds, Verdict, worst

__all__ = ["ALONE", "Audit", "Line"]

ALONE = "analyst"  # who has nothing but what it was sent


@dataclass(frozen=True)
class Line:
    """One attack on a party's release.

    Attributes
    ----------
    attack : str
    attacker : str
        Who could run it; "analyst" is the analyst alone.
    measure : str
        Name of the threshold that the value is held against.
    value : float
        NaN where it could not be measured.
    verdict : {"pass", "warn", "fail"}
    words : str
        What was found, and what it means.
    advice : str
        What to change; empty where nothing needs to be.
    per_column : mapping of str to float
        What the attack recovers of single columns, from 0 to 1; empty where it is not about columns.
    """

    attack: str
    attacker: str
    measure: str
    value: float
    verdict: Verdict
    words: str
    advice: str = ""
    per_column: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def judged(
        cls, attack: str, attacker: str, measure: str, value: float, words: str, *, table: Thresholds, advice: str
    ) -> Line:
        """The line of a value, held against the threshold of its measure; advice is given unless it passes."""
        verdict = table[measure].verdict(value)
        return cls(attack, attacker, measure, value, verdict, words, "" if verdict == "pass" else advice)

    def to_dict(self) -> dict[str, Any]:
        """Plain content; a value that could not be measured is None."""
        return asdict(self) | {"value": self.value if math.isfinite(self.value) else None}


@dataclass(frozen=True)
class Audit:
    """What attackers would learn from a party's release.

    Attributes
    ----------
    party : str
    lines : tuple of Line
    notes : tuple of str
        How rows were sampled, and what is assumed of a release that is not made yet.
    overridden : mapping of str to (float, float)
        The thresholds that are not the default ones: passes up to, fails beyond.
    """

    party: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    overridden: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """The worst of the lines' verdicts."""
        return worst([line.verdict for line in self.lines])

    def exit_code(self, *, strict: bool = False) -> int:
        """0 pass, 1 warn, 2 fail; `strict` counts a warning as failure."""
        code = ORDER.index(self.verdict)
        return 2 if strict and code else code

    def to_dict(self) -> dict[str, Any]:
        """Plain content, as JSON has it. It has columns' names and shares, no data values."""
        return {
            "party": self.party,
            "verdict": self.verdict,
            "lines": [line.to_dict() for line in self.lines],
            "notes": list(self.notes),
            "overridden": {name: list(values) for name, values in self.overridden.items()},
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per line."""
        shown = ("attack", "attacker", "measure", "value", "verdict", "words", "advice")
        return pd.DataFrame([{name: getattr(line, name) for name in shown} for line in self.lines])

    def _repr_html_(self) -> str:
        """The table, as a notebook shows it; texts are escaped."""
        rows = [(each.attack, each.attacker, each.verdict, each.words) for each in self.lines]
        parts = [table(["attack", "attacker", "verdict", "finding"], rows), *map(paragraph, self.notes)]
        return snippet(f"Audit of party {self.party!r}: {self.verdict}", *parts)

    def __str__(self) -> str:
        lines = [f"Audit of party {self.party!r}: {self.verdict}"]
        lines += [f"  {line.verdict:4}  {line.attack} ({line.attacker}): {line.words}" for line in self.lines]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)
