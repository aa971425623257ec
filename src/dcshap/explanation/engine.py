"""From a model and what a party knows to an explanation: the one place that calls the Shapley engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypedDict, Unpack

import numpy as np
from sklearn.base import is_classifier

from dcshap._typing import BoolArray, FloatArray
from dcshap.collaboration.party import Party
from dcshap.exceptions import ModelError
from dcshap.shapley import Explanation, shapley_values

__all__ = ["EngineOptions", "column_offsets", "explain_indicators", "outputs_of"]


class EngineOptions(TypedDict, total=False):
    """What `shapley_values` can be told; every `explain` passes it on."""

    method: Any
    max_evals: Any
    tol: float | None
    batch_size: int | None
    n_jobs: int | None
    random_state: Any
    progress: bool


def outputs_of(model: Any) -> Callable[[FloatArray], FloatArray]:
    """What is explained of a model: class probabilities, or scores where it has none; a regressor's prediction."""
    names = ("predict_proba", "decision_function") if is_classifier(model) else ("predict",)
    for name in names:
        if hasattr(model, name):
            method: Callable[[FloatArray], FloatArray] = getattr(model, name)
            return method
    raise ModelError(f"{type(model).__name__} must have one of {list(names)} to be explained.")


def column_offsets(party: Party, codes: FloatArray, reference: FloatArray, weights: FloatArray) -> FloatArray:
    """What each raw column of rows (n, M) adds, in a space that is linear in the coordinates through weights (p, d).

    Returns
    -------
    array of shape (n, M, d)
        `d_i = (enc_i(x_i) − enc_i(r_i)) @ W_i`.
    """
    encoder = party.anchor.encoder
    shifted = party.anchor.encode(codes) - party.anchor.encode(reference[None, :])
    return np.stack([shifted[:, block] @ weights[block] for block in encoder.blocks], axis=1)


def explain_indicators(
    model: Any,
    points: Callable[[int, BoolArray], FloatArray],
    *,
    n_samples: int,
    names: tuple[str, ...],
    index: str = "shapley",
    blocks: Any = None,
    **options: Unpack[EngineOptions],
) -> Explanation:
    """Explain games whose model input is no sum: it is asked for, sample by sample, given who is in.

    Parameters
    ----------
    model : fitted estimator
    points : callable
        Maps a sample's number and coalitions (n, M), who is in, to the model's input (n, d).
    n_samples : int
    names : tuple of str, length M
    """
    outputs = outputs_of(model)
    inside, outside = np.ones((1, len(names))), np.zeros(len(names))
    games: dict[str, Any] = {"groups": {name: [i] for i, name in enumerate(names)}, "index": index, "blocks": blocks}
    explained = []
    for sample in range(n_samples):

        def predict(rows: FloatArray, sample: int = sample) -> FloatArray:
            return outputs(points(sample, rows > 0.5))

        explained.append(shapley_values(predict, inside, outside, **games, **options))
    first = explained[0]
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(each, name) for each in explained])
        for name in ("values", "base_values", "standard_errors", "n_evals", "converged")
    }
    return replace(first, **joined, exact=all(e.exact for e in explained), output_names=output_names(model, first))


def output_names(model: Any, explained: Explanation) -> tuple[str, ...]:
    """The classes of a classifier as the names of an explanation's outputs."""
    classes = tuple(str(label) for label in getattr(model, "classes_", ()))
    return classes if len(classes) == len(explained.output_names) else explained.output_names
