"""How two cases differ, feature by feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from dcshap._tables import row_cells
from dcshap.exceptions import InputError
from dcshap.explanation.statement import PartyExplanation, require_one_run
from dcshap.shapley import Explanation

__all__ = ["Contrast", "contrast"]


@dataclass(frozen=True)
class Contrast:
    """How two cases differ.

    Attributes
    ----------
    output : str
        What the contributions are to.
    predictions : pair of float
    frame : DataFrame
        Per feature, the largest difference first: `feature`, `first`, `second` (their cells, where they are known),
        `contribution of first`, `contribution of second`, `difference`. The differences sum to that of predictions.
    """

    output: str
    predictions: tuple[float, float]
    frame: pd.DataFrame


def contrast(
    first: Explanation, second: Explanation, *, samples: tuple[int, int] = (0, 0), output: str | int | None = None
) -> Contrast:
    """What sets two cases apart: explanations of the same output, by the same model, against the same reference.

    Parameters
    ----------
    first, second : Explanation
        They may be the same one, with different `samples`.
    samples : pair of int
    output : str or int, optional
        By default as it is chosen for the first.
    """
    _require_comparable(first, second)
    one, other = first[samples[0]], second[samples[1]]
    at = int(one.chosen_outputs(output)[0])
    n, names = len(one.feature_names), one.feature_names
    values = [each.values.reshape(n, -1)[:, at] for each in (one, other)]
    cells = [row_cells(each.data, 0, names) for each in (one, other)]
    frame = pd.DataFrame(
        {
            "feature": names,
            "first": [cells[0].get(name) for name in names],
            "second": [cells[1].get(name) for name in names],
            "contribution of first": values[0],
            "contribution of second": values[1],
            "difference": values[1] - values[0],
        }
    )
    order = np.argsort(-np.round(np.abs(frame["difference"].to_numpy()), 12), kind="stable")
    predictions = [float(each.predictions.reshape(-1)[at]) for each in (one, other)]
    return Contrast(one.output_names[at], (predictions[0], predictions[1]), frame.iloc[order].reset_index(drop=True))


def _require_comparable(first: Explanation, second: Explanation) -> None:
    if first.feature_names != second.feature_names or first.output_names != second.output_names:
        raise InputError("Two cases can be contrasted only if they are explained by the same features and outputs.")
    if isinstance(first, PartyExplanation) and isinstance(second, PartyExplanation):
        require_one_run({"first": first, "second": second})
        if first.reference_fingerprint != second.reference_fingerprint:
            raise InputError("Two cases can be contrasted only if they are compared with the same reference.")
