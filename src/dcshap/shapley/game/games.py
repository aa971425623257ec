"""Interfaces between solvers, model inputs and models.

A game gives every coalition of players a value (one number per output of the model). `Game` is the game of one
sample, all that sampling needs. `Games` holds the games of many samples of one model, and evaluates `Span`s of
coalitions from several of them in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from dcshap._typing import BoolArray, FloatArray, IntArray
from dcshap.shapley.game.coalitions import proper
from dcshap.shapley.game.model import Predict, answers

__all__ = ["Evaluator", "Game", "Games", "ModelEvaluator", "Points", "SampleGame", "Span", "Unions"]


Unions = tuple[tuple[int, ...], ...]
_NO_SUMS = "These points are not sums of what players add."


class Game(Protocol):
    """One sample's game."""

    @property
    def n_players(self) -> int:
        """How many play."""

    @property
    def n_outputs(self) -> int:
        """How many numbers the value of a coalition has."""

    def __call__(self, coalitions: BoolArray, /) -> FloatArray:
        """Values, shape (n_coalitions, n_outputs), of coalitions, shape (n_coalitions, n_players)."""


@dataclass(frozen=True)
class Span:
    """Coalitions `start` to `stop` of one sample's game between unions of players.

    Bit `i` of a coalition stands for `unions[i]`, a tuple of players that come and go together; players in no
    union stay out. `stop - start` is a power of two and `start` a multiple of it.

    The first `n_own` unions are the players to be valued; those that follow are the blocks of an Owen value. With
    `proper`, coalitions with none or all of the first `n_own` are left out.
    """

    sample: int
    unions: Unions
    n_own: int
    proper: bool
    start: int
    stop: int

    @property
    def n_blocks(self) -> int:
        """How many unions play as blocks."""
        return len(self.unions) - self.n_own

    @property
    def n_low(self) -> int:
        """How many unions vary within the span; those above are in or out throughout."""
        return (self.stop - self.start).bit_length() - 1

    def kept(self) -> BoolArray | None:
        """Which coalitions from `start` to `stop` belong to the span; `None` if all do."""
        return proper(self.n_own, self.start, self.stop) if self.proper else None

    def __len__(self) -> int:
        kept = self.kept()
        return self.stop - self.start if kept is None else int(kept.sum())


class Points(Protocol):
    """Where the rows that a model sees come from.

    The methods with a body suit points of numbers, one per coalition, of which nothing more is known.
    """

    @property
    def n_samples(self) -> int:
        """How many samples there are."""

    @property
    def n_players(self) -> int:
        """How many players each game has."""

    @property
    def n_rows(self) -> int:
        """How many rows the model sees for one coalition; their answers are averaged."""
        return 1

    @property
    def width(self) -> int:
        """How many columns a row has."""

    def null_players(self) -> BoolArray:
        """Which players change nothing at all in a sample's rows, shape (n_samples, n_players)."""

    def of_span(self, span: Span) -> Any:
        """Rows of a span's coalitions, `n_rows` for each."""

    def of_spans(self, spans: Sequence[Span], sums: tuple[FloatArray, FloatArray]) -> FloatArray:  # noqa: ARG002
        """Of such sums, which `additive` has: rows (n_spans, stop - start, d) of spans over the same coalitions.

        Those that `proper` leaves out are among them.
        """
        return np.stack([self.of_span(replace(span, proper=False)) for span in spans])

    def of_coalitions(self, sample: int, coalitions: BoolArray) -> Any:
        """Rows of any coalitions, shape (n_coalitions, n_players), `n_rows` for each."""

    def of_ends(self, unions: Sequence[Unions] | None) -> tuple[Any, Any]:
        """Rows of the empty coalition, of all samples or one for all, and of each sample's grand coalition.

        They are those of the games between `unions`, one entry per sample, or between single players.
        """

    def stacked(self, parts: Sequence[Any]) -> Any:
        """Several such tables as one."""
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @property
    def are_sums(self) -> bool:
        """Whether rows are points of real numbers, to which each player adds something."""
        return False

    @property
    def are_sums_of_each_row(self) -> bool:
        """Whether that holds for each reference row by itself, as `of_base` takes them."""
        return self.are_sums

    def of_base(self, row: int) -> Points:  # noqa: ARG002 - there is one
        """The same games against one of the reference rows."""
        return self

    @property
    def are_numbers(self) -> bool:
        """Whether rows, of which there may be several for one coalition, are exactly such sums."""
        return False

    def linear_ends(self, sample: int) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        """Of such sums: the empty and the grand coalition's rows, both of shape (n_rows, d) or (1, d)."""
        raise TypeError(_NO_SUMS)

    def added(self, sample: int, weights: FloatArray) -> FloatArray:  # noqa: ARG002
        """Of such sums: what each player adds to linear maps (d, h) of a row, shape (n_rows, n_players, h)."""
        raise TypeError(_NO_SUMS)

    def added_on_average(self, samples: IntArray, weights: FloatArray) -> FloatArray:  # noqa: ARG002
        """The same of several samples, averaged over the reference rows, shape (len(samples), n_players, h)."""
        raise TypeError(_NO_SUMS)

    def numbers(self, rows: Any) -> FloatArray:
        """Rows as numbers."""
        return np.asarray(rows, dtype=np.float64)

    def column_owners(self) -> IntArray | None:
        """The player of each column of a row; None where a player may change any column."""
        return None

    def additive(self, spans: Sequence[Span]) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        """Where rows are sums: bases and offsets whose subset sums they are, of spans with equally many unions.

        The sums may differ from the rows by rounding, and by no more than `slack` in every coordinate.

        Returns
        -------
        bases : array of shape (n_spans, d)
        offsets : array of shape (n_spans, n_unions, d)
        """
        raise TypeError(_NO_SUMS)

    @property
    def slack(self) -> float:
        """How far a row may be from the sum it stands for, beside rounding of floats."""
        return 0.0


