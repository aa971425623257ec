"""Limits on how often something may be tried, for all processes of a desk together and across its restarts."""

from __future__ import annotations

import hashlib
import time

import sqlalchemy as sa

from dcshap.desk.database import Database
from dcshap.desk.database import attempts as table

__all__ = ["Throttle"]


class Throttle:
    """Allows so many tries per key within a sliding span of seconds.

    Parameters
    ----------
    database : Database
    name : str
        What is tried: keys of other throttles do not count.
    limit : int
    seconds : float
    """

    def __init__(self, database: Database, name: str, *, limit: int, seconds: float) -> None:
        self._database, self._name, self._limit, self._seconds = database, name, limit, seconds

    def wait(self, key: str) -> float:
        """Count a try; the seconds to wait where there were too many, else 0."""
        at = time.time()
        # What a visitor sends may be long.
        digest = hashlib.sha256(f"{self._name} {key}".encode(errors="surrogatepass")).hexdigest()
        with self._database.read() as connection:
            refused = self._refused(connection, digest, at)
        if refused:  # nobody can keep the database busy with tries that are refused
            return refused
        with self._database.write() as connection:
            connection.execute(table.delete().where(table.c.ends <= at))
            refused = self._refused(connection, digest, at)
            if not refused:
                connection.execute(table.insert(), {"key": digest, "ends": at + self._seconds})
        return refused

    def _refused(self, connection: sa.Connection, digest: str, at: float) -> float:
        query = sa.select(sa.func.count(), sa.func.min(table.c.ends)).where(table.c.key == digest, table.c.ends > at)
        tries, first = connection.execute(query).one()
        return float(first) - at if tries >= self._limit else 0.0
