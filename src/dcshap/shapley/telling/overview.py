"""An explanation as a notebook shows it: what it is, what it compares with, and its largest contributions."""

from __future__ import annotations

import numpy as np

from dcshap._html import paragraph, snippet, table
from dcshap._tables import plain_value, row_cells
from dcshap.shapley.telling.likeness import AS_REFERENCE, Explained, as_in_reference

__all__ = ["overview_of"]

SHOWN = 10


def overview_of(explained: Explained, title: str) -> str:
    """The largest contributions of one sample; of several, how much each player contributes on average."""
    if not len(explained):
        return snippet(title)
    compared = paragraph(f"Compared with {explained.compared_with}.")
    return snippet(title, compared, _one(explained) if len(explained) == 1 else _several(explained))


def _one(explained: Explained) -> str:
    k = int(explained.chosen_outputs()[0])
    values = explained.values.reshape(*explained.values.shape[:2], -1)[0, :, k]
    ends = [float(np.atleast_2d(of.reshape(1, -1))[0, k]) for of in (explained.base_values, explained.predictions)]
    cells, same = row_cells(explained.data, 0, explained.feature_names), as_in_reference(explained, 0)
    order = np.argsort(-np.abs(values), kind="stable")[:SHOWN]
    names = [explained.feature_names[j] for j in order]
    rows = [
        (name, plain_value(cells[name]) if name in cells else "–", AS_REFERENCE if name in same else _signed(values[j]))
        for name, j in zip(names, order, strict=True)
    ]
    told = f"{explained.output_names[k]}: {_plain(ends[1])}, from a base value of {_plain(ends[0])}."
    return paragraph(told) + table(["feature", "value", "contribution"], rows) + _rest(explained)


def _several(explained: Explained) -> str:
    chosen = explained.chosen_outputs()
    values = explained.values.reshape(*explained.values.shape[:2], -1)[np.arange(len(explained)), :, chosen]
    size, mean = np.abs(values).mean(axis=0), values.mean(axis=0)
    order = np.argsort(-size, kind="stable")[:SHOWN]
    rows = [(explained.feature_names[j], _plain(size[j]), _signed(mean[j])) for j in order]
    outputs = sorted({explained.output_names[k] for k in chosen})
    told = paragraph(f"Contributions to {outputs[0] if len(outputs) == 1 else 'the predicted class'}.")
    return told + table(["feature", "mean size", "mean"], rows) + _rest(explained)


def _rest(explained: Explained) -> str:
    left = len(explained.feature_names) - SHOWN
    return paragraph(f"and {left} more") if left > 0 else ""


def _plain(number: float) -> str:
    return f"{number:.3g}".replace("-", "−")


def _signed(number: float) -> str:
    return "0" if number == 0 else f"{number:+.3g}".replace("-", "−")
