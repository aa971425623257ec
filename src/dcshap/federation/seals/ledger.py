"""The ledger: one line per message that left the site, append-only and chained by hashes.

Each line holds the hash of the line before it, so that a line which was changed, dropped or inserted is found by
`verify`. It says when, to whom, what kind, which shapes, how many bytes, and for which request: no values.
Requests that were let in, refusals and the privacy that a training has spent have lines of their own.

`ledger.jsonl` is what is written to. Archived lines lie beside it in files whose names count up; the chain goes
through all of them. What a charge costs does not grow with the ledger: of earlier lines only an index is kept in
memory, some 50 bytes a charge, and each time only what was written since is read.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from dcshap._disk import append_to, locked, rename
from dcshap._machine import now
from dcshap._recall import recalled
from dcshap.exceptions import InputError, PrivacyError, StorageError
from dcshap.federation.seals.budgets import Budgets

__all__ = ["Entry", "Ledger"]

_START = "0" * 64
_DAY = 86_400.0
_MOST_UNITS = 1 << 31  # of one line


@dataclass(frozen=True)
class Entry:
    """One message that left the site."""

    recipient: str
    kind: str
    n_bytes: int  # as it left, packed
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    request: str = ""  # which explanation request or training it belongs to
    requester: str = ""  # who asked; empty in training
    n_records: int = 0  # how many records it discloses something of
    when: str = ""
    units: int = 0  # what it takes of the requester's budget: one for each record and kind of message
    # Keyed digests of the records, which nobody can read who lacks the site's private seed.
    records: tuple[str, ...] = ()
    epsilon: float = 0.0  # what it spends of differential privacy
    note: str = ""  # what else is to be known: of a refusal its kind, of an accepted risk the reason


@dataclass(frozen=True)
class _Known:
    """What is known of the lines that were read: how many, the last one's hash, and how much of which file."""

    count: int = 0
    last: str = _START
    archives: int = 0  # files that are full
    size: int = 0  # bytes read of the file after them
    tail: bytes = b""  # the last line read of it


