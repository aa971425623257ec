"""The desk's database: its tables, and transactions on SQLite or PostgreSQL."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Column, Float, Index, Integer, LargeBinary, MetaData, Table, Text

from dcshap.exceptions import StorageError

__all__ = [
    "Database",
    "attempts",
    "cases",
    "codes",
    "correspondents",
    "enquiries",
    "explanations",
    "journal",
    "references",
    "reviews",
    "sessions",
    "users",
]

PATIENCE = 5.0  # seconds that a transaction waits for another's
BETWEEN_TURNS = 0.0005  # seconds between two tries to get the right to write
WRITERS_LOCK = 0x64657368  # one writer at a time, also of several desks on one PostgreSQL

# Two files: whoever has the first one's lock is the next to write, and whoever has the second one's writes.
Turns = tuple[Path, Path]

_metadata = MetaData()

users = Table(
    "users",
    _metadata,
    Column("name", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("password", Text, nullable=False),  # argon2
)
sessions = Table(
    "sessions",
    _metadata,
    Column("token", Text, primary_key=True),  # a digest of it
    Column("who", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("handle", Text, nullable=False),  # the case of a person concerned
    Column("seen", Float, nullable=False),
    Column("ends", Float, nullable=False),
)
codes = Table(
    "codes",
    _metadata,
    Column("code", Text, primary_key=True),  # a digest of it
    Column("handle", Text, nullable=False),
    Column("ends", Float, nullable=False),
    Column("used", Float),
)
attempts = Table(
    "attempts",
    _metadata,
    Column("key", Text, nullable=False),  # a digest of who tries what
    Column("ends", Float, nullable=False),  # when it is forgotten
    Index("attempts_of_key", "key", "ends"),
)
cases = Table(
    "cases",
    _metadata,
    Column("handle", Text, primary_key=True),
    Column("record", Text, nullable=False),
)
explanations = Table(
    "explanations",
    _metadata,
    Column("identifier", Text, primary_key=True),
    Column("handle", Text, nullable=False),
    Column("purpose", Text, nullable=False),  # "case" or "what if"
    Column("run", Text, nullable=False),
    Column("reference", Text, nullable=False),  # its kind
    Column("made", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),  # as Explanation.save writes it
    Column("answer", Text, nullable=False),
    Column("receipt", Text, nullable=False),
    Column("opening", Text, nullable=False),
    Index("explanations_of_case", "handle", "purpose", "made"),
)
references = Table(
    "comparisons",
    _metadata,
    Column("fingerprint", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),  # an Arrow table
)
journal = Table(
    "journal",
    _metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("act", Text, nullable=False),
    Column("handle", Text, nullable=False),
    Column("explanation", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Index("journal_of_actor", "who", "act", "at"),
    Index("journal_of_case", "handle", "number"),
)
reviews = Table(
    "reviews",
    _metadata,
    Column("identifier", Text, primary_key=True),
    Column("handle", Text, nullable=False),
    Column("kind", Text, nullable=False),  # "review" or "contest"
    Column("words", Text, nullable=False),
    Column("asked", Text, nullable=False),
    Column("outcome", Text, nullable=False),  # empty while it is open
    Column("answer", Text, nullable=False),
    Column("answered", Text, nullable=False),
    Column("officer", Text, nullable=False),
)
enquiries = Table(
    "enquiries",
    _metadata,
    Column("identifier", Text, primary_key=True),
    Column("handle", Text, nullable=False),
    Column("organisation", Text, nullable=False),
    Column("asked", Text, nullable=False),
    Column("officer", Text, nullable=False),
    Column("request", Text, nullable=False),  # to be sent
    Column("key", LargeBinary, nullable=False),  # opens the answer
    Column("answer", Text, nullable=False),  # empty while it is open
    Column("answered", Text, nullable=False),
)
correspondents = Table(
    "correspondents",
    _metadata,
    Column("party", Text, primary_key=True),
    Column("fingerprint", Text, nullable=False),  # of the key that its desk signs letters with
    Column("since", Text, nullable=False),
)


class Database:
    """SQLite, or PostgreSQL by its URL.

    Parameters
    ----------
    url : str
        As SQLAlchemy has it: `sqlite:////path/desk.db`, `postgresql://user@host/name`.
    """

    def __init__(self, url: str) -> None:
        if url.startswith("postgresql://"):
            url = url.replace("postgresql://", "postgresql+psycopg://", 1)
        self.postgresql = url.startswith("postgresql")
        options: dict[str, Any] = {"pool_size": 10, "max_overflow": 30, "pool_timeout": PATIENCE}
        if self.postgresql:
            wait = f"-c lock_timeout={PATIENCE * 1000:.0f}"
            options |= {"pool_pre_ping": True, "connect_args": {"options": wait, "connect_timeout": int(PATIENCE)}}
        else:
            options |= {"connect_args": {"timeout": PATIENCE}}
        try:
            self._engine = sa.create_engine(url, **options)
        except (sa.exc.ArgumentError, ModuleNotFoundError) as error:
            raise StorageError(
                "The database must be a URL such as sqlite:////folder/desk.db or postgresql://user@host/name, and for "
                "PostgreSQL the package psycopg must be installed."
            ) from error
        self._turns: Turns | None = None
        if not self.postgresql:
            self._turns = _made_private(self._engine.url.database)
            sa.event.listen(self._engine, "connect", _prepare_sqlite)
            sa.event.listen(self._engine, "begin", _begin_sqlite)
        self._writing = self._engine.execution_options(desk_writes=True)
        self._reading = (
            self._engine.execution_options(isolation_level="AUTOCOMMIT") if self.postgresql else self._engine
        )
        try:
            with self.write() as connection:
                _metadata.create_all(connection)
        except StorageError:
            self.close()
            raise

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A connection to ask: every query sees one state of the database."""
        with _as_storage_error(), self._reading.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """A transaction that is the only one that writes: all of it is on disk at the end, or nothing."""
        with _as_storage_error(), _turn(self._turns), self._writing.begin() as connection:
            if self.postgresql:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(WRITERS_LOCK)))
            yield connection

    def close(self) -> None:
        """Give back all connections."""
        self._engine.dispose()


