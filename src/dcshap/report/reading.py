"""What a picture takes from an explanation: one output of it, as bars with labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dcshap._tables import row_cells
from dcshap._typing import BoolArray, FloatArray, IntArray
from dcshap.exceptions import InputError
from dcshap.explanation.statement import bars_of
from dcshap.report.texts import LONGEST_VALUE, plain_value, shortened
from dcshap.shapley import Explanation
from dcshap.shapley.telling.likeness import as_in_reference

__all__ = [
    "Bar",
    "OneSample",
    "compared_text",
    "contradicting",
    "feature_values",
    "one_output",
    "one_sample",
    "output_name",
    "require_sample",
    "room_for",
    "row_labels",
    "ways_of",
]

INDEX_NAMES = {"shapley": "Shapley values", "owen": "Owen values, parties as blocks"}


@dataclass(frozen=True)
class Bar:
    """One row of a picture: a feature, another party's features, or the features that were folded."""

    name: str
    label: str
    value: float
    error: float
    apart: bool
    same: bool = False  # as in the reference, which its 0 does not say


@dataclass(frozen=True)
class OneSample:
    """One output of one sample, as bars that sum from base value to prediction; the largest first, "DC Features" last.

    `others` says how many features were folded into one bar.
    """

    output: str
    base: float
    prediction: float
    bars: tuple[Bar, ...]
    others: int


def require_sample(explanation: Explanation, sample: int) -> int:
    """The position of a sample, if there is one; negative ones count from the end."""
    if not isinstance(sample, int | np.integer) or not -len(explanation) <= sample < len(explanation):
        raise InputError(f"`sample` must be the position of one of {len(explanation)} samples. Got {sample!r}.")
    return int(sample) % len(explanation)


def output_name(explanation: Explanation, position: int) -> str:
    """What to call an output in a title: `class 1` where outputs are probabilities, else its name."""
    name = shortened(str(explanation.output_names[position]))
    if len(explanation.output_names) == 1:
        return name
    return f"{'class' if explanation.are_probabilities else 'output'} {name}"


def one_output(explanation: Explanation, outputs: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Values (n, M), standard errors (n, M) and base values (n,) of each sample's output."""
    n, n_players = explanation.values.shape[:2]
    shape, rows = (n, n_players, len(explanation.output_names)), np.arange(n)
    values = explanation.values.reshape(shape)[rows, :, outputs]
    errors = explanation.standard_errors.reshape(shape)[rows, :, outputs]
    base = explanation.base_values.reshape(n, -1)[rows, outputs]
    if not (np.isfinite(values).all() and np.isfinite(base).all()):
        raise InputError("Only finite attributions can be drawn. Some values of the explanation are NaN or infinite.")
    return values, np.nan_to_num(errors), base


def one_sample(
    explanation: Explanation, sample: int, output: str | int | None, *, max_features: int | None
) -> OneSample:
    """What there is to show of one sample."""
    at = require_sample(explanation, sample)
    chosen = explanation[at]
    outputs = chosen.chosen_outputs(output)
    values, errors, base = one_output(chosen, outputs)
    apart = np.isin(explanation.feature_names, list(bars_of(explanation)))
    own = np.flatnonzero(~apart)
    own = own[np.argsort(-np.abs(values[0, own]), kind="stable")]
    shown, folded = _cut(own, max_features)
    labels, same = row_labels(explanation, at), as_in_reference(explanation, at)

    def bar(j: int) -> Bar:
        name = explanation.feature_names[j]
        return Bar(name, labels[j], float(values[0, j]), float(errors[0, j]), bool(apart[j]), name in same)

    bars = [bar(int(j)) for j in shown]
    if len(folded):
        name = f"{len(folded)} other features"
        # A sum's standard error is at most the sum of them; and as all bars sum to a known total, also at most the
        # sum of those of all other bars.
        error = min(errors[0, folded].sum(), errors[0].sum() - errors[0, folded].sum())
        bars.append(Bar(name, name, float(values[0, folded].sum()), float(error), False))
    bars += [bar(int(j)) for j in np.flatnonzero(apart)]
    prediction = float(base[0] + values[0].sum())
    return OneSample(output_name(chosen, int(outputs[0])), float(base[0]), prediction, tuple(bars), len(folded))


def _cut(own: IntArray, max_features: int | None) -> tuple[IntArray, IntArray]:
    """The players shown, and those folded into one bar."""
    room = room_for(len(own), max_features)
    return own[:room], own[room:]


def room_for(n_features: int, max_features: int | None) -> int:
    """How many features have a row of their own, where those that do not fit share one."""
    if max_features is None or n_features <= max_features:
        return n_features
    if max_features < 2:
        raise InputError(
            f"`max_features` must be at least 2, as the last row is for all other features, or None. "
            f"Got {max_features!r}."
        )
    return max_features - 1


def feature_values(explanation: Explanation, sample: int) -> list[str | None]:
    """The sample's value of each player as text; None where a player is not a column of the data."""
    names = explanation.feature_names
    cells = row_cells(explanation.data, sample, names)
    return [plain_value(cells[name]) if name in cells else None for name in names]


def row_labels(explanation: Explanation, sample: int) -> list[str]:
    """`feature = value` of every player; other parties' features have no value to show."""
    texts = feature_values(explanation, sample)
    return [
        _label(name, None if name in bars_of(explanation) else text)
        for name, text in zip(explanation.feature_names, texts, strict=True)
    ]


def _label(name: str, value: str | None) -> str:
    short = shortened(name)
    return short if value is None else f"{short} = {shortened(value, LONGEST_VALUE)}"


def ways_of(explanation: Explanation) -> str:
    """Which values these are and how sure: "Shapley values, exact", "Owen values, parties as blocks, exact"."""
    which = INDEX_NAMES.get(explanation.index, f"{explanation.index} values")
    how = "exact" if explanation.exact else "sampled"
    eyes = f", view of {shortened(explanation.view)}" if explanation.view else ""
    return f"{which}, {how}{eyes}"


def compared_text(explanations: Iterable[Explanation]) -> str:
    """Whom several explanations compare with, where that is the same for all."""
    said = {each.compared_with for each in explanations}
    return f"Compared with {said.pop()}" if len(said) == 1 else "Each explanation compares with its own reference"


def contradicting(values: FloatArray, threshold: float) -> BoolArray:
    """Where, among parties' values (parties, M), two have opposite signs and are both larger than the threshold."""
    return np.asarray((values.max(axis=0) > threshold) & (values.min(axis=0) < -threshold))
