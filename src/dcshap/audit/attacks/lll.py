"""Lattice reduction (Lenstra, Lenstra and Lovász, 1982), by fpylll."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcshap._typing import FloatArray
from dcshap.exceptions import InputError

__all__ = ["has_lll", "reduced_rows", "reduced_with_change"]


def reduced_rows(basis: FloatArray) -> FloatArray:
    """The rows of an integer matrix (n, m) after reduction."""
    lattice = _lattice(basis)
    _library().LLL.reduction(lattice)
    return _numbers(lattice, *basis.shape)


def reduced_with_change(basis: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same rows, and the change of basis (n, n) that leads to them, which takes several times as long."""
    n = len(basis)
    lattice, change = _lattice(basis), _library().IntegerMatrix.identity(n)
    _library().LLL.reduction(lattice, change)
    return _numbers(lattice, *basis.shape), _numbers(change, n, n)


def _lattice(basis: FloatArray) -> Any:
    lattice = _library().IntegerMatrix(*basis.shape)
    lattice.set_matrix([[int(value) for value in row] for row in basis])
    return lattice


def _library() -> Any:
    fpylll = _fpylll()
    if fpylll is None:
        raise InputError("Lattice reduction needs fpylll: install dcshap[audit].")
    return fpylll


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
