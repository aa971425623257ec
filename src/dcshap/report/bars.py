"""Several methods, all features: how far the parties' explanations differ."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from dcshap.exceptions import InputError
from dcshap.explanation import Disagreement
from dcshap.report.style import INK, MUTED, finish_axes, finished, label_rows, legend_below, new_figure, series_style
from dcshap.report.texts import decimals_for, fixed, shortened

__all__ = ["rmse_bars"]

GROUP_HEIGHT = 0.78
MAX_FEATURES = 30


def rmse_bars(
    disagreements: Mapping[str, Disagreement | pd.Series[float]],
    *,
    spread: Mapping[str, pd.Series[float]] | None = None,
    max_features: int | None = MAX_FEATURES,
) -> Figure:
    """The root mean square difference between the parties' explanations, per feature, one bar per method.

    Parameters
    ----------
    disagreements : mapping of method to Disagreement, or to a Series of RMSE by feature
        A Series for what no single `Disagreement` holds, such as the mean over several seeds.
    spread : mapping of method to Series by feature, optional
        Half the length of the whiskers, such as the standard deviation over seeds.
    max_features : int or None, default 30
        Of more features those that differ most are drawn, and the picture says so. Averages are of all features.
    """
    frame = _frame(disagreements)
    whiskers = _frame(spread).reindex(index=frame.index) if spread else pd.DataFrame(index=frame.index)
    unknown = set(whiskers.columns) - set(frame.columns)
    if unknown:
        raise InputError(f"`spread` must be of the methods {list(frame.columns)}. Got {sorted(unknown)} too.")
    shown = _shown(frame, max_features)
    cut = "" if len(shown) == len(frame) else f", the {len(shown)} of {len(frame)} that differ most"
    figure = new_figure(
        0.7 + 0.17 * len(frame.columns) + len(shown) * (0.1 + 0.13 * len(frame.columns)),
        title="How far the parties' explanations differ",
        subtitle="Root mean square difference of the attributions, per feature" + cut,
    )
    axes = figure.add_subplot()
    height = GROUP_HEIGHT / len(frame.columns)
    rows = np.arange(len(shown), dtype=np.float64)
    decimals = decimals_for(float(frame.to_numpy().mean(axis=0).max()))
    handles = []
    for at, method in enumerate(frame.columns):
        average = fixed(frame[method].mean(), decimals)
        handles.append(Patch(label=f"{shortened(method)}, on average {average}", **series_style(at)))
        axes.barh(
            rows + (at - (len(frame.columns) - 1) / 2) * height,
            frame.loc[shown, method],
            height=height,
            xerr=whiskers.loc[shown, method] if method in whiskers else None,
            error_kw={"ecolor": INK, "elinewidth": 0.9, "capsize": 2},
            label=method,
            **series_style(at),
        )
    label_rows(axes, rows.tolist(), [shortened(name) for name in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlim(left=0, right=None if frame.loc[shown].to_numpy().any() else 1)
    finish_axes(axes, xlabel="RMSE")
    legend_below(axes, handles)
    axes.axvline(0, color=MUTED, linewidth=0.8)
    return finished(figure)


def _frame(given: Mapping[str, Disagreement | pd.Series[float]] | Mapping[str, pd.Series[float]]) -> pd.DataFrame:
    """Features by methods."""
    if not isinstance(given, Mapping) or not given:
        raise InputError("Bars need a mapping of at least one method to its disagreement.")
    columns = {
        method: each.rmse_per_feature if isinstance(each, Disagreement) else each for method, each in given.items()
    }
    first = next(iter(columns.values()))
    for method, column in columns.items():
        if set(column.index) != set(first.index):
            raise InputError(f"All methods must be of the same {len(first)} features. {method!r} is of others.")
    frame = pd.DataFrame({method: column.reindex(first.index) for method, column in columns.items()})
    if not np.isfinite(frame.to_numpy(dtype=np.float64)).all():
        raise InputError("Only finite differences can be drawn. Some are NaN or infinite.")
    return frame


def _shown(frame: pd.DataFrame, max_features: int | None) -> list[str]:
    """The features to draw, in the order given."""
    if max_features is None or len(frame) <= max_features:
        return list(frame.index)
    if max_features < 1:
        raise InputError(f"`max_features` must be at least 1, or None for all. Got {max_features!r}.")
    largest = frame.max(axis=1).sort_values(ascending=False, kind="stable").index[:max_features]
    return [name for name in frame.index if name in set(largest)]
