"""What Algorithms 2 to 4 have in common: the model's outputs, what columns add, where parties' columns are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from dcshap._typing import FloatArray
from dcshap.collaboration.party import Party
from dcshap.exceptions import ModelError
from dcshap.schema import Absent
from dcshap.shapley import Explanation
from dcshap.shapley.game.players import Groups
from dcshap.shapley.options import EngineOptions
from dcshap.shapley.parallel import progress_bar

__all__ = [
    "EngineOptions",
    "RowOptions",
    "averaged",
    "column_offsets",
    "columns_in_common_space",
    "each_reference",
    "outputs_of",
    "parts_of",
]


class RowOptions(EngineOptions, Absent, total=False):
    """The engine's options, what stands for an absent feature, and columns that are one player together."""

    groups: Groups | None


def parts_of(options: RowOptions) -> tuple[Groups | None, Absent, EngineOptions]:
    """Which columns are one player, what stands for an absent feature, and the engine's options."""
    rest: Any = dict(options)
    groups = rest.pop("groups", None)
    absent: Any = {name: rest.pop(name) for name in ("missing", "unknown") if name in rest}
    return groups, absent, rest


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


def columns_in_common_space(widths: Mapping[str, int]) -> dict[str, slice]:
    """Where each party's representation is in the model's input, given how wide the representations are."""
    ends = np.cumsum([0, *widths.values()])
    return {name: slice(int(a), int(b)) for name, (a, b) in zip(widths, pairwise(ends), strict=True)}


def each_reference(n_references: int, options: EngineOptions) -> Iterator[tuple[int, EngineOptions]]:
    """The position of every row of a reference, and the engine's options to explain against it with."""
    if n_references == 1:
        yield 0, options
        return
    # Where values are sampled every reference needs draws of its own, or its errors would be those of the others.
    seeds = np.random.default_rng(options.get("random_state")).integers(2**63, size=n_references)
    quiet: EngineOptions = {**options, "progress": False}  # one bar for all references, not one for each
    with progress_bar(n_references, shown=options.get("progress", False), what="references") as done:
        for at, seed in enumerate(seeds):
            yield at, {**quiet, "random_state": int(seed)}
            done(1)


def averaged(each: Sequence[Explanation]) -> Explanation:
    """Explanations of the same rows, one against each row of a reference, as one against all of them."""
    if len(each) == 1:
        return each[0]
    exact = all(one.exact for one in each)
    variance = np.mean([one.standard_errors**2 for one in each], axis=0) / len(each)
    return replace(
        each[0],
        values=np.mean([one.values for one in each], axis=0),
        base_values=np.mean([one.base_values for one in each], axis=0),
        standard_errors=np.sqrt(variance),
        n_evals=np.sum([one.n_evals for one in each], axis=0),
        converged=np.all([one.converged for one in each], axis=0),
        exact=exact,
        method=each[0].method if exact else "sampled",
    )
