"""Explanations that were shown, kept as they were; and the handles under which cases are addressed."""

from __future__ import annotations

import base64
import hmac
import io
import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from uuid import uuid4

import sqlalchemy as sa

from dcshap._tables import Cells
from dcshap.desk.cases import Cases, Stated
from dcshap.desk.database import Database, explanations, references
from dcshap.desk.database import cases as known_cases
from dcshap.desk.journal import Journal, Note, now
from dcshap.explanation import PartyExplanation
from dcshap.explanation.receipt import Receipt
from dcshap.shapley.archive import table_from, written_table

__all__ = ["Kept", "Library"]

CASE, WHAT_IF = "case", "what if"
AT_HAND = 500  # explanations that need not be read again
_TEXTS = ("identifier", "handle", "purpose", "run", "reference", "made", "receipt", "opening")

_SHOWN = (
    sa.select(explanations.c.identifier, explanations.c.run)
    .where(explanations.c.handle == sa.bindparam("of"), explanations.c.purpose == CASE)
    .where(explanations.c.reference == sa.bindparam("kind"))
    .order_by(explanations.c.made.desc())
)
_REFERENCE = sa.select(references.c.content).where(references.c.fingerprint == sa.bindparam("of"))


@dataclass(frozen=True)
class Kept:
    """An explanation as it was made, and is shown ever after."""

    identifier: str
    handle: str
    purpose: str
    run: str
    reference: str
    made: str
    explanation: PartyExplanation
    answer: tuple[float, ...]  # what the model itself says; empty where only the explanation can tell
    receipt: str  # one line of JSON; empty where this desk can issue none
    opening: str  # with which its hashes can be checked, for those who may know the record
    is_stored: bool = True

    @cached_property
    def code(self) -> str:
        """What the receipt is called on a letter."""
        return Receipt.from_json(self.receipt).code if self.receipt else ""


