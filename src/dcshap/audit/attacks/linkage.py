"""Linkage: an attacker with a list of people and their columns looks for each reconstruction's nearest neighbour.

Distance-based record linkage, as disclosure control measures it (Domingo-Ferrer and Torra, 2002).
"""

from __future__ import annotations

import numpy as np

from dcshap._typing import FloatArray, IntArray

__all__ = ["linked"]

BLOCK = 256  # reconstructions at a time


def linked(reconstructed: FloatArray, at: IntArray, candidates: FloatArray, *, weights: FloatArray) -> float:
    """The share of reconstructions (m, p) whose nearest candidate (n, p) is the record that they are of, `at` (m,).

    Candidates that are alike share the hit. Columns count by their weights (p,), more where they are read well.
    """
    scale = np.sqrt(weights)
    wanted, listed = reconstructed * scale, candidates * scale
    squares = np.sum(listed**2, axis=1)
    hits = 0.0
    for start in range(0, len(wanted), BLOCK):
        part, own = wanted[start : start + BLOCK], at[start : start + BLOCK]
        distances = squares[None, :] - 2.0 * part @ listed.T
        least = distances.min(axis=1)
        tolerance = 1e-9 * (np.abs(least) + np.sum(part**2, axis=1) + 1e-300)
        nearest = distances <= (least + tolerance)[:, None]
        hits += float(np.sum(nearest[np.arange(len(part)), own] / nearest.sum(axis=1)))
    return hits / len(wanted)
