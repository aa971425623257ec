"""Points of games that a function gives: a sample and its coalitions in, the model's input out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dcshap._typing import BoolArray, FloatArray
from dcshap.shapley.game.coalitions import membership
from dcshap.shapley.game.games import Points, Span, Unions

__all__ = ["CoalitionPoints", "PointsOf"]

PointsOf = Callable[[int, BoolArray], FloatArray]


@dataclass(frozen=True)
class CoalitionPoints(Points):
    """Points that are not sums of what players add: a function is called with the sample and who is in."""

    points_of: PointsOf  # maps a sample's number and coalitions (n_coalitions, M) to points (n_coalitions, d)
    null: BoolArray  # (n_samples, n_players), which players are known to change nothing

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        return len(self.null)

    @property
    def n_players(self) -> int:
        """How many players each game has."""
        return int(self.null.shape[1])

    @property
    def width(self) -> int:
        """How many coordinates a point has."""
        return int(self.points_of(0, np.zeros((1, self.n_players), dtype=bool)).shape[1])

    def null_players(self) -> BoolArray:
        """Players that are known to change nothing, shape (n_samples, n_players)."""
        return self.null

    def of_span(self, span: Span) -> FloatArray:
        """Points of a span's coalitions."""
        bits = membership(len(span.unions), span.start, span.stop)
        kept = span.kept()
        inside = np.zeros((span.stop - span.start, self.n_players), dtype=bool)
        for position, union in enumerate(span.unions):
            inside[:, list(union)] = bits[:, [position]]
        return self.points_of(span.sample, inside if kept is None else inside[kept])

    def of_coalitions(self, sample: int, coalitions: BoolArray) -> FloatArray:
        """Points of any coalitions, shape (n_coalitions, n_players)."""
        return self.points_of(sample, coalitions)

    def of_ends(self, unions: Sequence[Unions] | None) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002 - everybody plays
        """Every sample's points with nobody in, and with everybody."""
        ends = np.array([[False], [True]]).repeat(self.n_players, axis=1)
        points = np.stack([self.points_of(sample, ends) for sample in range(self.n_samples)])
        return points[:, 0], points[:, 1]
