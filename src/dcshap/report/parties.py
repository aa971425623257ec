"""One sample, several parties: do they explain the same prediction alike?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from dcshap._typing import BoolArray, FloatArray
from dcshap.exceptions import InputError
from dcshap.explanation.statement import bars_of
from dcshap.report.reading import (
    compared_text,
    contradicting,
    one_output,
    output_name,
    require_sample,
    room_for,
    row_labels,
    ways_of,
)
from dcshap.report.style import (
    BAND,
    MUTED,
    SMALL,
    WIDTH,
    finish_axes,
    finished,
    label_rows,
    legend_below,
    new_figure,
    series_style,
    text_width,
    width_for,
)
from dcshap.report.texts import decimals_for, fixed, shortened
from dcshap.shapley import Explanation
from dcshap.shapley.telling.likeness import TYPICAL, as_in_reference

__all__ = ["side_by_side"]

GROUP_HEIGHT = 0.74
MAX_FEATURES = 15

Panels = Mapping[str, Mapping[str, Explanation]]


@dataclass(frozen=True)
class Panel:
    """What the parties say by one method: values (parties, rows), base values and predictions (parties,)."""

    parties: tuple[str, ...]
    values: FloatArray
    base: FloatArray
    predictions: FloatArray
    contradictory: BoolArray


def side_by_side(
    explanations: Mapping[str, Explanation] | Panels,
    sample: int = 0,
    output: str | int | None = None,
    *,
    threshold: float = 0.05,
    max_features: int | None = MAX_FEATURES,
) -> Figure:
    """The explanations that several parties give of one prediction, bar next to bar.

    Features for which two parties have opposite signs, both larger than the threshold, are contradictions: their rows
    are shaded.

    Parameters
    ----------
    explanations : mapping of party to Explanation, or of method to such a mapping
        With methods, one panel each: `{"KernelSHAP": {"north": …, "south": …}, "DC-SHAP": {…}}`.
    sample : int, default 0
    output : str or int, optional
        By name or position. By default of two classes the second, of more the one that the first party predicts.
    threshold : float, default 0.05
    max_features : int or None, default 15
        The features with the smallest contributions are folded into one row that says how many they are; a
        contradiction is never folded.
    """
    panels = _panels(explanations)
    first = next(iter(next(iter(panels.values())).values()))
    at = require_sample(first, sample)
    chosen = int(first[at].chosen_outputs(output)[0])
    read = {method: _read(each, at, chosen, threshold) for method, each in panels.items()}
    order, folded = _order(first, list(read.values()), max_features)
    labels = _labels(first, at, list(read.values()))
    apart = [first.feature_names[j] in bars_of(first) for j in order]
    names = [labels[j] for j, other in zip(order, apart, strict=True) if not other]
    names += [f"{len(folded)} other features"] if len(folded) else []
    names += [labels[j] for j, other in zip(order, apart, strict=True) if other]
    n_parties = max(len(each.parties) for each in read.values())
    compared = compared_text(each for panel in panels.values() for each in panel.values())
    figure = new_figure(
        (1.2 if "" in read else 1.4) + 0.17 * n_parties + len(names) * (0.1 + 0.11 * n_parties),
        title=f"Sample {at}, {output_name(first, chosen)}, as each party explains it",
        subtitle=f"{compared}\n{ways_of(first)}; beside each party its base value → prediction",
        width=max(WIDTH, width_for(names, panels=len(read), each=max(2.3, _legend_width(read.values())))),
    )
    axes_of = figure.subplots(1, len(read), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (method, panel) in zip(axes_of, read.items(), strict=True):
        rows = _with_folded(panel, order, folded, apart)
        _draw(axes, rows, threshold=threshold)
        finish_axes(axes, xlabel="contribution", title=shortened(method), ticks=5)
    label_rows(axes_of[0], range(len(names)), names)
    axes_of[0].set_ylim(len(names) - 0.5, -0.5)
    return finished(figure)


def _panels(explanations: Mapping[str, Explanation] | Panels) -> dict[str, dict[str, Explanation]]:
    """Methods and parties, checked: all of the same features and outputs, so that their rows mean the same."""
    if not isinstance(explanations, Mapping) or not explanations:
        raise InputError("A comparison needs a mapping of parties to explanations, or of methods to such mappings.")
    nested = {method: dict(each) for method, each in explanations.items() if isinstance(each, Mapping)}
    if nested and len(nested) < len(explanations):
        raise InputError("Either all entries must be explanations, or all must be mappings of parties to explanations.")
    flat = {name: each for name, each in explanations.items() if isinstance(each, Explanation)}
    panels = nested or {"": flat}
    every = [each for panel in panels.values() for each in panel.values()]
    if not every or not all(isinstance(each, Explanation) for each in every) or not all(panels.values()):
        raise InputError("Every party needs its explanation.")
    first = every[0]
    for each in every:
        if each.feature_names != first.feature_names or each.output_names != first.output_names:
            raise InputError("All parties' explanations must be of the same features and outputs.")
        if len(each) != len(first) or each.index != first.index:
            raise InputError("All parties' explanations must be of the same samples and the same index.")
    return panels


def _labels(first: Explanation, sample: int, panels: list[Panel]) -> list[str]:
    """The rows' names; those of features that contribute nothing to any panel because they are typical say so."""
    same = as_in_reference(first, sample)
    everywhere = ~np.any([panel.values.any(axis=0) for panel in panels], axis=0)
    return [
        f"{label} ({TYPICAL})" if name in same and zero else label
        for name, label, zero in zip(first.feature_names, row_labels(first, sample), everywhere, strict=True)
    ]