@contextmanager
def _as_storage_error() -> Iterator[None]:
    """Turn what a database says that is locked, full or gone into a StorageError."""
    try:
        yield
    except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.DatabaseError, sa.exc.TimeoutError) as error:
        raise StorageError(
            "The desk's database is locked or cannot be reached. Nothing was shown or changed. Try again in a moment; "
            "if that does not help, tell whoever runs the desk."
        ) from error


def _made_private(file: str | None) -> Turns | None:
    """Keep SQLite's file from everybody but its owner; what is put beside it gets the same mode. The files of turns."""
    if not file or file == ":memory:" or file.startswith("file:"):
        return None
    turns = Path(f"{file}-queue"), Path(f"{file}-turns")
    try:
        for path in (Path(file), *turns):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        for path in (Path(file), Path(f"{file}-wal"), Path(f"{file}-shm"), *turns):
            if path.exists():
                path.chmod(0o600)
    except OSError as error:
        raise StorageError("The desk's database must be a file that this user owns and can write.") from error
    return turns if sys.platform != "win32" else None


@contextmanager
def _turn(turns: Turns | None) -> Iterator[None]:
    """Wait for the right to write to SQLite, which the system gives back when a process ends.

    SQLite itself lets a writer that finds another one sleep, up to a tenth of a second at a time: of two processes that
    write all the time, one would hardly ever be awake at the right moment. Here whoever waits has the queue's lock, so
    that nobody who has just written comes in between.
    """
    if turns is None:
        yield
        return
    until = time.monotonic() + PATIENCE
    queue, turn = (os.open(path, os.O_RDWR | os.O_CLOEXEC) for path in turns)
    try:
        try:
            for place in (queue, turn):
                while not _locked(place) and time.monotonic() < until:  # then SQLite says what is wrong
                    time.sleep(BETWEEN_TURNS)
        finally:
            os.close(queue)
        yield
    finally:
        os.close(turn)


def _locked(place: int) -> bool:
    import fcntl  # noqa: PLC0415 - which Windows lacks

    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # the driver must not begin transactions by itself: `_begin_sqlite` does
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")  # a line of the journal outlives a loss of power
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    # A single query sees one state of the database without a transaction of its own.
    if connection.get_execution_options().get("desk_writes", False):
        connection.exec_driver_sql("BEGIN IMMEDIATE")
