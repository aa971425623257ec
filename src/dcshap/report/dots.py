"""Many samples and several views: each dot is a feature of one sample."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dcshap._typing import FloatArray
from dcshap.exceptions import InputError
from dcshap.explanation.statement import bars_of
from dcshap.report.reading import compared_text, one_output, output_name, ways_of
from dcshap.report.style import (
    MUTED,
    PAPER,
    finish_axes,
    finished,
    label_rows,
    new_figure,
    rule_above_apart,
    sign_colour,
    width_for,
)
from dcshap.report.texts import shortened
from dcshap.shapley import Explanation

__all__ = ["dots"]

HALF_ROW = 0.36
STEP = 0.07  # between two dots of the same value, in rows
BINS = 70
PANELS_PER_LINE = 3


def dots(explanations: Mapping[str, Explanation], output: str | int | None = None) -> Figure:
    """Compare views of the same samples: one panel per view, features in fixed order, each dot one sample.

    Features that a view does not show have no dots in its panel. Those of other parties, "DC Features", are diamonds
    below a rule.

    Parameters
    ----------
    explanations : mapping of view to Explanation
    output : str or int, optional
        By name or position. By default of two classes the second, of more the one predicted for each sample.
    """
    if not isinstance(explanations, Mapping) or not explanations:
        raise InputError("Dots need a mapping of at least one view to its explanation.")
    rows = _rows_of(explanations)
    labels = [shortened(name, 28) for name in rows]
    n_columns = min(len(explanations), PANELS_PER_LINE)
    n_lines = -(-len(explanations) // n_columns)
    first = next(iter(explanations.values()))
    figure = new_figure(
        n_lines * (0.95 + 0.3 * len(rows)),
        title=_title(first, output),
        subtitle=compared_text(explanations.values()),
        width=max(5.4, width_for(labels, panels=n_columns, each=2.1)),
    )
    panels = figure.subplots(n_lines, n_columns, sharex=True, sharey=True, squeeze=False).ravel()
    extent, n_apart = _extent(explanations, output), len(_apart(explanations))
    for axes, (view, explanation) in zip(panels, explanations.items(), strict=False):
        _draw(axes, explanation, rows, output, extent)
        if 0 < n_apart < len(rows):
            rule_above_apart(axes, len(rows) - n_apart - 0.5)
        title = f"{shortened(view, 30)}\n{_ways(explanation)}"
        finish_axes(axes, xlabel="contribution", title=title, ticks=5)
    for axes in panels[len(explanations) :]:
        axes.set_visible(False)
    label_rows(panels[0], range(len(rows)), labels)
    panels[0].set_ylim(len(rows) - 0.4, -0.6)
    return finished(figure)


def _ways(explanation: Explanation) -> str:
    """Shapley or Owen, and how sure: what a panel is must stand above it."""
    which, *rest = ways_of(explanation).split(", ")
    return f"{which}, {'exact' if 'exact' in rest else 'sampled'}"


def _title(explanation: Explanation, output: str | int | None) -> str:
    chosen = set(explanation.chosen_outputs(output).tolist())
    of = output_name(explanation, chosen.pop()) if len(chosen) == 1 else "each sample's predicted class"
    return f"Contributions to {of}, {len(explanation)} samples"


def _rows_of(explanations: Mapping[str, Explanation]) -> list[str]:
    """The features of all views in the order in which they come first; other parties' features last."""
    names = list(dict.fromkeys(name for each in explanations.values() for name in each.feature_names))
    apart = _apart(explanations)
    return [name for name in names if name not in apart] + [name for name in names if name in apart]


def _apart(explanations: Mapping[str, Explanation]) -> set[str]:
    """The rows that stand for other parties' features."""
    return {bar for each in explanations.values() for bar in bars_of(each)}


def _extent(explanations: Mapping[str, Explanation], output: str | int | None) -> float:
    widest = [np.abs(one_output(each, each.chosen_outputs(output))[0]).max(initial=0) for each in explanations.values()]
    return float(max(widest)) or 1.0


def _draw(axes: Axes, explanation: Explanation, rows: list[str], output: str | int | None, extent: float) -> None:
    values, apart = one_output(explanation, explanation.chosen_outputs(output))[0], bars_of(explanation)
    for j, name in enumerate(explanation.feature_names):
        x, row = values[:, j], rows.index(name)
        axes.scatter(
            x,
            row + _swarm(x, extent),
            s=15 if name in apart else 13,
            marker="D" if name in apart else "o",
            c=[sign_colour(value) for value in x],
            edgecolors=PAPER,
            linewidths=0.3,
            label=name,
        )
    axes.axvline(0, color=MUTED, linewidth=0.8, zorder=0)
    axes.set_xlim(-1.08 * extent, 1.08 * extent)


def _swarm(x: FloatArray, extent: float) -> FloatArray:
    """How far each dot moves up or down, so that equal values do not hide each other: 0, +1, −1, +2, … steps."""
    bins = np.floor((x + extent) / (2 * extent) * BINS)
    rank = np.zeros(len(x))
    for each in np.unique(bins):
        inside = np.flatnonzero(bins == each)
        rank[inside] = np.arange(len(inside))
    steps = np.ceil(rank / 2) * np.where(rank % 2 == 1, 1.0, -1.0)
    return np.asarray(steps * min(STEP, HALF_ROW / max(np.abs(steps).max(initial=0), 1.0)))