def _read(parties: Mapping[str, Explanation], sample: int, output: int, threshold: float) -> Panel:
    rows = [one_output(each[sample], np.array([output])) for each in parties.values()]
    values = np.concatenate([each[0] for each in rows])
    base = np.concatenate([each[2] for each in rows])
    return Panel(tuple(parties), values, base, base + values.sum(axis=1), contradicting(values, threshold))


def _order(first: Explanation, panels: list[Panel], max_features: int | None) -> tuple[list[int], list[int]]:
    """The features to draw, largest first and other parties' last; and those to fold."""
    size = np.max([np.abs(panel.values).max(axis=0) for panel in panels], axis=0)
    keep = np.any([panel.contradictory for panel in panels], axis=0)
    apart = np.isin(first.feature_names, list(bars_of(first)))
    own = [int(j) for j in np.argsort(-size, kind="stable") if not apart[j]]
    room = room_for(len(own), max_features)
    folded = [j for j in own[room:] if not keep[j]]
    folded = folded if len(folded) > 1 else []  # one alone would take as much room
    shown = [j for j in own if j not in folded]
    return shown + [int(j) for j in np.flatnonzero(apart)], folded


def _with_folded(panel: Panel, order: list[int], folded: list[int], apart: list[bool]) -> Panel:
    """The panel's rows as they are drawn."""
    own = [j for j, other in zip(order, apart, strict=True) if not other]
    others = [j for j, other in zip(order, apart, strict=True) if other]
    rest = [panel.values[:, folded].sum(axis=1, keepdims=True)] if folded else []
    values = np.concatenate([panel.values[:, own], *rest, panel.values[:, others]], axis=1)
    marks = np.concatenate([panel.contradictory[own], np.zeros(len(rest), dtype=np.bool_), panel.contradictory[others]])
    return Panel(panel.parties, values, panel.base, panel.predictions, marks)


def _legend(panel: Panel) -> list[str]:
    """Each party with where its explanation starts and ends."""
    decimals = decimals_for(float(max(np.abs(panel.base).max(), np.abs(panel.predictions).max())))
    return [
        f"{shortened(party, 20)}: {fixed(base, decimals)} → {fixed(prediction, decimals)}"
        for party, base, prediction in zip(panel.parties, panel.base, panel.predictions, strict=True)
    ]


def _legend_width(panels: Iterable[Panel]) -> float:
    texts = [text for panel in panels for text in _legend(panel)]
    return text_width(texts, size=SMALL) + 0.5


def _draw(axes: Axes, panel: Panel, *, threshold: float) -> None:
    n_parties = len(panel.parties)
    height = GROUP_HEIGHT / n_parties
    rows = np.arange(panel.values.shape[1])
    handles: list[Patch] = []
    for at, (party, label) in enumerate(zip(panel.parties, _legend(panel), strict=True)):
        offset = (at - (n_parties - 1) / 2) * height
        axes.barh(rows + offset, panel.values[at], height=height, label=party, **series_style(at))
        handles.append(Patch(label=label, **series_style(at)))
    for row in np.flatnonzero(panel.contradictory):
        axes.axhspan(row - 0.5, row + 0.5, color=BAND, zorder=0, linewidth=0)
    if panel.contradictory.any():
        handles.append(Patch(label=f"opposite signs, both over {threshold:g}", facecolor=BAND))
    axes.axvline(0, color=MUTED, linewidth=0.8)
    axes.margins(x=0.06)
    legend_below(axes, handles)