class Library:
    """What was shown of the cases of one organisation.

    Parameters
    ----------
    database : Database
    journal : Journal
        What is shown is stored together with other threads' lines.
    cases : Cases
    key : bytes
        Makes handles unguessable.
    """

    def __init__(self, database: Database, journal: Journal, cases: Cases, key: bytes) -> None:
        self._database, self._journal, self._cases, self._key = database, journal, cases, key
        self._records = {self._made_handle(record): record for record in cases.records()}
        self._at_hand: OrderedDict[str, Kept] = OrderedDict()
        self._references: dict[str, Cells | None] = {}
        self._lock = threading.Lock()

    # --- handles ------------------------------------------------------------------------------------------------

    def handle_of(self, record: str) -> str | None:
        """Under which handle a case is addressed; None where there is no such case."""
        if not self._cases.knows(record):
            return None
        handle = self._made_handle(record)
        if handle not in self._records:  # a case of a federation, which is known once it was asked for
            with self._database.write() as connection:
                if connection.execute(sa.select(known_cases).where(known_cases.c.handle == handle)).first() is None:
                    connection.execute(known_cases.insert(), {"handle": handle, "record": record})
            self._records[handle] = record
        return handle

    def record_of(self, handle: str) -> str | None:
        """The case that a handle stands for."""
        if handle not in self._records:
            with self._database.read() as connection:
                found = connection.execute(sa.select(known_cases).where(known_cases.c.handle == handle)).first()
            if found is None:
                return None
            self._records[handle] = found.record
        return self._records[handle]

    def records(self) -> list[str]:
        """The identifiers of all cases that can be listed: those at hand, and those that were asked for before."""
        with self._database.read() as connection:
            asked = [row.record for row in connection.execute(sa.select(known_cases.c.record))]
        return [*self._cases.records(), *asked]

    def _made_handle(self, record: str) -> str:
        digest = hmac.digest(self._key, b"case " + record.encode(), "sha256")
        return base64.b32encode(digest[:15]).decode().lower()

    # --- explanations ---------------------------------------------------------------------------------------------

    def shown_before(self, handle: str, *, reference: str) -> list[Kept]:
        """The explanations of a case that there are already, newest first, one for each training."""
        with self._database.read() as connection:
            # Of two that were made at the same moment, the first: what was shown stays.
            by_run = {row.run: row.identifier for row in connection.execute(_SHOWN, {"of": handle, "kind": reference})}
        found = [self.get(identifier) for identifier in by_run.values()]
        return sorted((each for each in found if each is not None), key=lambda each: each.made, reverse=True)

    def explain(self, handle: str, record: str, *, reference: str) -> list[Kept]:
        """The explanation of a case by the model of now, made if need be, and those by earlier models after it.

        `show` must come before anybody sees one of them.
        """
        before = self.shown_before(handle, reference=reference)
        if any(each.run == self._cases.run for each in before):
            return sorted(before, key=lambda each: each.run != self._cases.run)
        stated = self._cases.explain(record, reference=reference)
        return [self.made(handle, stated, reference=reference, answer=self._cases.answer(record)), *before]

    def made(
        self, handle: str, stated: Stated, *, reference: str, purpose: str = CASE, answer: tuple[float, ...] = ()
    ) -> Kept:
        """A new explanation, which `show` will store."""
        receipt = stated.receipt
        return Kept(
            identifier=uuid4().hex,
            handle=handle,
            purpose=purpose,
            run=stated.explanation.run or "",
            reference=reference,
            made=now(),
            explanation=self._in_cells(stated.explanation),
            answer=answer,
            receipt="" if receipt is None else receipt.to_json(),
            opening="" if receipt is None else str(receipt.opening),
            is_stored=False,
        )

    def show(self, kept: Sequence[Kept], *notes: Note) -> None:
        """Write lines about explanations, and store with them those that are new: all of it is on disk on return."""
        fresh = [each for each in kept if not each.is_stored]
        rows = [_row_of(each) for each in fresh]
        references = [each.explanation for each in fresh if self._has_new_reference(each.explanation)]

        def store(connection: sa.Connection) -> None:
            for explanation in references:
                self._store_reference(connection, explanation)
            if rows:
                connection.execute(explanations.insert(), rows)

        self._journal.record(*notes, also=store)
        for each in fresh:
            self._remember(replace(each, is_stored=True))
        for explanation in references:
            self._references[str(explanation.reference_fingerprint)] = explanation.reference

    def get(self, identifier: str) -> Kept | None:
        """An explanation by its identifier."""
        with self._lock:
            if identifier in self._at_hand:
                self._at_hand.move_to_end(identifier)
                return self._at_hand[identifier]
        with self._database.read() as connection:
            row = connection.execute(sa.select(explanations).where(explanations.c.identifier == identifier)).first()
        if row is None:
            return None
        texts = {name: row._mapping[name] for name in _TEXTS}
        explanation = self._in_cells(PartyExplanation.load(io.BytesIO(row.content)))
        if explanation.reference is None:
            explanation = replace(explanation, reference=self._reference(str(explanation.reference_fingerprint)))
        kept = Kept(**texts, explanation=explanation, answer=tuple(json.loads(row.answer)))
        self._remember(kept)
        return kept

    def receipts(self) -> list[dict[str, str]]:
        """The receipts of all explanations that were shown, oldest first."""
        columns = (explanations.c.identifier, explanations.c.made, explanations.c.receipt)
        with self._database.read() as connection:
            return [dict(row) for row in connection.execute(sa.select(*columns).order_by("made")).mappings()]

    def _remember(self, kept: Kept) -> None:
        with self._lock:
            self._at_hand[kept.identifier] = kept
            while len(self._at_hand) > AT_HAND:
                self._at_hand.popitem(last=False)

    # --- what cases are compared with: the same rows for all of them, so they are stored once -------------------------

    def _in_cells(self, explanation: PartyExplanation) -> PartyExplanation:
        """The same explanation with its tables as lists, which are quicker to store, and to look cells up in."""
        data, reference = explanation.data, explanation.reference
        if reference is not None:
            known = self._references.get(str(explanation.reference_fingerprint))
            reference = Cells.of(reference) if known is None else known
        return replace(explanation, data=None if data is None else Cells.of(data), reference=reference)

    def _has_new_reference(self, explanation: PartyExplanation) -> bool:
        return explanation.reference is not None and explanation.reference_fingerprint not in self._references

    @staticmethod
    def _store_reference(connection: sa.Connection, explanation: PartyExplanation) -> None:
        fingerprint = explanation.reference_fingerprint
        if connection.execute(_REFERENCE, {"of": fingerprint}).first() is None:
            content = written_table(explanation.reference, what="reference")[1]
            connection.execute(references.insert(), {"fingerprint": fingerprint, "content": content})

    def _reference(self, fingerprint: str) -> Cells | None:
        """The rows of a fingerprint; None where a party keeps them to itself."""
        if fingerprint not in self._references:
            with self._database.read() as connection:
                found = connection.execute(_REFERENCE, {"of": fingerprint}).first()
            if found is None:
                return None
            self._references[fingerprint] = table_from("cells", found.content)
        return self._references[fingerprint]


def _row_of(kept: Kept) -> dict[str, Any]:
    """An explanation as it is stored: without the rows that it compares with."""
    content = io.BytesIO()
    replace(kept.explanation, reference=None).save(content)
    texts = {name: getattr(kept, name) for name in _TEXTS}
    return texts | {"content": content.getvalue(), "answer": json.dumps(kept.answer)}
