"""Record identifiers: how vertical parties find each other's rows, and the analyst does so without knowing whose."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dcshap._tables import is_array
from dcshap.exceptions import InputError

__all__ = ["Pseudonyms", "identifiers", "pseudonyms"]

Pseudonyms = npt.NDArray[np.void]  # 16 bytes each

_DTYPE = np.dtype("V16")


def identifiers(table: Any) -> list[str]:
    """The record identifiers of a table: a DataFrame's index, or the row numbers of anything else.

    Identifiers are compared as text, so that 17, "17" and 17.0 (as an integer column with gaps is read) are one.
    """
    if is_array(table) or not isinstance(table, pd.DataFrame | pd.Series):
        return [str(row) for row in range(len(table))]
    if table.index.hasnans:
        raise InputError(f"Record identifiers must not be missing. {int(np.sum(table.index.isna()))} are.")
    names = [_as_text(value) for value in table.index.tolist()]
    repeated = len(names) - len(set(names))
    if repeated:
        raise InputError(
            f"Record identifiers must differ. {repeated} rows repeat one. Drop or number the repeated records."
        )
    return names


def _as_text(identifier: Any) -> str:
    whole = isinstance(identifier, float) and identifier.is_integer()
    return str(int(identifier)) if whole else str(identifier)


def pseudonyms(names: Sequence[str], *, key: bytes) -> Pseudonyms:
    """Keyed pseudonyms (n,): equal where identifiers are, and meaningless without the key."""
    joined = b"".join(hmac.digest(key, name.encode(), "sha256")[: _DTYPE.itemsize] for name in names)
    return np.frombuffer(joined, dtype=_DTYPE)
