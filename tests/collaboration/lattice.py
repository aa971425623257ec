"""The hidden-lattice attack on representations (Nguyen and Stern, 1999), as the analyst alone could run it.

Rows of integers times an unknown real matrix: integer relations between the represented rows that are shorter than
chance would have them hold between the rows themselves. What is orthogonal to all of them is the rows' column space.
"""

from __future__ import annotations

import numpy as np
from fpylll import LLL, IntegerMatrix

from dcshap._typing import FloatArray

__all__ = ["decoded_rows", "hidden_space"]

BITS = 44


def hidden_space(representation: FloatArray, *, bits: int = BITS) -> FloatArray:
    """Orthonormal basis (n − 1, r) of the column space that differences of rows (n, d) to the first come from.

    r is n − 1 where no relation stands out.
    """
    differences = representation[1:] - representation[0]
    n, d = differences.shape
    numbers = np.rint(differences / np.sqrt(np.mean(differences**2)) * 2.0**bits)
    lattice = IntegerMatrix(n, n + d)
    for i in range(n):
        lattice[i, i] = 1
        for j in range(d):
            lattice[i, n + j] = int(numbers[i, j])
    LLL.reduction(lattice)
    reduced = np.array([[float(lattice[i, j]) for j in range(n + d)] for i in range(n)])
    # A reduced basis falls off evenly; it jumps up where the relations of the rows end and those of chance begin.
    profile = np.log2(np.abs(np.diag(np.linalg.qr(reduced.T, mode="r"))))
    jumps = np.diff(profile)
    n_relations = int(np.argmax(jumps)) + 1 if jumps.max() > 1 else 0
    relations = reduced[:n_relations, :n]
    if not n_relations:
        return np.eye(n)
    _, sizes, Vt = np.linalg.svd(relations, full_matrices=True)
    return np.asarray(Vt[int(np.sum(sizes > 1e-9)) :].T)


def decoded_rows(representation: FloatArray, integers: FloatArray, *, bits: int = BITS) -> float:
    """The share of rows that the attack knows up to one unknown change of basis for all of them.

    `integers` (n, M) are the rows behind the representation; they only score the attack.
    """
    space = hidden_space(representation, bits=bits)
    differences = integers[1:] - integers[0]
    n, r = space.shape
    if r > n - 3:  # hardly a relation was found: everything fits
        return 0.0
    residual = differences - space @ (space.T @ differences)
    return float(np.mean(np.abs(residual).max(axis=1) < 1e-6 * np.abs(differences).max()))
