"""The hidden-lattice attack on rows (Nguyen and Stern, "The Hardness of the Hidden Subset Sum Problem", 1999).

Rows of integers times an unknown real matrix: integer relations between the represented rows that are shorter than
chance would have them hold between the rows themselves. What is orthogonal to all of them is the rows' column space,
and an integer basis of it is the rows up to an unknown change of basis. Real columns take few values, so lowering
entropy finds single columns in that basis (Gini and Coron, 2020, descend on binary columns alike).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcshap._typing import FloatArray
from dcshap.audit.attacks.decoding import integer_decoded
from dcshap.audit.attacks.lll import reduced_rows

__all__ = [
    "BITS",
    "Gap",
    "descended",
    "found_columns",
    "integer_basis",
    "integer_rows",
    "lattice_gap",
]

BITS = 44
DIGITS = (6, 10, 20, BITS)  # an attacker may look at fewer digits, where noise has not reached
LARGEST = 2.0**40  # weight that makes a relation exact in a lattice
N_CONTROLS = 5  # draws without structure that a gap is held against
MOST_STEPS = 100_000


@dataclass(frozen=True)
class Gap:
    """How far integer relations of rows stand out: in bits, and by chance among rows drawn anew."""

    bits: float
    by_chance: float
    digits: int

    @property
    def beyond(self) -> float:
        """Bits beyond chance; 0 where the gap is no larger than that of rows without structure."""
        return max(0.0, self.bits - self.by_chance)


def lattice_gap(rows: FloatArray, *, seed: int = 0) -> Gap:
    """The largest jump in the reduced basis of rows (n, d) beside that of normal rows of the same covariance."""
    rng = np.random.default_rng(seed)
    factor = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    spread = factor[1][:, None] * factor[2] / np.sqrt(len(rows))
    gaps = []
    for bits in DIGITS:
        controls = [rng.standard_normal((len(rows), len(spread))) @ spread for _ in range(N_CONTROLS)]
        chance = max(float(_jumps(_reduced(_differences(each), bits)).max()) for each in controls)
        gaps.append(Gap(float(_jumps(_reduced(_differences(rows), bits)).max()), chance, bits))
    return max(gaps, key=lambda gap: gap.bits - gap.by_chance)


def integer_basis(representation: FloatArray) -> FloatArray:
    """Integer columns (n − 1, r) that the differences of rows (n, d) to the first are made of; none if not found."""
    relations = _relations(representation, BITS)
    n = len(representation) - 1
    if len(relations) < 3:
        return np.empty((n, 0))
    weighted = np.concatenate([np.eye(n), LARGEST * relations.T], axis=1)
    reduced = reduced_rows(weighted)
    orthogonal = ~np.abs(reduced[:, n:]).max(axis=1).astype(bool)
    return np.asarray(reduced[orthogonal, :n].T)


def integer_rows(representation: FloatArray, basis: FloatArray) -> FloatArray:
    """All rows (N, r) in an integer basis (n − 1, r) that was found from the first n of their representation (N, d)."""
    away = representation - representation[0]
    weights = np.linalg.lstsq(basis, away[1 : len(basis) + 1])[0]
    return integer_decoded(away, weights, center=basis.mean(axis=0), spread=basis.std(axis=0) + 0.1)


def descended(basis: FloatArray) -> FloatArray:
    """Integer columns (n, r), adding and subtracting one or two others for as long as a column's entropy falls."""
    columns = basis.T.copy()
    entropies = _entropies(columns)
    steps, changed = 0, True
    while changed and steps < MOST_STEPS:
        changed = False
        for i in np.argsort(-entropies):
            moves = _moves(columns, int(i))
            steps += len(moves)
            tried = _entropies(columns[i] + moves)
            best = int(np.argmin(tried))
            if tried[best] < entropies[i] - 1e-9 and tried[best] > 0:
                columns[i], entropies[i], changed = columns[i] + moves[best], tried[best], True
    return np.asarray(columns.T)


def _moves(columns: FloatArray, i: int) -> FloatArray:
    """What may be added to column i: each other one and its double, and each sum and difference of two others."""
    others = np.delete(columns, i, axis=0)
    a, b = np.triu_indices(len(others), 1)
    half = np.concatenate([others, 2 * others, others[a] + others[b], others[a] - others[b]])
    return np.concatenate([half, -half])


def found_columns(candidates: FloatArray, integers: FloatArray) -> list[int]:
    """Which columns of rows (n, M) are among candidate columns (n − 1, r) exactly, up to sign, scale and shift."""
    known = {_normal_form(column) for column in candidates.T}
    differences = integers[1:] - integers[0]
    return [j for j, column in enumerate(differences.T) if column.any() and _normal_form(column) in known]


def _normal_form(column: FloatArray) -> bytes:
    first = column[np.flatnonzero(column)[0]] if column.any() else 1.0
    return bytes((np.round(column / first, 6) + 0.0).tobytes())  # one zero


def _entropies(columns: FloatArray) -> FloatArray:
    """The entropy of each column (k, n) with one more entry: the first row's difference, which is 0."""
    ordered = np.sort(np.pad(columns, ((0, 0), (0, 1))), axis=1)
    new = np.diff(ordered, axis=1, prepend=np.nan) != 0  # where a column has another value than before
    shares = np.diff(np.append(np.flatnonzero(new), new.size)) / ordered.shape[1]
    terms = np.split(shares * np.log2(shares), np.cumsum(new.sum(axis=1))[:-1])
    return -np.array([each.sum() for each in terms])


def _differences(representation: FloatArray) -> FloatArray:
    differences: FloatArray = representation[1:] - representation[0]
    return differences


def _relations(representation: FloatArray, bits: int) -> FloatArray:
    """Short integer relations (k, n − 1) between the rows' differences; none where nothing stands out."""
    differences = _differences(representation)
    reduced = _reduced(differences, bits)
    jumps = _jumps(reduced)
    if not len(jumps) or jumps.max() <= 1:
        return np.empty((0, len(differences)))
    return np.asarray(reduced[: int(np.argmax(jumps)) + 1, : len(differences)])


def _reduced(differences: FloatArray, bits: int) -> FloatArray:
    numbers: FloatArray = np.rint(differences / np.sqrt(np.mean(differences**2)) * 2.0**bits)
    return reduced_rows(np.concatenate([np.eye(len(differences)), numbers], axis=1))


def _jumps(reduced: FloatArray) -> FloatArray:
    """A reduced basis falls off evenly; it jumps up where the relations of the rows end and those of chance begin."""
    heights: FloatArray = np.abs(np.diag(np.linalg.qr(reduced.T, mode="r")))
    return np.asarray(np.diff(np.log2(np.maximum(heights, 1e-300))))
