"""Records of vertical parties: matching the rows that several parties hold of one person.

The analyst joins them by pseudonyms, without knowing whose they are.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dcshap._typing import Array, FloatArray
from dcshap.exceptions import InputError, ProtocolError

__all__ = [
    "Pseudonyms",
    "Records",
    "Rows",
    "identifiers",
    "in_one_order",
    "labelled_records",
    "pseudonyms",
    "require_pseudonyms",
    "sorted_once",
]

Pseudonyms = npt.NDArray[np.void]  # 16 bytes each
Rows = npt.NDArray[np.intp]

_DTYPE = np.dtype("V16")
_AT_ONCE = 1 << 16  # identifiers that are hashed before the digests are joined


def identifiers(table: Any) -> list[str]:
    """The record identifiers of a table: a pandas index, or the row numbers of anything else.

    Identifiers are compared as text, so that 17, "17" and 17.0 (as an integer column with gaps is read) are one.
    """
    if not isinstance(table, pd.DataFrame | pd.Series):
        return [str(row) for row in range(len(table))]
    if table.index.nlevels > 1:
        raise InputError(
            f"Record identifiers must be an index of one level. Got {table.index.nlevels} levels: join them to one."
        )
    if table.index.hasnans:
        raise InputError(f"Record identifiers must not be missing. {int(np.sum(table.index.isna()))} are.")
    names = [_as_text(value) for value in table.index.tolist()]
    repeated = len(names) - len(set(names))
    if repeated:
        raise InputError(
            f"Record identifiers must differ. {repeated} rows repeat one. Drop or number the repeated records."
        )
    return names


def labelled_records(y: Any, labels: Array, names: Sequence[str], *, party: str) -> list[str]:
    """The identifiers that labels (n,) belong to: those of a Series' own index, or of the table's rows."""
    if isinstance(y, pd.Series):
        return identifiers(y)
    if len(labels) == len(names):
        return list(names)
    raise InputError(
        f"Party {party!r} must have one label per row, or labels with an index. Got {len(names)} rows and "
        f"{len(labels)} labels."
    )


def _as_text(identifier: Any) -> str:
    whole = isinstance(identifier, float | np.floating) and float(identifier).is_integer()
    return str(int(identifier)) if whole else str(identifier)


def pseudonyms(names: Sequence[str], *, key: bytes) -> Pseudonyms:
    """Keyed pseudonyms (n,): equal where identifiers are, and meaningless without the key."""
    joined = bytearray()
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        joined += b"".join(hmac.digest(key, name.encode(), "sha256")[: _DTYPE.itemsize] for name in some)
    return np.frombuffer(joined, dtype=_DTYPE)


def require_pseudonyms(party: str, given: Pseudonyms) -> None:
    """Refuse what is not a row of pseudonyms."""
    if given.ndim != 1 or given.dtype != _DTYPE:
        raise ProtocolError(f"Party {party!r} must send pseudonyms of {_DTYPE.itemsize} bytes. It sends others.")


def sorted_once(party: str, given: Pseudonyms) -> tuple[Pseudonyms, Rows]:
    """A party's pseudonyms (n,) in order, and the row of each; arrays, because there may be ten million of them.

    Raises
    ------
    ProtocolError
        Where one stands twice, or is none.
    """
    require_pseudonyms(party, given)
    rows = np.argsort(given)
    ordered = given[rows]
    twice = int(np.count_nonzero(ordered[1:] == ordered[:-1]))
    if twice:
        raise ProtocolError(f"Party {party!r} must send each record once. {twice} stand twice.")
    return ordered, rows


@dataclass(frozen=True)
class Records:
    """A party's columns of some records."""

    identifiers: list[str]
    index: pd.Index[Any]  # the identifiers as they stood in the table, to be shown with the records
    codes: FloatArray  # (n, M)

    @classmethod
    def of(cls, table: Any, codes: FloatArray) -> Records:
        """The records of a table whose rows have these codes (n, M)."""
        index = table.index if isinstance(table, pd.DataFrame) else pd.RangeIndex(len(codes))
        return cls(identifiers(table), index, codes)

    def __len__(self) -> int:
        return len(self.identifiers)

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.identifiers)}

    def lacking(self, wanted: Sequence[str]) -> int:
        """How many of some records are not among these."""
        return sum(name not in self._rows for name in wanted)

    def select(self, wanted: Sequence[str]) -> Records:
        """These of the records, in this order.

        Raises
        ------
        InputError
            Saying how many are not there, not which.
        """
        lacking = self.lacking(wanted)
        if lacking:
            raise InputError(f"All records that are asked for must be held. {lacking} of {len(wanted)} are not.")
        return self.at(np.array([self._rows[name] for name in wanted], dtype=np.intp))

    def at(self, rows: Rows) -> Records:
        """The records of some rows, in this order."""
        return Records([self.identifiers[row] for row in rows.tolist()], self.index[rows], self.codes[rows])


def in_one_order(held: Mapping[str, Records]) -> dict[str, Records]:
    """All parties' records, which must be the same, in the order of the first party's and under its identifiers.

    If they are not, how many some party lacks is said, not which.
    """
    every = sorted({name for records in held.values() for name in records.identifiers})
    lacking = {party: records.lacking(every) for party, records in held.items()}
    if any(lacking.values()):
        said = "; ".join(f"{party!r} lacks {count} of {len(every)}" for party, count in lacking.items() if count)
        raise InputError(f"All parties must hold the records that are asked for. {said}.")
    first = next(iter(held.values()))
    ordered = {party: records.select(first.identifiers) for party, records in held.items()}
    return {party: Records(first.identifiers, first.index, records.codes) for party, records in ordered.items()}
