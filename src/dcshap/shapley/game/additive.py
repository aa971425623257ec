"""Points of additive games: `z(S) = z_r + Σ_{i∈S} d_i`, built by doubling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dcshap._typing import BoolArray, FloatArray, IntArray
from dcshap.shapley.game.coalitions import doubled
from dcshap.shapley.game.games import Points, Span, Unions

__all__ = ["AdditivePoints"]


@dataclass(frozen=True)
class AdditivePoints(Points):
    """Points that are a base plus the offsets of the players who are in."""

    base: FloatArray  # (1, d) or (n, d), the point of the empty coalition, one for all samples or one for each
    offsets: FloatArray  # (n, M, d), what each player adds
    # Points are rounded to multiples of it before the model sees them; 0 leaves them as they are.
    resolution: float = 0.0

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        return len(self.offsets)

    @property
    def n_players(self) -> int:
        """How many players each game has."""
        return int(self.offsets.shape[1])

    @property
    def width(self) -> int:
        """How many coordinates a point has."""
        return int(self.offsets.shape[2])

    @property
    def slack(self) -> float:
        """Rounding to the grid moves a coordinate by up to half a step."""
        return self.resolution / 2

    @property
    def are_sums(self) -> bool:
        """Always true."""
        return True

    @property
    def are_numbers(self) -> bool:
        """On a grid, points are no longer sums."""
        return self.resolution == 0.0

    def linear_ends(self, sample: int) -> tuple[FloatArray, FloatArray]:
        """The base point and the point with everyone in, both (1, d)."""
        base = self._base(sample)[None, :]
        return base, base + self.offsets[sample].sum(axis=0)

    def added(self, sample: int, weights: FloatArray) -> FloatArray:
        """What each player adds to linear maps (d, h) of a point, shape (1, n_players, h)."""
        return np.asarray((self.offsets[sample] @ weights)[None])

    def added_on_average(self, samples: IntArray, weights: FloatArray) -> FloatArray:
        """The same of several samples, shape (len(samples), n_players, h)."""
        return np.asarray(self.offsets[samples] @ weights)

    def null_players(self) -> BoolArray:
        """Players whose offset is zero, shape (n_samples, n_players)."""
        return np.asarray(~self.offsets.any(axis=2), dtype=bool)

    def of_span(self, span: Span) -> FloatArray:
        """Points of a span's coalitions."""
        points: FloatArray = self.of_spans([span], self.additive([span]))[0]
        kept = span.kept()
        return points if kept is None else points[kept]

    def of_spans(self, spans: Sequence[Span], sums: tuple[FloatArray, FloatArray]) -> FloatArray:
        """Points (n_spans, stop - start, d) of spans over the same coalitions."""
        bases, offsets = sums
        first, added = spans[0], offsets.swapaxes(0, 1)
        points = doubled(bases, added[: first.n_low])
        # Players are added in their own order everywhere, so that a coalition's point is the same to the last bit
        # in whatever span it is met.
        for player in range(first.n_low, len(added)):
            if first.start >> player & 1:
                points += added[player]
        return self._on_grid(np.ascontiguousarray(points.swapaxes(0, 1)))

    def of_coalitions(self, sample: int, coalitions: BoolArray) -> FloatArray:
        """Points of any coalitions, shape (n_coalitions, n_players)."""
        points = np.tile(self._base(sample), (len(coalitions), 1))
        for inside, offset in zip(coalitions.T, self.offsets[sample], strict=True):
            points += np.where(inside[:, None], offset, 0.0)
        return self._on_grid(points)

    def of_ends(self, unions: Sequence[Unions] | None) -> tuple[FloatArray, FloatArray]:
        """The base points, and the points with everyone in."""
        full = np.broadcast_to(self.base, (self.n_samples, self.width)).copy()
        if unions is None or all(map(_are_singles, unions)):
            for player in range(self.n_players):  # those who stay out have no offset
                full += self.offsets[:, player]
        else:
            for sample, mine in enumerate(unions):
                for union in mine:
                    full[sample] += self.offsets[sample, list(union)].sum(axis=0)
        return self._on_grid(self.base), self._on_grid(full)

    def additive(self, spans: Sequence[Span]) -> tuple[FloatArray, FloatArray]:
        """Bases (n_spans, d), and what each union adds (n_spans, n_unions, d)."""
        samples = np.array([span.sample for span in spans])
        bases = np.broadcast_to(self.base, (self.n_samples, self.width))[samples]
        if all(_are_singles(span.unions) for span in spans):
            players = np.array([span.unions for span in spans], dtype=np.int64).reshape(len(spans), -1)
            return bases, self.offsets[samples[:, None], players]
        sums = [[self.offsets[span.sample, list(union)].sum(axis=0) for union in span.unions] for span in spans]
        return bases, np.array(sums)

    def _base(self, sample: int) -> FloatArray:
        base: FloatArray = self.base[min(sample, len(self.base) - 1)]
        return base

    def _on_grid(self, points: FloatArray) -> FloatArray:
        if self.resolution == 0.0:
            return points
        return np.round(points / self.resolution) * self.resolution


def _are_singles(unions: Unions) -> bool:
    return sum(map(len, unions)) == len(unions)
