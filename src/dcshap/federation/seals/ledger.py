"""The ledger: one line per message that left the site, append-only and chained by hashes.

Each line holds the hash of the line before it, so that a line which was changed, dropped or inserted is found by
`verify`. It says when, to whom, what kind, which shapes, how many bytes, and for which request: no values.
Requests that were let in, refusals and the privacy that a training has spent have lines of their own.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from dcshap.exceptions import PrivacyError, StorageError

__all__ = ["Entry", "Ledger"]

_START = "0" * 64


@dataclass(frozen=True)
class Entry:
    """One message that left the site.

    Attributes
    ----------
    recipient : str
    kind : str
    shapes : mapping of str to tuple of int
    n_bytes : int
        As it left, packed.
    request : str
        Which explanation request or training it belongs to.
    requester : str
        Who asked; empty in training.
    n_records : int
        How many records it discloses something of.
    units : int
        What it takes of the requester's budget: one for each record and kind of message.
    records : tuple of str
        Keyed digests of the records, which nobody can read who lacks the site's private seed.
    epsilon : float
        What it spends of differential privacy.
    note : str
        What else is to be known: of a refusal its kind, of an accepted risk the reason.
    """

    recipient: str
    kind: str
    n_bytes: int
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    request: str = ""
    requester: str = ""
    n_records: int = 0
    when: str = ""
    units: int = 0
    records: tuple[str, ...] = ()
    epsilon: float = 0.0
    note: str = ""


class Ledger:
    """A site's ledger, in one file of JSON lines."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._size = 0
        self._last = _START
        self._entries: list[Entry] = []

    def __iter__(self) -> Iterator[Entry]:
        with self._lock:
            self._catch_up()
            return iter(list(self._entries))

    def append(self, entry: Entry) -> None:
        """Write a line, before the message leaves."""
        with self._lock, self._exclusive() as file:
            self._catch_up()
            self._write(file, entry)

    def charge(self, entry: Entry, *, budget: int, days: float) -> None:
        """Write a line that counts against a requester's budget, or refuse; two requests at once cannot both pass.

        A request is charged once, before anything is done for it, and refused if it was charged before.
        """
        with self._lock, self._exclusive() as file:
            self._catch_up()
            self._require_budget(entry, budget=budget, days=days)
            self._write(file, entry)

    def disclose(self, entry: Entry, *, limit: int) -> None:
        """Write a line about records that a recipient is told of, or refuse where it would know of too many.

        A record that the recipient was told of before counts once: it is told the same again.
        """
        with self._lock, self._exclusive() as file:
            self._catch_up()
            self._require_room(entry, limit=limit)
            self._write(file, entry)

    def require_room(self, entry: Entry, *, limit: int) -> None:
        """Refuse what `disclose` would refuse now, before any work is done for it."""
        with self._lock:
            self._catch_up()
            self._require_room(entry, limit=limit)

    def epsilons(self) -> dict[str, float]:
        """What all trainings together have spent of differential privacy, by collaboration."""
        spent: dict[str, float] = {}
        for line in self:
            if line.epsilon:
                spent[line.note] = spent.get(line.note, 0.0) + line.epsilon
        return spent

    def _require_budget(self, entry: Entry, *, budget: int, days: float) -> None:
        charged = [line for line in self._entries if line.requester == entry.requester and line.units]
        if any(line.request == entry.request for line in charged):
            raise PrivacyError("A request is answered once. This one was answered before: ask again.")
        since = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        used = sum(line.units for line in charged if line.when >= since)
        if used + entry.units > budget:
            raise PrivacyError(
                f"The budget of {entry.requester!r} is {budget} records in {days:g} days, each counted once for every "
                f"kind of message about it. {used} are used and {entry.units} more were asked for."
            )

    def _require_room(self, entry: Entry, *, limit: int) -> None:
        told = {name for line in self._entries if line.recipient == entry.recipient for name in line.records}
        if len(told | set(entry.records)) > limit:
            raise PrivacyError(
                f"{entry.recipient!r} may be told of {limit} records in all, whoever asks (`recipient_budget`). "
                f"{len(told)} are told and {len(set(entry.records) - told)} more were asked for."
            )

    def verify(self) -> int:
        """Read the whole file again and check the chain; the number of lines.

        Raises
        ------
        StorageError
            Naming the first line that is not what was written.
        """
        last, count = _START, 0
        for count, line in enumerate(self._lines(), start=1):
            _, last = _parsed(line, last, number=count, path=self.path)
        with self._lock:
            if count < len(self._entries):
                raise StorageError(f"{self.path} must have at least {len(self._entries)} lines. It has {count}.")
        return count

    # --- the file -------------------------------------------------------------------------------------------

    def _exclusive(self) -> Any:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # released when the file is closed
        return os.fdopen(descriptor, "ab")

    def _write(self, file: Any, entry: Entry) -> None:
        content = asdict(entry) | {"when": datetime.now(UTC).isoformat()}
        text = json.dumps(content, sort_keys=True)
        line = json.dumps({"entry": content, "hash": _chained(self._last, text)}, sort_keys=True) + "\n"
        file.truncate(self._size)  # of a line that was cut short by a crash; its message never left
        file.write(line.encode())
        file.flush()
        os.fsync(file.fileno())
        self._catch_up()

    def _catch_up(self) -> None:
        """Read what this process or another has written since; checking the chain on the way."""
        if not self.path.exists() or self.path.stat().st_size == self._size:
            return
        if self.path.stat().st_size < self._size:
            raise StorageError(f"{self.path} has become shorter: lines were taken out of it.")
        with self.path.open("rb") as file:
            file.seek(self._size)
            data = file.read()
        data = data[: data.rfind(b"\n") + 1]
        for line in data.decode().splitlines():
            entry, self._last = _parsed(line, self._last, number=len(self._entries) + 1, path=self.path)
            self._entries.append(entry)
        self._size += len(data)

    def _lines(self) -> list[str]:
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        return text[: text.rfind("\n") + 1].splitlines()


def _chained(last: str, text: str) -> str:
    return hashlib.sha256(f"{last}\n{text}".encode()).hexdigest()


def _parsed(line: str, last: str, *, number: int, path: Path) -> tuple[Entry, str]:
    try:
        written = json.loads(line)
        content, found = written["entry"], written["hash"]
        expected = _chained(last, json.dumps(content, sort_keys=True))
        shapes = {name: tuple(shape) for name, shape in content["shapes"].items()}
        units = {"units": content["n_records"]} if content["requester"] else {}  # a line of an earlier version
        entry = Entry(**(units | content | {"shapes": shapes, "records": tuple(content.get("records", ()))}))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise StorageError(f"Line {number} of {path} is damaged.") from error
    if found != expected:
        raise StorageError(f"Line {number} of {path} does not follow from the one before: a line was changed or lost.")
    return entry, found