class Ledger:
    """A site's ledger, in files of JSON lines; `path` is the one that is written to."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._known = _Known()
        self._budgets = Budgets()

    def __iter__(self) -> Iterator[Entry]:
        return (entry for entry, _ in self._read_all())

    def append(self, entry: Entry) -> None:
        """Write a line, before the message leaves."""
        with self._lock, locked(self.path.parent):
            self._catch_up()
            self._write(entry)

    def charge(self, entry: Entry, *, budget: int, days: float) -> None:
        """Write a line that counts against a requester's budget, or refuse; two requests at once cannot both pass.

        A request is charged once, before anything is done for it, and refused if it was charged before.
        """
        with self._lock, locked(self.path.parent):
            self._catch_up()
            self._require_budget(entry, budget=budget, days=days)
            self._write(entry)

    def disclose(self, entry: Entry, *, limit: int) -> None:
        """Write a line about records that a recipient is told of, or refuse where it would know of too many.

        A record that the recipient was told of before counts once: it is told the same again.
        """
        with self._lock, locked(self.path.parent):
            self._catch_up()
            self._require_room(entry, limit=limit)
            self._write(entry)

    def require_room(self, entry: Entry, *, limit: int) -> None:
        """Refuse what `disclose` would refuse now, before any work is done for it."""
        with self._lock, locked(self.path.parent):
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
        if self._budgets.charged(entry.requester, entry.request):
            raise PrivacyError("A request is answered once. This one was answered before: ask again.")
        used = self._budgets.used(entry.requester, since=now() - _DAY * days)
        if used + entry.units > budget:
            raise PrivacyError(
                f"The budget of {entry.requester!r} is {budget} records in {days:g} days, each counted once for every "
                f"kind of message about it. {used} are used and {entry.units} more were asked for."
            )

    def _require_room(self, entry: Entry, *, limit: int) -> None:
        told, new = self._budgets.untold(entry.recipient, entry.records)
        if told + new > limit:
            raise PrivacyError(
                f"{entry.recipient!r} may be told of {limit} records in all, whoever asks (`recipient_budget`). "
                f"{told} are told and {new} more were asked for."
            )

    @property
    def exists(self) -> bool:
        """Whether anything was written yet."""
        return self.path.exists() or self._archive(1).exists()

    # --- checking -------------------------------------------------------------------------------------------

    def verify(self) -> int:
        """Read all files again and check the chain; the number of lines.

        Raises
        ------
        StorageError
            Naming the first line that is not what was written.
        """
        count = sum(1 for _ in self._read_all())
        with self._lock:
            if count < self._known.count:
                raise StorageError(f"{self.path} must have at least {self._known.count} lines. It has {count}.")
        return count

    @property
    def state(self) -> str:
        """The number of lines and the last one's hash, for partners to remember."""
        with self._lock, locked(self.path.parent):
            self._catch_up()
            return f"{self._known.count}:{self._known.last}"

    def require_state(self, remembered: str) -> None:
        """Refuse to go on where lines are gone that were there when partners were last told of this ledger.

        Raises
        ------
        StorageError
            If the ledger was cut short, or is another one.
        """
        count, _, last = remembered.partition(":")
        if not remembered or (count == "0" and last == _START):
            return
        then = None
        for at, (_, found) in enumerate(self._read_all(), 1):  # to the end: all of it is checked
            then = found if str(at) == count else then
        if then != last:
            raise StorageError(
                f"{self.path.name} was longer, or another, when the partners were last told of it: lines are gone. "
                f"Put back the ledger with {count[:9]} lines; where that cannot be, the partners must remove what they "
                f"remember (`ledgers.json`)."
            )

    def archive(self) -> Path | None:
        """Close the file that is written to and begin another; the chain goes on. None where there is nothing."""
        with self._lock, locked(self.path.parent):
            self._catch_up()
            if not self._known.size:
                return None
            target = self._archive(self._known.archives + 1)
            rename(self.path, target)
            self._catch_up()
            return target

    # --- the files ------------------------------------------------------------------------------------------

    def _archive(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.stem}-{number:06d}{self.path.suffix}")

    def _write(self, entry: Entry) -> None:
        content = vars(entry) | {"when": datetime.fromtimestamp(now(), UTC).isoformat()}
        try:
            _require_types(Entry(**content))
        except ValueError as error:  # or nothing could be read from then on
            raise InputError("A line of a ledger must have texts, and numbers that can be counted.") from error
        known, text = self._known, json.dumps(content, sort_keys=True)
        last = _chained(known.last, text)
        line = (json.dumps({"entry": content, "hash": last}, sort_keys=True) + "\n").encode()
        # What comes after the last whole line was cut short by a crash: its message never left.
        append_to(self.path, line, size=known.size)
        self._known = _Known(known.count + 1, last, known.archives, known.size + len(line), line)
        self._count(entry, content["when"])

    def _catch_up(self) -> None:
        """Read what this process or another has written since, checking the chain; of a bad line nothing is kept."""
        while (archive := self._archive(self._known.archives + 1)).exists():
            self._read_on(archive)
            self._known = replace(self._known, archives=self._known.archives + 1, size=0, tail=b"")
        self._read_on(self.path)

    def _count(self, entry: Entry, when: str) -> None:
        """Have a line count against budgets."""
        if entry.requester:
            self._budgets.tell(entry.recipient, entry.records)
            if entry.units:
                self._budgets.charge(entry.requester, entry.request, units=entry.units, when=_moment(when))

    def _read_on(self, path: Path) -> None:
        """Count the lines of a file that come after what is known of it; line by line, however many there are."""
        known, size = self._known, path.stat().st_size if path.exists() else 0
        if size < known.size:
            raise StorageError(f"{path} has become shorter: lines were taken out of it.")
        if size == 0:
            return
        with path.open("rb") as file:
            file.seek(known.size - len(known.tail))
            if file.read(len(known.tail)) != known.tail:
                raise StorageError(f"Line {known.count} of {path} is not what it was: the ledger was changed.")
            for line in file:
                if not line.endswith(b"\n"):  # cut short by a crash
                    break
                entry, last = _parsed(line, known.last, number=known.count + 1, path=path)
                # Counted first: a line that fails here is counted again, not passed over.
                self._count(entry, entry.when)
                known = _Known(known.count + 1, last, known.archives, known.size + len(line), line)
                self._known = known

    def _read_all(self) -> Iterator[tuple[Entry, str]]:
        """Every entry and its hash, from the first on, read as they are asked for."""
        last, number, count = _START, 1, 0
        while self._archive(number).exists():
            number += 1
        for path in [*map(self._archive, range(1, number)), self.path]:
            if not path.exists():
                continue
            with path.open("rb") as file:
                for line in file:
                    if not line.endswith(b"\n"):  # cut short by a crash
                        break
                    count += 1
                    entry, last = _parsed(line, last, number=count, path=path)
                    yield entry, last


def _chained(last: str, text: str) -> str:
    return hashlib.sha256(f"{last}\n{text}".encode()).hexdigest()


@partial(recalled, shared=True)
def _parsed(line: bytes, last: str, *, number: int, path: Path) -> tuple[Entry, str]:
    try:
        written = json.loads(line)
        content, found = written["entry"], written["hash"]
        expected = _chained(last, json.dumps(content, sort_keys=True))
        shapes = {name: tuple(shape) for name, shape in content["shapes"].items()}
        units = {"units": content["n_records"]} if content["requester"] else {}  # a line of an earlier version
        entry = Entry(**(units | content | {"shapes": shapes, "records": tuple(content.get("records", ()))}))
        _require_types(entry)
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        raise StorageError(f"Line {number} of {path} is damaged.") from error
    if found != expected:
        raise StorageError(f"Line {number} of {path} does not follow from the one before: a line was changed or lost.")
    return entry, str(found)


def _require_types(entry: Entry) -> None:
    """Refuse what cannot be counted, with a ValueError."""
    texts = (entry.recipient, entry.kind, entry.request, entry.requester, entry.when, entry.note, *entry.records)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("no text")
    if type(entry.units) is not int or not 0 <= entry.units < _MOST_UNITS:
        raise ValueError("no number of units")
    if type(entry.epsilon) not in (int, float) or not math.isfinite(entry.epsilon):
        raise ValueError("no number")
    _moment(entry.when)


def _moment(when: str) -> float:
    """Seconds since 1970."""
    moment = datetime.fromisoformat(when)
    if moment.tzinfo is None:
        raise ValueError("no time zone")
    return moment.timestamp()
