"""Independent components and projection pursuit: directions along which released rows are least normal.

Columns are not normal, and mixtures of them are nearly so. Directions that are far from normal (FastICA, Hyvärinen
1999; as projection pursuit it goes back to Friedman and Tukey 1974) are therefore single columns, if the release keeps
any. On the anchor: the columns of a uniform anchor are independent and not normal, those of a Gaussian one are not.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning

from dcshap._typing import FloatArray

__all__ = ["chance_level", "components_of", "likeness", "rows_by_anchor"]

CONTRASTS = ("logcosh", "cube", "exp")
MOST_ROWS = 4000
N_PERMUTED = 200


def components_of(rows: FloatArray, *, seen: FloatArray | None = None, seed: int = 0) -> FloatArray:
    """Least normal directions of rows (m, d), found with several contrasts, applied to `seen` (n, d): (n, k)."""
    seen = rows if seen is None else seen
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for contrast in CONTRASTS:
            ica = FastICA(whiten="unit-variance", fun=contrast, max_iter=100, tol=1e-3, random_state=seed)
            found.append(ica.fit(rows[:MOST_ROWS]).transform(seen))
    return np.concatenate(found, axis=1)


def likeness(components: FloatArray, columns: FloatArray) -> FloatArray:
    """The largest |correlation| (M,) of any component (n, k) with each column (n, M); 0 for a constant one."""
    normed = [_standardised(each) for each in (components, columns)]
    return np.asarray(np.abs(normed[0].T @ normed[1]).max(axis=0) / len(columns))


def chance_level(components: FloatArray, columns: FloatArray, *, seed: int = 0) -> float:
    """What the best column's `likeness` reaches by chance: the 99th percentile with the rows of one side permuted."""
    rng = np.random.default_rng(seed)
    levels = [likeness(components[rng.permutation(len(components))], columns).max() for _ in range(N_PERMUTED)]
    return float(np.quantile(levels, 0.99))


def rows_by_anchor(
    anchors: Sequence[FloatArray], rows: Sequence[FloatArray], anchor: FloatArray, *, seed: int = 0
) -> list[FloatArray]:
    """Encoded rows of each party, from several parties' reduced anchors (m, d_i) and rows (n_i, d_i).

    The true anchor (m, p) serves only to tell which component is which column and of which sign, a help that a real
    attacker would get from common knowledge of the columns.
    """
    together = np.concatenate(list(anchors), axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        size = min(anchor.shape[1], int(np.linalg.matrix_rank(together - together.mean(axis=0))))
        ica = FastICA(size, whiten="unit-variance", max_iter=500, random_state=seed)
        found = ica.fit_transform(together)
    alike = _standardised(anchor).T @ _standardised(found) / len(anchor)
    columns, component = linear_sum_assignment(-np.abs(alike))
    matched = np.zeros_like(anchor)
    matched[:, columns] = found[:, component] * np.sign(alike[columns, component])
    guessed = []
    for reduced, released in zip(anchors, rows, strict=True):
        reduction, *_ = np.linalg.lstsq(matched, reduced - reduced.mean(axis=0))
        guessed.append(released @ np.linalg.pinv(reduction))
    return guessed


def _standardised(table: FloatArray) -> FloatArray:
    spread = table.std(axis=0)
    safe = spread > 1e-12 * max(float(spread.max()), 1e-300)
    return np.asarray((table - table.mean(axis=0)) / np.where(safe, spread, 1.0) * safe)
