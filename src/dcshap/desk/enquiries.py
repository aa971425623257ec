"""Asking another organisation for its specific reasons.

A request names the case and a fresh public key. The other organisation's desk releases its reasons sealed to that key,
so that whoever carries the answer cannot read it. Both are signed, so that nobody who carries them can change them.
Desks on one machine find each other's letters in a folder; others send them as text. In a federation the usual signed,
budgeted request is sent at once.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from dcshap.desk.cases import Cases
from dcshap.desk.correspondents import Correspondents
from dcshap.desk.database import Database
from dcshap.desk.database import enquiries as table
from dcshap.desk.journal import Journal, Note, now
from dcshap.exceptions import InputError
from dcshap.storage import write_private

__all__ = ["Enquiries", "Enquiry", "Letter", "Mail"]

ASKS, ANSWERS = "dcshap desk request 2", "dcshap desk sealed answer 2"
_NONCE = bytes(12)  # every key is used once


@dataclass(frozen=True)
class Enquiry:
    """A request to another organisation, and its answer."""

    identifier: str
    handle: str
    organisation: str
    asked: str
    officer: str
    request: str
    answer: str  # empty while it is open

    @property
    def reasons(self) -> list[str]:
        """The reasons in the answer."""
        return list(json.loads(self.answer)["reasons"]) if self.answer else []


_ABOUT = (
    sa.select(*(table.c[name] for name in Enquiry.__annotations__))
    .where(table.c.handle == sa.bindparam("of"))
    .order_by(table.c.asked)
)


@dataclass(frozen=True)
class Letter:
    """A request that arrived from another organisation."""

    identifier: str
    sender: str
    recipient: str
    record: str
    run: str
    key: str
    signer: str  # the public key of the sender's desk
    signature: str = ""

    @property
    def content(self) -> dict[str, str]:
        """What is signed."""
        return {"format": ASKS} | {name: value for name, value in vars(self).items() if name != "signature"}

    def answer_content(self, parts: Mapping[str, Any]) -> dict[str, Any]:
        """What is signed of an answer: it belongs to this request and to no other."""
        return {"format": ANSWERS, "request": self.content} | {
            name: parts[name] for name in ("key", "sealed", "signer")
        }

    @classmethod
    def read(cls, text: str) -> Letter:
        """The request that a text is."""
        content = _parsed(text, ASKS)
        return cls(**{name: str(content.get(name, "")) for name in cls.__annotations__})

    def sealed(self, reasons: Sequence[str], correspondents: Correspondents) -> str:
        """Reasons that nobody but the sender of this request can read, signed by this desk."""
        mine = X25519PrivateKey.generate()
        try:
            shared = mine.exchange(X25519PublicKey.from_public_bytes(base64.b64decode(self.key, validate=True)))
        except ValueError as error:
            raise InputError("The request must name the key that its answer is sealed to. It does not.") from error
        content = json.dumps({"reasons": list(reasons), "from": self.recipient}).encode()
        box = ChaCha20Poly1305(_derived(shared, self.identifier)).encrypt(_NONCE, content, self.identifier.encode())
        parts = {"key": _text(mine.public_key().public_bytes_raw()), "sealed": _text(box)}
        parts |= {"signer": correspondents.signer.pem}
        parts |= {"signature": correspondents.signature(self.answer_content(parts))}
        return json.dumps({"format": ANSWERS, "identifier": self.identifier, **parts})


class Mail:
    """Letters between desks on one machine: a folder for each recipient.

    Parameters
    ----------
    folder : Path, optional
        None where letters are carried by hand.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def send(self, recipient: str, identifier: str, text: str) -> bool:
        """Leave a letter, whole or not at all; whether there is a place for it."""
        if self._folder is None or not re.fullmatch(r"[0-9a-f]{32}", identifier):
            return False
        place = self._folder / recipient
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(place / f"{identifier}.json", text)
        return True

    def arrived(self, recipient: str, form: str) -> list[str]:
        """The letters of a form for somebody; what is none is left where it is."""
        place = None if self._folder is None else self._folder / recipient
        if place is None or not place.is_dir():
            return []
        texts = [file.read_text(encoding="utf-8", errors="replace") for file in sorted(place.glob("*.json"))]
        return [text for text in texts if _is_of(text, form)]


