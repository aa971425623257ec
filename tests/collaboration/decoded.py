"""How many rows the hidden-lattice attack decodes: a score that needs the true rows, which no attacker has."""

from __future__ import annotations

import numpy as np

from dcshap._typing import FloatArray
from dcshap.audit.attacks.lattice import BITS, _relations


def decoded_rows(representation: FloatArray, integers: FloatArray, *, bits: int = BITS) -> float:
    """The share of rows that the attack knows up to one unknown change of basis for all of them.

    `integers` (n, M) are the rows behind the representation; they only score the attack.
    """
    space = _hidden_space(representation, bits=bits)
    differences = integers[1:] - integers[0]
    n, r = space.shape
    if r > n - 3:  # hardly a relation was found: everything fits
        return 0.0
    residual = differences - space @ (space.T @ differences)
    return float(np.mean(np.abs(residual).max(axis=1) < 1e-6 * np.abs(differences).max()))


def _hidden_space(representation: FloatArray, *, bits: int = BITS) -> FloatArray:
    """Orthonormal basis (n − 1, r) of the column space that differences of rows (n, d) to the first come from.

    r is n − 1 where no relation stands out.
    """
    relations = _relations(representation, bits)
    if not len(relations):
        return np.eye(len(representation) - 1)
    _, sizes, Vt = np.linalg.svd(relations, full_matrices=True)
    return np.asarray(Vt[int(np.sum(sizes > 1e-9)) :].T)
