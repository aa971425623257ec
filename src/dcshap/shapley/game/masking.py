"""Rows for coalitions: the sample's cells where a player is in, the reference's where it is out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from dcshap._typing import Array, BoolArray, FloatArray, IntArray
from dcshap.shapley.game.cells import ArrayCells, Cells
from dcshap.shapley.game.coalitions import membership
from dcshap.shapley.game.games import Points, Span, Unions

__all__ = ["MaskedRows"]


@dataclass(frozen=True)
class MaskedRows(Points):
    """Rows in which each player's columns hold the sample's cells or the reference's."""

    cells: Cells
    players: tuple[tuple[int, ...], ...]  # the columns of each player

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        return len(self.cells.X)

    @property
    def n_players(self) -> int:
        """How many players each game has."""
        return len(self.players)

    @property
    def n_rows(self) -> int:
        """One row per coalition and row of the reference."""
        return len(self.cells.reference)

    @property
    def width(self) -> int:
        """How many columns a row has."""
        return int(self.cells.X.shape[1])

    @property
    def are_sums(self) -> bool:
        """Cells of arrays of floats against one reference row are; others have nothing that could be added."""
        return self.are_sums_of_each_row and self.n_rows == 1

    @property
    def are_sums_of_each_row(self) -> bool:
        """Cells of arrays of floats are."""
        return isinstance(self.cells, ArrayCells) and self.cells.X.dtype == np.float64

    def of_base(self, row: int) -> MaskedRows:
        """The same rows against one of the reference rows."""
        if not isinstance(self.cells, ArrayCells):
            raise TypeError("Only rows of arrays are taken against one reference row at a time.")
        return MaskedRows(ArrayCells(self.cells.X, self.cells.reference[row : row + 1]), self.players)

    @cached_property
    def _table(self) -> tuple[FloatArray, FloatArray] | None:
        """Samples and reference rows as numbers; None if they are something else."""
        return self.cells.numbers()

    @property
    def are_numbers(self) -> bool:
        """Whether all cells are."""
        return self._table is not None

    def linear_ends(self, sample: int) -> tuple[FloatArray, FloatArray]:
        """The reference rows (n_rows, d) and the sample's own (1, d)."""
        X, reference = self._numbers()
        return reference, X[sample : sample + 1]

    def added(self, sample: int, weights: FloatArray) -> FloatArray:
        """What each player adds to linear maps (d, h) of a row, shape (n_rows, n_players, h)."""
        X, reference = self._numbers()
        return self._per_player((X[sample] - reference)[:, :, None] * weights, np.add)

    def added_on_average(self, samples: IntArray, weights: FloatArray) -> FloatArray:
        """The same of several samples, averaged over the reference rows, shape (len(samples), n_players, h)."""
        X, reference = self._numbers()
        # Of gaps, not of references: these may be large, and of equal ones the mean is not always the same number.
        gaps = X[samples] - reference[0] - (reference - reference[0]).mean(axis=0)
        return self._per_player(gaps[:, :, None] * weights, np.add)

    def _per_player(self, of_columns: Array, together: np.ufunc) -> Array:
        """What a ufunc makes of each player's columns, given columns along the second axis."""
        order, starts = self._column_order
        if len(starts) == self.width:
            return np.asarray(of_columns[:, order])
        return np.asarray(together.reduceat(of_columns[:, order], starts, axis=1))

    def column_owners(self) -> IntArray:
        """The player of each column."""
        return self._column_owners

    @cached_property
    def _column_owners(self) -> IntArray:
        return self._owners(tuple((player,) for player in range(self.n_players)))

    @cached_property
    def _column_order(self) -> tuple[IntArray, IntArray]:
        """The columns of one player after the other, and where each player's begin."""
        order = np.argsort(self._column_owners, kind="stable")
        return order, np.flatnonzero(np.diff(self._column_owners[order], prepend=-1))

    def _numbers(self) -> tuple[FloatArray, FloatArray]:
        if self._table is None:
            raise TypeError("Cells that are not numbers cannot be added.")
        return self._table

    def null_players(self) -> BoolArray:
        """Players whose cells are the reference's own, shape (n_samples, n_players)."""
        return self._per_player(self.cells.same(), np.logical_and)

    def of_span(self, span: Span) -> Any:
        """Rows of a span's coalitions."""
        bits = membership(len(span.unions), span.start, span.stop)
        kept = span.kept()
        inside = self._inside(bits if kept is None else bits[kept], span.unions)
        return self.cells.rows(span.sample, inside)

    def of_coalitions(self, sample: int, coalitions: BoolArray) -> Any:
        """Rows of any coalitions, shape (n_coalitions, n_players)."""
        return self.cells.rows(sample, coalitions[:, self._column_owners])

    def of_ends(self, unions: Sequence[Unions] | None) -> tuple[Any, Any]:  # noqa: ARG002 - cells are what they are
        """The reference and the samples themselves."""
        return self.cells.reference, self.cells.X

    def stacked(self, parts: Sequence[Any]) -> Any:
        """Several tables as one."""
        return self.cells.stacked(parts)

    def additive(self, spans: Sequence[Span]) -> tuple[FloatArray, FloatArray]:
        """The reference (n_spans, d), and the difference that each union makes (n_spans, n_unions, d)."""
        base = np.asarray(self.cells.reference, dtype=np.float64)[0]
        gaps = np.asarray(self.cells.X, dtype=np.float64)[[span.sample for span in spans]] - base
        owners = np.stack([self._owners(span.unions) for span in spans])
        mine = owners[:, None, :] == np.arange(len(spans[0].unions))[:, None]
        return np.broadcast_to(base, gaps.shape), np.where(mine, gaps[:, None, :], 0.0)

    def _owners(self, unions: Unions) -> IntArray:
        """For every column the position of the union it belongs to; one past the last if it is in none."""
        owner = np.full(self.width, len(unions), dtype=np.int64)
        columns = [[column for player in union for column in self.players[player]] for union in unions]
        owner[list(chain.from_iterable(columns))] = np.repeat(np.arange(len(unions)), list(map(len, columns)))
        return owner

    def _inside(self, coalitions: BoolArray, unions: Unions) -> BoolArray:
        """Per coalition and column, whether the sample's cell is used."""
        never = np.zeros((len(coalitions), 1), dtype=bool)
        return np.concatenate([coalitions, never], axis=1)[:, self._owners(unions)]
