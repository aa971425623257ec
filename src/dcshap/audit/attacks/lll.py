"""Lattice reduction (Lenstra, Lenstra and Lovász, 1982), by fpylll."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcshap._typing import FloatArray
from dcshap.exceptions import InputError

__all__ = ["has_lll", "reduced_rows"]


def reduced_rows(basis: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The rows of an integer matrix (n, m) after reduction, and the change of basis (n, n) that leads to them."""
    fpylll = _fpylll()
    if fpylll is None:
        raise InputError("Lattice reduction needs fpylll: install dcshap[audit].")
    n, m = basis.shape
    lattice, change = fpylll.IntegerMatrix(n, m), fpylll.IntegerMatrix.identity(n)
    lattice.set_matrix([[int(value) for value in row] for row in basis])
    fpylll.LLL.reduction(lattice, change)
    return _numbers(lattice, n, m), _numbers(change, n, n)


def has_lll() -> bool:
    """Whether the library is there."""
    return _fpylll() is not None


def _fpylll() -> Any:
    try:
        import fpylll  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    return fpylll


def _numbers(matrix: Any, n: int, m: int) -> FloatArray:
    return np.array([[float(matrix[i, j]) for j in range(m)] for i in range(n)])
