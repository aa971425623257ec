"""Points of games that a function gives: a sample and its coalitions in, the model's input out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dcshap._typing import BoolArray, FloatArray
from dcshap.shapley.game.coalitions import membership
from dcshap.shapley.game.games import Span, Unions

__all__ = ["CoalitionPoints", "PointsOf"]

PointsOf = Callable[[int, BoolArray], FloatArray]


@dataclass(frozen=True)
class CoalitionPoints:
    """Points that are not sums of what players add: a function is called with the sample and who is in.

    Parameters
    ----------
    points_of : callable
        Maps a sample's number and coalitions (n_coalitions, M) to points (n_coalitions, d).
    n_samples : int
    n_players : int
    null : array of shape (n_samples, n_players), optional
        Which players are known to change nothing.
    """

    points_of: PointsOf
    n_samples: int
    n_players: int
    null: BoolArray | None = None

    @property
    def n_rows(self) -> int:
        """One point per coalition."""
        return 1

    @property
    def width(self) -> int:
        """How many coordinates a point has."""
        return int(self.points_of(0, np.zeros((1, self.n_players), dtype=bool)).shape[1])

    @property
    def slack(self) -> float:
        """Points are what the function says."""
        return 0.0

    @property
    def are_sums(self) -> bool:
        """Nothing is known about how players change a point."""
        return False

    @property
    def are_sums_of_each_row(self) -> bool:
        """Nothing is known about how players change a point."""
        return False

    def of_base(self, row: int) -> CoalitionPoints:  # noqa: ARG002 - there is one
        """The points themselves."""
        return self

    @property
    def are_numbers(self) -> bool:
        """They are numbers, but not sums."""
        return False

    def linear_ends(self, sample: int) -> tuple[FloatArray, FloatArray]:
        """Never asked for, as `are_numbers` says."""
        raise NotImplementedError("Points of a function are not sums of what players add.")

    def added(self, sample: int, weights: FloatArray) -> FloatArray:
        """Never asked for either."""
        raise NotImplementedError("Points of a function are not sums of what players add.")

    def numbers(self, rows: FloatArray) -> FloatArray:
        """Points are numbers."""
        return rows

    def column_owners(self) -> None:
        """Nothing is known about who changes what."""

    def null_players(self) -> BoolArray:
        """Players that are known to change nothing, shape (n_samples, n_players)."""
        return np.zeros((self.n_samples, self.n_players), dtype=bool) if self.null is None else self.null

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

    def of_ends(self, unions: Sequence[Unions]) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002 - everybody plays
        """Every sample's points with nobody in, and with everybody."""
        ends = np.array([[False], [True]]).repeat(self.n_players, axis=1)
        points = np.stack([self.points_of(sample, ends) for sample in range(self.n_samples)])
        return points[:, 0], points[:, 1]

    def stacked(self, parts: Sequence[FloatArray]) -> FloatArray:
        """Several arrays of points as one."""
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def additive(self, spans: Sequence[Span]) -> tuple[FloatArray, FloatArray]:
        """Never asked for, as `are_sums` says."""
        raise NotImplementedError("Points of a function are not sums of what players add.")
