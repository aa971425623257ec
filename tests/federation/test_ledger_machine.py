"""The ledger and its budgets against a plain list, whatever is done to them in whatever order."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from dcshap._machine import Machine, using_machine
from dcshap.exceptions import PrivacyError, StorageError
from dcshap.federation.seals.ledger import Entry, Ledger, _parsed

DAY = 86400.0
BUDGET, DAYS = 6, 3.0


class Clock(Machine):
    def __init__(self) -> None:
        self.time = 1.7e9

    def now(self) -> float:
        return self.time


class Books(RuleBasedStateMachine):
    """Two processes of one site, and what they should have written."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.using = using_machine(self.clock)
        self.using.__enter__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "ledger.jsonl"
        self.books = [Ledger(self.path), Ledger(self.path)]
        self.written: list[tuple[float, Entry]] = []
        self.states = [self.books[0].state]

    def teardown(self) -> None:
        self.using.__exit__(None, None, None)
        self.folder.cleanup()

    def used(self, who: str) -> int:
        """Units of requests within the days of the budget."""
        since = self.clock.time - DAYS * DAY
        return sum(entry.units for when, entry in self.written if entry.requester == who and when >= since)

    @rule(at=st.integers(0, 1))
    def append(self, at):
        entry = Entry("analyst", "Ready", 3)
        self.books[at].append(entry)
        self.written.append((self.clock.time, entry))

    @rule(
        at=st.integers(0, 1),
        who=st.sampled_from(["officer", "auditor"]),
        request=st.sampled_from("abcdefgh"),
        kind=st.sampled_from(["Answer", "RecordPart"]),
        n=st.integers(1, 4),
    )
    def charge(self, at, who, request, kind, n):
        entry = Entry(who, kind, 3, {}, f"{who} {request}", who, n, units=n)
        charged = any(each.request == entry.request for _, each in self.written)
        refused = charged or self.used(who) + n > BUDGET
        if refused:
            with pytest.raises(PrivacyError):
                self.books[at].charge(entry, budget=BUDGET, days=DAYS)
        else:
            self.books[at].charge(entry, budget=BUDGET, days=DAYS)
            self.written.append((self.clock.time, entry))

    @rule(at=st.integers(0, 1))
    def restart(self, at):
        self.books[at] = Ledger(self.path)

    @rule(at=st.integers(0, 1))
    def archive(self, at):
        self.books[at].archive()

    @rule()
    def remember(self):
        self.states.append(self.books[0].state)

    @rule(days=st.sampled_from([0.5, 2.0, -1.0]))
    def turn_clock(self, days):
        self.clock.time += days * DAY

    @rule(junk=st.binary(min_size=1, max_size=20))
    def cut_short(self, junk):
        """A line that a crash has left unfinished."""
        with self.path.open("ab") as file:
            file.write(junk.replace(b"\n", b" "))

    @rule(at=st.integers(0, 1))
    def damage_and_mend(self, at):
        """A bad read raises, and leaves nothing behind once the file is whole again."""
        whole = self.path.read_bytes() if self.path.exists() else b""
        self.path.write_bytes(whole[: whole.rfind(b"\n") + 1] + b'{"entry": {}}\n')
        with pytest.raises(StorageError):
            self.books[at].append(Entry("analyst", "Ready", 3))
        self.path.write_bytes(whole)

    @invariant()
    def everything_is_there(self):
        assert [(e.kind, e.request, e.n_records) for e in self.books[0]] == [
            (e.kind, e.request, e.n_records) for _, e in self.written
        ]
        assert self.books[1].verify() == len(self.written)
        for state in self.states:
            self.books[1].require_state(state)


TestBooks = Books.TestCase
TestBooks.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)


def test_a_cut_tail_is_noticed_also_when_more_was_written_since(tmp_path):
    book = Ledger(tmp_path / "ledger.jsonl")
    for _ in range(4):
        book.append(Entry("analyst", "Ready", 3))
    state, lines = book.state, book.path.read_bytes().splitlines(keepends=True)
    book.path.write_bytes(b"".join(lines[:2]))
    again = Ledger(book.path)
    with pytest.raises(StorageError, match="lines are gone"):
        again.require_state(state)
    for _ in range(9):
        again.append(Entry("analyst", "Prepared", 3))
    assert again.verify() == 11
    with pytest.raises(StorageError, match="lines are gone"):
        again.require_state(state)


@pytest.mark.parametrize("state", ["x:y", "-1:0", "9:0", ":", "1"])
def test_a_state_that_is_none_is_refused(tmp_path, state):
    book = Ledger(tmp_path / "ledger.jsonl")
    book.append(Entry("analyst", "Ready", 3))
    with pytest.raises(StorageError):
        book.require_state(state)


def test_archives_keep_the_chain(tmp_path):
    book = Ledger(tmp_path / "ledger.jsonl")
    assert book.archive() is None
    for at in range(6):
        book.append(Entry("analyst", "Ready", at))
        if at % 2:
            assert book.archive() == tmp_path / f"ledger-{at // 2 + 1:06d}.jsonl"
    assert [entry.n_bytes for entry in Ledger(book.path)] == [0, 1, 2, 3, 4, 5]
    (tmp_path / "ledger-000002.jsonl").rename(tmp_path / "taken-away.jsonl")
    (tmp_path / "ledger-000003.jsonl").rename(tmp_path / "ledger-000002.jsonl")
    with pytest.raises(StorageError, match="changed or lost"):
        Ledger(book.path).verify()


def test_a_charge_reads_only_what_was_written_since(tmp_path, monkeypatch):
    book = Ledger(tmp_path / "ledger.jsonl")
    for at in range(300):
        book.charge(Entry("officer", "Answer", 3, {}, f"r{at}", "officer", 1), budget=1000, days=30)
    parsed = []

    def counted(line, last, **more):
        parsed.append(line)
        return _parsed(line, last, **more)

    monkeypatch.setattr("dcshap.federation.seals.ledger._parsed", counted)
    book.charge(Entry("officer", "Answer", 3, {}, "new", "officer", 1), budget=1000, days=30)
    assert len(parsed) == 0  # its own line it knows
    Ledger(book.path).append(Entry("officer", "Answer", 3, {}, "another's", "officer", 1))
    parsed.clear()
    book.charge(Entry("officer", "Answer", 3, {}, "newer", "officer", 1), budget=1000, days=30)
    assert len(parsed) == 1
