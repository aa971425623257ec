"""The page of an audit: what each attack recovers, of which columns, and what to change."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dcshap.audit import THRESHOLDS, Audit, Line
from dcshap.report.page import KeyFigures, Note, Paragraph, Picture, Report, Section, Table
from dcshap.report.style import finish_axes, finished, label_rows, new_figure, series_style
from dcshap.report.texts import shortened

__all__ = ["audit_report", "audit_section", "exposure_bars"]

MAX_COLUMNS = 40
MEANING = {
    "pass": "No attack recovers more than the thresholds allow.",
    "warn": "Some attack recovers more than should be taken for granted: read its line before anything more is sent.",
    "fail": "Some attack recovers too much. What was sent so must be taken to be known to the attacker.",
}


def exposure_bars(per_column: Mapping[str, float], *, title: str) -> Figure:
    """What an attack recovers of each column, from 0 to 1, most first."""
    shares = pd.Series(dict(per_column), dtype=np.float64).sort_values(ascending=False, kind="stable")
    shown = shares.iloc[:MAX_COLUMNS]
    cut = "" if len(shown) == len(shares) else f", the {len(shown)} of {len(shares)} that most is recovered of"
    figure = new_figure(0.9 + 0.24 * len(shown), title=title, subtitle="Recovered of each column, 1 is all of it" + cut)
    axes = figure.add_subplot()
    at = np.arange(len(shown), dtype=np.float64)
    axes.barh(at, shown.clip(0, 1), height=0.6, **series_style(0))
    label_rows(axes, at.tolist(), [shortened(name) for name in shown.index])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    finish_axes(axes, xlabel="recovered")
    return finished(figure)


def audit_section(audit: Audit) -> Section:
    """What the attacks on a party's release recovered."""
    counts = {verdict: sum(line.verdict == verdict for line in audit.lines) for verdict in ("pass", "warn", "fail")}
    table = pd.DataFrame(
        [
            {
                "attack": line.attack,
                "attacker": line.attacker,
                "verdict": line.verdict,
                "value": f"{line.value:.3g}" if math.isfinite(line.value) else "–",
                "what was found": line.words,
            }
            for line in audit.lines
        ]
    )
    changes = [Paragraph(f"{line.attack}: {line.advice}") for line in audit.lines if line.advice]
    overridden = [
        Note(f"The threshold {name!r} is not the default: passes up to {passes:g}, fails beyond {fails:g}.")
        for name, (passes, fails) in audit.overridden.items()
    ]
    return Section(
        f"Audit of party {audit.party}: {audit.verdict}",
        [
            Paragraph(MEANING[audit.verdict]),
            KeyFigures(counts),
            *(Note(text) for text in audit.notes),
            *overridden,
            Table(table, "Every attack, who could run it, and what it finds"),
            *([Section("What to change", changes)] if changes else []),
            Section("Column by column", [_bars(line) for line in audit.lines if line.per_column]),
        ],
    )


def _bars(line: Line) -> Picture:
    most = sorted(line.per_column.items(), key=lambda item: -item[1])[:3]
    said = ", ".join(f"{name} {share:.2f}" for name, share in most)
    alt = f"Bars of what the attack '{line.attack}' recovers of each column; most of {said}."
    return Picture(exposure_bars(line.per_column, title=f"{line.attack} ({line.attacker})"), alt, line.words)


def audit_report(audit: Audit) -> Report:
    """One page about one party's audit."""
    limits = pd.DataFrame(
        [
            {"threshold": name, "of": each.words, "passes up to": f"{each.passes:g}", "fails beyond": f"{each.fails:g}"}
            for name, each in THRESHOLDS.items()
        ]
    )
    lead = "Attacks that the party ran on its own release, on its own rows. Nothing has left the party for it."
    return Report(
        f"What attackers learn of {audit.party}",
        [audit_section(audit), Section("Thresholds", [Table(limits, "Default thresholds of the verdicts")])],
        lead,
    )
