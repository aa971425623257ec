"""Who may come in: accounts with passwords, sessions that end, and one-time codes for the persons concerned."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from dcshap.desk.database import Database, codes, sessions, users
from dcshap.exceptions import InputError

__all__ = ["Accounts", "Role", "Session"]

IDLE = 30 * 60.0
LONGEST = 8 * 3600.0
CODE_LIVES = 14 * 24 * 3600.0
SEEN_EVERY = 60.0  # seconds between two notes that a session is used
SHORTEST_PASSWORD = 12
_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # without those that look like another

_SESSION = sa.select(sessions).where(sessions.c.token == sa.bindparam("wanted"))


class Role(StrEnum):
    """What somebody may do at the desk."""

    OFFICER = "officer"
    PERSON = "person"
    AUDITOR = "auditor"
    OPERATOR = "operator"


@dataclass(frozen=True)
class Session:
    """Somebody who came in."""

    who: str
    role: Role
    handle: str  # of a person concerned: the case that is theirs


class Accounts:
    """Accounts, sessions and codes in a database.

    Parameters
    ----------
    database : Database
    key : bytes
        With which codes and form tokens are made unguessable.
    """

    def __init__(self, database: Database, key: bytes) -> None:
        self._database, self._key = database, key
        self._hasher = PasswordHasher()

    @cached_property
    def _nobody(self) -> str:
        """The hash of a password that nobody knows, for those who have no account."""
        return self._hasher.hash(secrets.token_hex())

    # --- accounts ---------------------------------------------------------------------------------------------

    def add(self, name: str, role: Role, password: str) -> None:
        """Make an account, or give an account another role and password."""
        if role is Role.PERSON:
            raise InputError("A person concerned comes in by a one-time code and needs no account.")
        if not name.strip() or len(name) > 64:
            raise InputError("An account's name must be 1 to 64 characters.")
        if len(password) < SHORTEST_PASSWORD:
            raise InputError(f"A password must have at least {SHORTEST_PASSWORD} characters. Got {len(password)}.")
        row = {"name": name, "role": role.value, "password": self._hasher.hash(password)}
        with self._database.write() as connection:
            connection.execute(users.delete().where(users.c.name == name))
            connection.execute(users.insert(), row)
            connection.execute(sessions.delete().where(sessions.c.who == name))

    def roles(self) -> dict[str, str]:
        """The accounts there are, and their roles."""
        with self._database.read() as connection:
            return {row.name: row.role for row in connection.execute(sa.select(users.c.name, users.c.role))}

    def check(self, name: str, password: str) -> Role | None:
        """The role of an account whose password this is; it takes as long where there is no such account."""
        with self._database.read() as connection:
            found = connection.execute(sa.select(users).where(users.c.name == name)).first()
        try:
            self._hasher.verify(self._nobody if found is None else found.password, password)
        except (VerificationError, InvalidHashError):
            return None
        return None if found is None else Role(found.role)

    # --- sessions ---------------------------------------------------------------------------------------------

    def open(self, who: str, role: Role, *, handle: str = "") -> str:
        """Begin a session; the token that the browser keeps."""
        token, at = secrets.token_urlsafe(32), time.time()
        row = {"token": _digest(token), "who": who, "role": role.value, "handle": handle}
        with self._database.write() as connection:
            connection.execute(sessions.delete().where(sessions.c.ends < at))
            connection.execute(sessions.insert(), row | {"seen": at, "ends": at + LONGEST})
        return token

    def session(self, token: str) -> Session | None:
        """The session of a token, unless it has ended or was not used for too long."""
        at = time.time()
        with self._database.read() as connection:
            found = connection.execute(_SESSION, {"wanted": _digest(token)}).first()
        if found is None or found.ends < at or found.seen < at - IDLE:
            return None
        if found.seen < at - SEEN_EVERY:
            with self._database.write() as connection:
                connection.execute(sessions.update().where(sessions.c.token == found.token).values(seen=at))
        return Session(found.who, Role(found.role), found.handle)

    def close(self, token: str) -> None:
        """End a session."""
        with self._database.write() as connection:
            connection.execute(sessions.delete().where(sessions.c.token == _digest(token)))

    def open_sessions(self) -> dict[str, int]:
        """How many sessions of each role are open."""
        at = time.time()
        query = sa.select(sessions.c.role, sa.func.count()).where(sessions.c.ends >= at, sessions.c.seen >= at - IDLE)
        with self._database.read() as connection:
            return {row[0]: int(row[1]) for row in connection.execute(query.group_by(sessions.c.role))}

    def form_token(self, cookie: str) -> str:
        """What a form of this browser must bring back, so that no other page can send it."""
        return hmac.digest(self._key, b"form " + cookie.encode(), "sha256").hex()

    # --- codes for persons concerned ----------------------------------------------------------------------------

    def issue_code(self, connection: sa.Connection, handle: str) -> str:
        """A one-time code for a case, within a transaction; it is told once and kept as a digest only."""
        code = "-".join("".join(secrets.choice(_LETTERS) for _ in range(4)) for _ in range(4))
        row = {"code": self._code_digest(code), "handle": handle, "ends": time.time() + CODE_LIVES, "used": None}
        connection.execute(codes.insert(), row)
        return code

    def redeem(self, code: str) -> str | None:
        """The case of a code, once; None where it is unknown, used or too old, which look the same."""
        at, digest = time.time(), self._code_digest(code)
        valid = (codes.c.code == digest) & codes.c.used.is_(None) & (codes.c.ends >= at)
        with self._database.write() as connection:
            if connection.execute(codes.update().where(valid).values(used=at)).rowcount != 1:
                return None
            return str(connection.execute(sa.select(codes.c.handle).where(codes.c.code == digest)).scalar_one())

    def _code_digest(self, code: str) -> str:
        plain = "".join(letter for letter in code.upper() if letter in _LETTERS)
        return hmac.digest(self._key, b"code " + plain.encode(), "sha256").hex()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