class Evaluator(Protocol):
    """How the values of coalitions are had from a model."""

    @property
    def in_threads(self) -> bool:
        """Whether several evaluations run at once in one process; those of a model written in Python do not."""
        return False

    @property
    def complement(self) -> bool:
        """Whether values are of the second of two outputs only, the first being 1 less the second."""
        return False

    @property
    def of_rows(self) -> Callable[[FloatArray], FloatArray] | None:
        """Values (n, n_outputs) of any rows (n, d), if that is faster than asking the model."""
        return None

    def __call__(self, points: Points, groups: Sequence[Sequence[Span]], /) -> list[FloatArray]:
        """Values of groups of spans; those of a group are over the same coalitions.

        Returns
        -------
        list of arrays of shape (len(span), n_spans, n_outputs)
        """


@dataclass(frozen=True)
class ModelEvaluator(Evaluator):
    """The general way: one call of the model for everything."""

    predict: Predict

    def __call__(self, points: Points, groups: Sequence[Sequence[Span]], /) -> list[FloatArray]:
        """Values of groups of spans, shapes (len(span), n_spans, n_outputs)."""
        rows = points.stacked([points.of_span(span) for group in groups for span in group])
        values = _averaged(answers(self.predict, rows).values, points.n_rows)
        sizes = [len(group) * len(group[0]) for group in groups]
        parts = np.split(values, np.cumsum(sizes)[:-1])
        return [
            part.reshape(len(group), len(group[0]), -1).swapaxes(0, 1)
            for group, part in zip(groups, parts, strict=True)
        ]


@dataclass(frozen=True)
class Games:
    """The games of many samples of one model."""

    points: Points
    predict: Predict
    evaluator: Evaluator

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        return self.points.n_samples

    @property
    def n_players(self) -> int:
        """How many players each game has."""
        return self.points.n_players

    def active_players(self, null_players: BoolArray) -> list[tuple[int, ...]]:
        """For every sample the players that may change something; the others get exactly 0."""
        active = ~null_players
        players, stops = np.nonzero(active)[1].tolist(), [0, *np.cumsum(active.sum(axis=1)).tolist()]
        return [tuple(players[start:stop]) for start, stop in pairwise(stops)]

    def values(self, groups: Sequence[Sequence[Span]]) -> list[FloatArray]:
        """Values of groups of spans over the same coalitions, shapes (len(span), n_spans, n_outputs)."""
        return self.evaluator(self.points, groups)

    def coalition_values(self, sample: int, coalitions: BoolArray) -> FloatArray:
        """Values, shape (n_coalitions, n_outputs), of one sample's coalitions, shape (n_coalitions, n_players)."""
        rows = self.points.of_coalitions(sample, coalitions)
        faster = self.evaluator.of_rows
        values = answers(self.predict, rows).values if faster is None else faster(rows)
        return _averaged(values, self.points.n_rows)

    def ends(self, unions: Sequence[Unions] | None = None) -> Ends:
        """Values of the empty coalition, straight from the model, and of the grand coalition of every sample.

        The games are those between unions of players, one entry per sample, or between single players.
        """
        empty, grand = self.points.of_ends(unions)
        faster = self.evaluator.of_rows
        answered = answers(self.predict, empty if faster else self.points.stacked([empty, grand]))
        base = _averaged(answered.values[: len(empty)], self.points.n_rows)
        full = faster(grand) if faster else answered.values[len(empty) :]
        return Ends(np.broadcast_to(base, full.shape), full, answered.scalar, answered.precision)


@dataclass(frozen=True)
class Ends:
    """Values of the empty (`base`) and grand (`full`) coalitions, both of shape (n_samples, n_outputs)."""

    base: FloatArray
    full: FloatArray
    scalar: bool
    precision: float


@dataclass(frozen=True)
class SampleGame:
    """One sample's game between some of its players, the others being out."""

    games: Games
    sample: int
    players: tuple[int, ...]
    n_outputs: int
    batch_size: int

    @property
    def n_players(self) -> int:
        """How many play."""
        return len(self.players)

    def __call__(self, coalitions: BoolArray, /) -> FloatArray:
        """Values, shape (n_coalitions, n_outputs), of coalitions, shape (n_coalitions, n_players)."""
        everyone = np.zeros((len(coalitions), self.games.n_players), dtype=bool)
        everyone[:, list(self.players)] = coalitions
        step = max(1, self.batch_size // self.games.points.n_rows)
        parts = [
            self.games.coalition_values(self.sample, everyone[at : at + step]) for at in range(0, len(everyone), step)
        ]
        return np.concatenate(parts) if parts else np.empty((0, self.n_outputs))


def _averaged(values: FloatArray, n_rows: int) -> FloatArray:
    return values if n_rows == 1 else values.reshape(-1, n_rows, values.shape[1]).mean(axis=1)
