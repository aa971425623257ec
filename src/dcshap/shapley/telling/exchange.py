"""Explanations as tables for other tools, and as shap's explanations and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dcshap._tables import as_frame, row_cells
from dcshap._typing import FloatArray, IntArray
from dcshap.exceptions import InputError
from dcshap.shapley.telling.likeness import Explained, as_in_reference

if TYPE_CHECKING:
    import shap

__all__ = ["fields_from_shap", "frame_of", "row_names", "shap_of"]


def row_names(explained: Explained) -> list[Any]:
    """The samples' own names: a frame's index, or their positions."""
    data = explained.data
    return list(data.index) if isinstance(data, pd.DataFrame) else list(range(len(explained)))


def frame_of(explained: Explained, outputs: IntArray | None = None) -> pd.DataFrame:
    """One row per sample, output and player, of all outputs or of one (n,) of each sample.

    `value` is the feature's, `contribution` what it adds to the output.
    """
    n, n_players = explained.values.shape[:2]
    n_outputs = len(explained.output_names)
    chosen = np.tile(np.arange(n_outputs), (n, 1)) if outputs is None else np.asarray(outputs)[:, None]
    shape, names = (n, n_players, n_outputs), row_names(explained)
    values, errors = explained.values.reshape(shape), explained.standard_errors.reshape(shape)
    base, predictions = explained.base_values.reshape(n, -1), explained.predictions.reshape(n, -1)
    rows = []
    for at in range(n):
        cells, same = row_cells(explained.data, at, explained.feature_names), as_in_reference(explained, at)
        for k in chosen[at]:
            head = (at, names[at], explained.output_names[k])
            ends = (base[at, k], predictions[at, k])
            rows += [
                (*head, name, cells.get(name), values[at, j, k], errors[at, j, k], name in same, *ends)
                for j, name in enumerate(explained.feature_names)
            ]
    columns = ["sample", "row", "output", "feature", "value", "contribution", "standard_error", "as_in_reference"]
    # As objects: what is missing must stay apart from what another party holds, which is None.
    values_as_given = pd.Series([row[4] for row in rows], dtype=object)
    return pd.DataFrame(rows, columns=[*columns, "base_value", "prediction"]).assign(value=values_as_given)


def shap_of(explained: Explained) -> shap.Explanation:
    """The same as a `shap.Explanation`."""
    import shap  # noqa: PLC0415 - an optional dependency

    data = None if explained.data is None else np.asarray(explained.data)
    if data is not None and data.shape[1] != explained.values.shape[1]:
        data = None  # players are groups of columns: shap has no place for that
    return shap.Explanation(
        values=explained.values,
        base_values=explained.base_values,
        data=data,
        feature_names=list(explained.feature_names),
        output_names=list(explained.output_names) if explained.values.ndim == 3 else None,
        error_std=None if explained.exact else explained.standard_errors,
    )


def fields_from_shap(theirs: shap.Explanation) -> dict[str, Any]:
    """What an explanation is made of, from a `shap.Explanation` of several samples."""
    values = np.asarray(theirs.values, dtype=np.float64)
    if values.ndim not in (2, 3):
        raise InputError(f"A `shap.Explanation` must have samples and features. Its values have shape {values.shape}.")
    n, n_players, *outputs = values.shape
    base: FloatArray = np.asarray(theirs.base_values, dtype=np.float64)
    if base.shape == (n, 1) and not outputs:
        base = base[:, 0]
    errors = None if theirs.error_std is None else np.asarray(theirs.error_std, dtype=np.float64)
    features = theirs.feature_names
    return {
        "values": values,
        "base_values": np.array(np.broadcast_to(base, (n, *outputs))),
        "feature_names": _names(features, n_players, "x{}"),
        "output_names": _names(theirs.output_names, outputs[0], "output {}") if outputs else ("output",),
        "index": "shapley",
        "method": "exact" if errors is None else "sampled",
        "exact": errors is None,
        "n_evals": np.zeros(n, dtype=np.int64),
        "standard_errors": np.zeros(values.shape) if errors is None else errors,
        "converged": np.ones(n, dtype=bool),
        "data": _cells(theirs.data, features),
    }


def _names(given: Sequence[Any] | None, n: int, otherwise: str) -> tuple[str, ...]:
    return tuple(map(str, given)) if given is not None and len(given) == n else tuple(map(otherwise.format, range(n)))


def _cells(data: Any, names: Sequence[Any] | None) -> pd.DataFrame | None:
    if data is None:
        return None
    frame = as_frame(data)
    return frame if names is None or len(names) != frame.shape[1] else frame.set_axis(list(map(str, names)), axis=1)
