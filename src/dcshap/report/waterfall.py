"""One sample: from base value to prediction, one bar per feature."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dcshap._typing import FloatArray
from dcshap.report.reading import Bar, OneSample, one_sample, require_sample, ways_of
from dcshap.report.style import (
    HATCH,
    INK,
    MUTED,
    NORMAL,
    PAPER,
    finish_axes,
    finished,
    label_rows,
    new_figure,
    rule_above_apart,
    sign_colour,
)
from dcshap.report.texts import decimals_for, fixed, signed
from dcshap.shapley import Explanation
from dcshap.shapley.telling.likeness import AS_REFERENCE

__all__ = ["describe_waterfall", "waterfall"]

BAR_HEIGHT = 0.62
MAX_FEATURES = 15


def waterfall(
    explanation: Explanation,
    sample: int = 0,
    output: str | int | None = None,
    *,
    max_features: int | None = MAX_FEATURES,
) -> Figure:
    """How one prediction comes about: base value at the bottom, prediction at the top, one bar per feature between.

    The features of other parties, "DC Features", are hatched and stand apart below a rule. Sampled values have
    whiskers of one standard error.

    Parameters
    ----------
    explanation : Explanation
    sample : int, default 0
    output : str or int, optional
        By name or position. By default of two classes the second, of more the predicted one.
    max_features : int or None, default 15
        How many bars for features to draw; those with the smallest contributions are folded into one that says how
        many they are, and whose whisker is an upper bound. None draws all.
    """
    shown = one_sample(explanation, sample, output, max_features=max_features)
    decimals = _decimals(shown)
    figure = new_figure(
        0.75 + 0.27 * (len(shown.bars) + 2),
        title=f"Sample {require_sample(explanation, sample)}, {shown.output}: {fixed(shown.prediction, decimals)}",
        subtitle=(
            f"Compared with {explanation.compared_with}\n{ways_of(explanation)}"
            + ("" if explanation.exact else "; whiskers: one standard error")
        ),
    )
    axes = figure.add_subplot()
    rising = shown.bars[::-1]  # drawn from the bottom
    ends = shown.base + np.cumsum([0.0, *(bar.value for bar in rising)])
    _draw_bars(axes, rising, ends, whiskers=not explanation.exact)
    _draw_ends(axes, ends)
    rows = range(len(rising) + 2)
    label_rows(axes, rows, ["base value", *(bar.label for bar in rising), "prediction"])
    texts = [_value_text(bar, decimals, with_error=not explanation.exact) for bar in rising]
    _label_values(axes, [fixed(ends[0], decimals), *texts, fixed(ends[-1], decimals)])
    _set_limits(axes, rising, ends)
    finish_axes(axes, xlabel="model output")
    return finished(figure)


def describe_waterfall(
    explanation: Explanation,
    sample: int = 0,
    output: str | int | None = None,
    *,
    max_features: int | None = MAX_FEATURES,
) -> str:
    """The same picture in words, for those who do not see it."""
    shown = one_sample(explanation, sample, output, max_features=max_features)
    decimals = _decimals(shown)
    bars = "; ".join(
        f"{bar.label}: {_value_text(bar, decimals, with_error=not explanation.exact)}" for bar in shown.bars
    )
    return (
        f"Waterfall of {ways_of(explanation)} for {shown.output}, from base value {fixed(shown.base, decimals)} to "
        f"prediction {fixed(shown.prediction, decimals)}. Compared with {explanation.compared_with}. {bars}."
    )


def _decimals(shown: OneSample) -> int | None:
    return decimals_for(max(abs(shown.base), abs(shown.prediction), *(abs(bar.value) for bar in shown.bars)))


def _value_text(bar: Bar, decimals: int | None, *, with_error: bool) -> str:
    if bar.same:
        return AS_REFERENCE
    return signed(bar.value, decimals) + (f" ± {fixed(bar.error, decimals)}" if with_error else "")


def _draw_bars(axes: Axes, bars: tuple[Bar, ...], ends: FloatArray, *, whiskers: bool) -> None:
    for row, bar in enumerate(bars, 1):
        axes.barh(
            row,
            bar.value,
            left=ends[row - 1],
            height=BAR_HEIGHT,
            color=sign_colour(bar.value),
            edgecolor=PAPER if bar.apart else "none",
            hatch=HATCH if bar.apart else "",
            linewidth=0,
            label=bar.name,
        )
        if whiskers and bar.error > 0:
            axes.errorbar(ends[row], row, xerr=bar.error, fmt="none", ecolor=INK, elinewidth=1, capsize=2.5)
    n_apart = sum(bar.apart for bar in bars)
    if 0 < n_apart < len(bars):
        rule_above_apart(axes, n_apart + 0.5)


def _draw_ends(axes: Axes, ends: FloatArray) -> None:
    """The running total between the rows, and where it starts and stops."""
    for row, end in enumerate(ends):
        axes.plot([end, end], [row, row + 1], color=MUTED, linewidth=0.8, zorder=0.9)
    for row, end in ((0, ends[0]), (len(ends), ends[-1])):
        axes.plot([end], [row], marker="D", markersize=5, color=INK, linestyle="none")


def _label_values(axes: Axes, texts: list[str]) -> None:
    """The numbers in a column of their own, where no bar can cover them."""
    for row, text in enumerate(texts):
        axes.text(
            1.015,
            row,
            text,
            transform=axes.get_yaxis_transform(),
            va="center",
            fontsize=NORMAL,
            color=INK,
            parse_math=False,
            fontweight="bold" if row in (0, len(texts) - 1) else "normal",
        )


def _set_limits(axes: Axes, bars: tuple[Bar, ...], ends: FloatArray) -> None:
    errors = np.array([0.0, *(bar.error for bar in bars)])
    low, high = float((ends - errors).min()), float((ends + errors).max())
    room = 0.04 * (high - low) or 0.5 * max(abs(high), 1.0)
    axes.set_xlim(low - room, high + room)
    axes.set_ylim(-0.6, len(bars) + 1.6)