class Enquiries:
    """What was asked of other organisations.

    Parameters
    ----------
    database : Database
    journal : Journal
    cases : Cases
    mail : Mail
    correspondents : Correspondents
    """

    def __init__(
        self, database: Database, journal: Journal, cases: Cases, *, mail: Mail, correspondents: Correspondents
    ) -> None:
        self._database, self._journal, self._cases, self.mail = database, journal, cases, mail
        self._correspondents = correspondents

    def ask(self, handle: str, record: str, organisation: str, note: Note) -> str:
        """Keep a request to another organisation, and send it where there is a way; the request's identifier."""
        identifier, key = uuid4().hex, X25519PrivateKey.generate()
        letter = Letter(
            identifier=identifier,
            sender=self._cases.party,
            recipient=organisation,
            record=record,
            run=self._cases.run,
            key=_text(key.public_key().public_bytes_raw()),
            signer=self._correspondents.signer.pem,
        )
        request = json.dumps(letter.content | {"signature": self._correspondents.signature(letter.content)})
        row = {"identifier": identifier, "handle": handle, "organisation": organisation, "asked": now()}
        row |= {"officer": note.who, "request": request, "answer": "", "answered": ""}
        with self._database.write() as connection:
            connection.execute(table.insert(), {**row, "key": key.private_bytes_raw()})
            self._journal.append(connection, note)
        self.mail.send(organisation, identifier, request)
        return identifier

    def keep_answer(self, identifier: str, reasons: Sequence[str], note: Note) -> None:
        """Keep the reasons of another organisation."""
        answer = json.dumps({"reasons": list(reasons)})
        still_open = (table.c.identifier == identifier) & (table.c.answer == "")
        with self._database.write() as connection:
            if connection.execute(table.update().where(still_open).values(answer=answer, answered=now())).rowcount:
                self._journal.append(connection, note)

    def open_answer(self, handle: str, text: str, note: Note) -> None:
        """Open a sealed answer to a request about a case."""
        content = _parsed(text, ANSWERS)
        identifier = content["identifier"]
        with self._database.read() as connection:
            found = connection.execute(
                sa.select(table).where(table.c.identifier == identifier, table.c.handle == handle)
            ).first()
        if found is None:
            raise InputError("This answer belongs to no request about this case.")
        fingerprint = self._require_genuine(found.organisation, Letter.read(found.request), content)
        try:
            theirs = X25519PublicKey.from_public_bytes(base64.b64decode(str(content["key"]), validate=True))
            shared = X25519PrivateKey.from_private_bytes(found.key).exchange(theirs)
            box = base64.b64decode(str(content["sealed"]), validate=True)
            opened = ChaCha20Poly1305(_derived(shared, identifier)).decrypt(_NONCE, box, identifier.encode())
            reasons = [str(reason) for reason in json.loads(opened)["reasons"]]
        except (InvalidTag, KeyError, TypeError, ValueError) as error:
            raise InputError("The answer must be as the other organisation sealed it. It was changed.") from error
        self._correspondents.remember(found.organisation, fingerprint)
        self.keep_answer(identifier, reasons, note)

    def _require_genuine(self, organisation: str, asked: Letter, answer: Mapping[str, Any]) -> str:
        """Refuse an answer that the organisation that was asked did not sign; its key's fingerprint."""
        parts = {name: str(answer.get(name, "")) for name in ("key", "sealed", "signer", "signature")}
        signed = asked.answer_content(parts)
        return self._correspondents.require(organisation, signed, pem=parts["signer"], signature=parts["signature"])

    def collected(self, handle: str, note: Note) -> list[Enquiry]:
        """The requests about a case, with answers that have arrived on this machine since."""
        found = self.of(handle)
        waiting = {each.identifier for each in found if not each.answer}
        if not waiting:
            return found
        for text in self.mail.arrived(self._cases.party, ANSWERS):
            if _parsed(text, ANSWERS)["identifier"] in waiting:
                with suppress(InputError):  # a letter that is not as it was sealed keeps nobody from the case
                    self.open_answer(handle, text, note)
        return self.of(handle)

    def letters(self) -> list[tuple[Letter, str]]:
        """The requests of others that have arrived on this machine, read and as text."""
        return [(Letter.read(text), text) for text in self.mail.arrived(self._cases.party, ASKS)]

    def of(self, handle: str) -> list[Enquiry]:
        """The requests about a case, oldest first."""
        with self._database.read() as connection:
            return [Enquiry(**row) for row in connection.execute(_ABOUT, {"of": handle}).mappings()]


def _is_of(text: str, form: str) -> bool:
    try:
        _parsed(text, form)
    except InputError:
        return False
    return True


def _parsed(text: str, form: str) -> Mapping[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    content = content if isinstance(content, dict) else {}
    if content.get("format") != form or not isinstance(content.get("identifier"), str):
        raise InputError(f"The text must be a {form!r}, as the other desk wrote it. It is not.")
    return content


def _derived(shared: bytes, identifier: str) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=f"desk {identifier}".encode()).derive(shared)


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()
