"""Values of models with a closed form: recognise the form, check it, solve it, check the values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dcshap._typing import BoolArray, FloatArray, IntArray
from dcshap.shapley.exact.closed import closed_values
from dcshap.shapley.game.forms import Form, GaussianForm, QuadraticForm
from dcshap.shapley.game.games import Ends, Games
from dcshap.shapley.game.model import answers
from dcshap.shapley.models.recognition import claimed_forms, holds

__all__ = ["TOLERANCE", "WrittenDown", "form_of", "solve_written_down"]

# Values are believed if they are off by no more than this part of the outputs' scale.
TOLERANCE = 1e-10

_N_PROBES = 6  # coalitions of each of the first, a middle and the last sample
NOT_AS_WRITTEN = "The model does not answer as its coefficients say: coalitions are evaluated instead."
TOO_FAR = (
    "The model's projections reach too far for a sum of exponentials to follow it to ten digits: coalitions are "
    "evaluated instead."
)


@dataclass(frozen=True)
class WrittenDown:
    """Values (len(samples), n_players, K) of the samples that were solved, and how; `notes` on those that were not."""

    samples: IntArray
    values: FloatArray
    way: str
    notes: tuple[str, ...] = ()


def solve_written_down(
    games: Games, ends: Ends, samples: IntArray, *, blocks: Sequence[Sequence[int]] | None
) -> WrittenDown:
    """Solve those of the samples whose values are known to ten digits of their outputs' scale."""
    n_outputs = ends.full.shape[1]
    nothing = WrittenDown(samples[:0], np.empty((0, games.n_players, n_outputs)), "exact")
    form, claimed = form_of(games, samples)
    if form is None:
        return WrittenDown(nothing.samples, nothing.values, nothing.way, (NOT_AS_WRITTEN,) if claimed else ())
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not believed
        found = closed_values(games.points, form, samples, n_outputs, blocks=blocks)
        solved = _believed(found.values, found.error, ends.base[samples], ends.full[samples])
    notes = () if solved.all() else (TOO_FAR,)
    return WrittenDown(samples[solved], found.values[solved], _way(form), notes)


def form_of(games: Games, samples: IntArray) -> tuple[Form | None, bool]:
    """The form that the model has on some of the games' rows, and whether it claimed any."""
    if not games.points.are_numbers:
        return None, False
    rng = np.random.default_rng(0)
    looked_at = np.unique(samples[[0, len(samples) // 2, -1]]).tolist()
    rows = []
    for sample in looked_at:
        inside = rng.random((_N_PROBES, games.n_players)) < rng.random((_N_PROBES, 1))
        rows.append(games.points.of_coalitions(sample, inside))
    probes = games.points.stacked(rows)
    answered = answers(games.predict, probes).values
    numbers = games.points.numbers(probes)
    claimed = False
    for form in claimed_forms(games.predict, numbers, answered):
        claimed = True
        if holds(form, numbers, answered) and _holds_at_extremes(form, games, looked_at):
            return form, True
    return None, claimed


def _holds_at_extremes(form: Form, games: Games, samples: Sequence[int]) -> bool:
    """Whether the form holds where its projections are lowest and highest: a model that clips shows it there."""
    if isinstance(form, GaussianForm):
        return True
    weights = form.linear if isinstance(form, QuadraticForm) else form.weights.reshape(len(form.weights), -1)
    weights = weights[:, :_N_PROBES]
    inside = [games.points.added(sample, weights)[0].T > 0 for sample in samples]
    rows = [games.points.of_coalitions(at, np.concatenate([up, ~up])) for at, up in zip(samples, inside, strict=True)]
    probes = games.points.stacked(rows)
    return holds(form, games.points.numbers(probes), answers(games.predict, probes).values)


def _believed(values: FloatArray, error: FloatArray, base: FloatArray, full: FloatArray) -> BoolArray:
    """Which samples' values are within their tolerance, by their bound and by what they add up to."""
    scale = np.max([np.abs(base).max(axis=1), np.abs(full).max(axis=1), np.abs(values).max(axis=(1, 2))], axis=0)
    off = np.abs(base + values.sum(axis=1) - full).max(axis=1)
    return np.asarray((error <= TOLERANCE * scale) & (off <= TOLERANCE * scale), dtype=bool)


def _way(form: Form) -> str:
    if isinstance(form, QuadraticForm):
        return "linear" if form.quadratic is None else "quadratic"
    return "product"
