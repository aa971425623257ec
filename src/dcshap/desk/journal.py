"""The journal: who looked at which explanation when, each line chained to the one before it by a keyed hash.

A view's line is on disk before the view is shown. Whoever can write to the database, but has not the desk's key, cannot
change, insert or remove a line without breaking the chain; lines cut off its end show in a code that was noted before.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from dcshap.desk.database import Database
from dcshap.desk.database import journal as table
from dcshap.desk.gathering import Gathering

__all__ = ["Journal", "Line", "Note", "now"]

_BEGINNING = "0" * 64
_NEWEST = sa.select(table.c.number, table.c.digest).order_by(table.c.number.desc()).limit(1)


def now() -> str:
    """The time as text that sorts, in UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


@dataclass(frozen=True)
class Note:
    """What is to be written: who did what, about which case and explanation."""

    who: str
    role: str
    act: str
    handle: str = ""
    explanation: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Line:
    """What was written."""

    number: int
    at: str
    who: str
    role: str
    act: str
    handle: str
    explanation: str
    detail: str
    digest: str


@dataclass(frozen=True)
class _Asked:
    notes: Sequence[Note]
    also: Callable[[sa.Connection], object] | None


class Journal:
    """The lines in a database.

    Parameters
    ----------
    database : Database
    key : bytes
        Kept apart from the database.
    """

    def __init__(self, database: Database, key: bytes) -> None:
        self._database, self._key = database, key
        self._writing = Gathering(self._write)

    def record(self, *notes: Note, also: Callable[[sa.Connection], object] | None = None) -> None:
        """Write lines; they are on disk on return. What other threads wait to have written goes along.

        Parameters
        ----------
        *notes : Note
        also : callable, optional
            Writes something else in the same transaction.
        """
        self._writing.ask(_Asked(notes, also))

    def _write(self, batch: Sequence[_Asked]) -> Sequence[None]:
        """Write what several threads wait for: all of it, or none of it and nobody goes on without their line."""
        with self._database.write() as connection:
            for each in batch:
                if each.also is not None:
                    each.also(connection)
            self.append(connection, *(note for each in batch for note in each.notes))
        return [None] * len(batch)

    def append(self, connection: sa.Connection, *notes: Note) -> None:
        """Write lines within a transaction of `Database.write`, together with what they tell of."""
        number, last = self._head(connection)
        rows = []
        for note in notes:
            number += 1
            content = vars(note) | {
                "number": number,
                "at": now(),
                "detail": json.dumps(dict(note.detail), sort_keys=True, ensure_ascii=False),
            }
            last = self._chained(last, content)
            rows.append(content | {"digest": last})
        if rows:
            connection.execute(table.insert(), rows)

    def lines(self, *, newest: int | None = None, before: int | None = None, handle: str | None = None) -> list[Line]:
        """The lines in their order; the newest few of them, those before a line, or those about a case."""
        query = sa.select(table).order_by(table.c.number.desc())
        if handle is not None:
            query = query.where(table.c.handle == handle)
        if before is not None:
            query = query.where(table.c.number < before)
        if newest is not None:
            query = query.limit(newest)
        with self._database.read() as connection:
            found = [Line(**row) for row in connection.execute(query).mappings()]
        return found[::-1]

    def count(self, who: str, act: str, *, since: str) -> int:
        """How often somebody did something since a time."""
        query = sa.select(sa.func.count()).where(table.c.who == who, table.c.act == act, table.c.at >= since)
        with self._database.read() as connection:
            return int(connection.execute(query).scalar_one())

    def head(self) -> tuple[int, str]:
        """How many lines there are, and the code of the last one."""
        with self._database.read() as connection:
            return self._head(connection)

    def verify(self) -> str | None:
        """Check the whole chain.

        Returns
        -------
        str or None
            None where it is whole; else what is wrong, and where.
        """
        last = _BEGINNING
        for position, line in enumerate(self.lines(), 1):
            content = dict(vars(line))
            digest = content.pop("digest")
            if line.number != position:
                return f"Line {position} is missing."
            last = self._chained(last, content)
            if not hmac.compare_digest(last, digest):
                return f"Line {position} was changed after it was written."
        return None

    @staticmethod
    def _head(connection: sa.Connection) -> tuple[int, str]:
        found = connection.execute(_NEWEST).first()
        return (0, _BEGINNING) if found is None else (int(found.number), str(found.digest))

    def _chained(self, last: str, content: Mapping[str, Any]) -> str:
        text = json.dumps(content, sort_keys=True, ensure_ascii=True)
        return hmac.digest(self._key, f"{last}\n{text}".encode(), "sha256").hex()
