"""Human review: what persons concerned ask for, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from uuid import uuid4

import sqlalchemy as sa

from dcshap.desk.database import Database
from dcshap.desk.database import reviews as table
from dcshap.desk.journal import Journal, Note, now
from dcshap.exceptions import InputError

__all__ = ["OUTCOMES", "Review", "Reviews"]

Kind = Literal["review", "contest"]
OUTCOMES = {"upheld": "The decision stands", "changed": "The decision is changed", "referred": "Passed on to others"}
LONGEST = 4000


@dataclass(frozen=True)
class Review:
    """A request for human review, or an objection."""

    identifier: str
    handle: str
    kind: str
    words: str
    asked: str
    outcome: str = ""  # empty while it is open
    answer: str = ""
    answered: str = ""
    officer: str = ""


_ABOUT = sa.select(table).where(table.c.handle == sa.bindparam("of")).order_by(table.c.asked)


class Reviews:
    """What was asked for, in a database, each with its line in the journal."""

    def __init__(self, database: Database, journal: Journal) -> None:
        self._database, self._journal = database, journal

    def ask(self, handle: str, kind: str, words: str, note: Note) -> Review:
        """Keep a request; it and its line in the journal are on disk on return, or neither is."""
        if kind not in ("review", "contest"):
            raise InputError("Choose whether a person should review the decision, or whether you contest it.")
        review = Review(uuid4().hex, handle, kind, words.strip()[:LONGEST], now())
        with self._database.write() as connection:
            connection.execute(table.insert(), vars(review))
            self._journal.append(connection, note)
        return review

    def answer(self, identifier: str, outcome: str, words: str, note: Note) -> None:
        """Close a request with its outcome."""
        if outcome not in OUTCOMES:
            raise InputError("Choose how the review ended.")
        if not words.strip():
            raise InputError("Say in a few words why the review ended so: the person concerned will read it.")
        still_open = (table.c.identifier == identifier) & (table.c.outcome == "")
        ended = {"outcome": outcome, "answer": words.strip()[:LONGEST], "answered": now(), "officer": note.who}
        with self._database.write() as connection:
            if connection.execute(table.update().where(still_open).values(ended)).rowcount != 1:
                raise InputError("This request was answered already.")
            self._journal.append(connection, note)

    def of(self, handle: str) -> list[Review]:
        """The requests about a case, oldest first."""
        with self._database.read() as connection:
            return [Review(**row) for row in connection.execute(_ABOUT, {"of": handle}).mappings()]

    def all(self) -> list[Review]:
        """All requests, oldest first."""
        return self._found(sa.true())

    def open_handles(self) -> set[str]:
        """The cases with a request that nobody has answered yet."""
        return {review.handle for review in self._found(table.c.outcome == "")}

    def _found(self, condition: sa.ColumnElement[bool]) -> list[Review]:
        query = sa.select(table).where(condition).order_by(table.c.asked)
        with self._database.read() as connection:
            return [Review(**row) for row in connection.execute(query).mappings()]
