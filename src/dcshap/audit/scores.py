"""How well rows were read: per raw column, in cells and in whole rows, against what guessing gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcshap._typing import FloatArray, IntArray
from dcshap.audit.release import Release
from dcshap.schema import Category, Number

__all__ = ["Exact", "column_r2", "exact_shares", "halves", "units"]

DECIMALS = 7  # finer values count as continuous
FINE = 1e-3  # of the spread: the unit of a coordinate that is not of short decimals


@dataclass(frozen=True)
class Exact:
    """Shares of cells (M,) and of rows that were read exactly, beyond those that guessing the most frequent gives."""

    cells: FloatArray
    rows: float


def halves(release: Release, *, seed: int, most: int) -> tuple[IntArray, IntArray]:
    """Row numbers that are attacked, and others that stand for what the attacker knows of such rows."""
    order = np.random.default_rng(seed).permutation(len(release.rows))
    cut = len(order) // 2
    return order[:cut][:most], order[cut:][: 2 * most]


def column_r2(release: Release, estimated: FloatArray, true: FloatArray) -> FloatArray:
    """R² (M,) of each raw column's estimated coordinates (n, p), all of a block together; at least 0.

    Of a number with knots the value itself counts, if it was read better than its hat functions were.
    """
    lost, spread = ((estimated - true) ** 2).sum(axis=0), ((true - true.mean(axis=0)) ** 2).sum(axis=0)
    found = []
    for column, block in zip(release.schema.columns, release.anchor.encoder.blocks, strict=True):
        share = 1.0 - lost[block].sum() / spread[block].sum() if spread[block].sum() > 0 else 0.0
        if isinstance(column, Number) and column.knots:
            values = [
                release.anchor.encoder.unscale(each)[:, block] @ np.array(column.knots) for each in (estimated, true)
            ]
            total = float(np.sum((values[1] - values[1].mean()) ** 2))
            share = max(share, 1.0 - float(np.sum((values[0] - values[1]) ** 2)) / total) if total > 0 else share
        found.append(max(share, 0.0))
    return np.array(found)


def units(values: FloatArray) -> FloatArray:
    """The smallest step (k,) of columns (n, k): a power of ten, or a thousandth of the spread where none fits."""
    steps = np.empty(values.shape[1])
    for j, column in enumerate(values.T):
        scaled = (column * 10.0**k for k in range(DECIMALS + 1))
        fits = [np.abs(each - np.rint(each)).max() < 1e-5 for each in scaled]
        steps[j] = 10.0 ** -fits.index(True) if any(fits) else max(FINE * float(column.std()), 1e-12)
    return steps


def exact_shares(release: Release, guesses: list[FloatArray], true: FloatArray, known: FloatArray) -> Exact:
    """What several estimates of encoded rows (n, p) hit exactly, the best of them per column.

    `true` (n, M) are the codes of the rows that were read, `known` (m, M) of others, whose most frequent values are the
    guess to beat.
    """
    step = units(np.concatenate([true, known]))
    categories = np.array([isinstance(column, Category) for column in release.schema.columns])
    step = np.where(categories, 1.0, step)
    modes = [_most_frequent(column) for column in known.T]
    by_mode = np.array([np.mean(true[:, j] == mode) for j, mode in enumerate(modes)])
    rows_by_mode = float(np.mean((true == _most_frequent_row(known)).all(axis=1)))
    cells, rows = np.zeros(true.shape[1]), 0.0
    for guess in guesses:
        codes = np.rint(release.anchor.encoder.decode(guess) / step) * step
        hit = np.abs(codes - true) < 0.5 * step
        cells = np.maximum(cells, hit.mean(axis=0) - by_mode)
        rows = max(rows, float(hit.all(axis=1).mean()) - rows_by_mode)
    return Exact(cells, rows)


def _most_frequent(column: FloatArray) -> float:
    values, counts = np.unique(column, return_counts=True)
    return float(values[np.argmax(counts)])


def _most_frequent_row(rows: FloatArray) -> FloatArray:
    values, counts = np.unique(rows, axis=0, return_counts=True)
    return np.asarray(values[np.argmax(counts)])
