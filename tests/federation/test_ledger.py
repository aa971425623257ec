from __future__ import annotations

import json
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256

import pytest

from dcshap.exceptions import InputError, PrivacyError, StorageError
from dcshap.federation.seals.budgets import Budgets
from dcshap.federation.seals.ledger import Entry, Ledger


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.jsonl")


def answer(request="r1", n=1, who="officer", kind="Asked", to="officer"):
    return Entry(to, kind, 100, {"rows": (n, 2)}, request, who, n, units=n)


def told(*records, to="bank"):
    return Entry(to, "RecordVectors", 100, request="r", requester="officer", records=records)


def test_lines_come_back_in_order_with_the_time(ledger):
    ledger.append(Entry("analyst", "Representation", 12, {"rows": (3, 2)}, "run"))
    ledger.append(answer())
    again = list(Ledger(ledger.path))
    assert [entry.kind for entry in again] == ["Representation", "Asked"]
    assert again[0].shapes == {"rows": (3, 2)}
    assert all(entry.when for entry in again)
    assert ledger.verify() == 2


def test_nobody_else_can_read_it(ledger):
    ledger.append(answer())
    assert ledger.path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("change", ["edit", "drop", "swap", "insert", "end"])
def test_a_changed_file_is_found(ledger, change):
    for at in range(4):
        ledger.append(answer(request=f"r{at}"))
    lines = ledger.path.read_text().splitlines()
    if change == "edit":
        lines[1] = lines[1].replace('"n_records": 1', '"n_records": 0')
    elif change == "drop":
        del lines[1]
    elif change == "swap":
        lines[1], lines[2] = lines[2], lines[1]
    elif change == "insert":
        lines.insert(1, lines[0])
    else:
        lines = lines[:-1]
    ledger.path.write_text("\n".join(lines) + "\n")
    with pytest.raises(StorageError):
        ledger.verify()


def test_a_line_cut_short_by_a_crash_is_replaced_by_the_next(ledger):
    ledger.append(answer(request="r1"))
    with ledger.path.open("a") as file:
        file.write('{"entry": {"kind"')
    again = Ledger(ledger.path)
    again.append(answer(request="r2"))
    assert again.verify() == 2
    assert Ledger(ledger.path).verify() == 2


def test_the_budget_counts_units_of_each_requester(ledger):
    ledger.charge(answer(request="a", n=2), budget=4, days=30)
    ledger.append(replace(answer(request="a", n=2, kind="RecordPart"), units=0))  # what was charged
    ledger.charge(answer(request="b", n=3, who="other"), budget=4, days=30)
    with pytest.raises(PrivacyError, match=r"4 records in 30 days, .* 2 are used and 3 more"):
        ledger.charge(answer(request="c", n=3), budget=4, days=30)
    ledger.charge(answer(request="d", n=2), budget=4, days=30)
    assert ledger.verify() == 4


def test_old_requests_no_longer_count(ledger):
    ledger.charge(answer(request="a", n=4), budget=4, days=30)
    ledger.charge(answer(request="b", n=4), budget=4, days=0)
    assert ledger.verify() == 2


def test_a_request_is_answered_once(ledger):
    ledger.charge(answer(), budget=9, days=30)
    for other in (answer(), answer(kind="Other"), answer(to="shop"), answer(n=3)):
        with pytest.raises(PrivacyError, match="answered before"):
            ledger.charge(other, budget=9, days=30)


def test_a_recipient_is_told_of_so_many_different_records_whoever_asks(ledger):
    ledger.disclose(told("a", "b"), limit=3)
    ledger.disclose(replace(told("b", "c"), requester="other"), limit=3)
    with pytest.raises(PrivacyError, match=r"'bank' may be told of 3 records in all.* 3 are told and 1 more"):
        ledger.disclose(told("a", "d"), limit=3)
    ledger.disclose(told("d", to="post"), limit=3)
    ledger.disclose(told("c", "a"), limit=3)


def test_a_line_of_an_earlier_version_is_charged_as_it_was(ledger):
    line = {
        "recipient": "officer",
        "kind": "Answer",
        "n_bytes": 1,
        "shapes": {},
        "request": "r",
        "requester": "officer",
    }
    content = line | {"n_records": 4, "when": datetime.now(UTC).isoformat()}
    chained = sha256(f"{'0' * 64}\n{json.dumps(content, sort_keys=True)}".encode()).hexdigest()
    ledger.path.write_text(json.dumps({"entry": content, "hash": chained}) + "\n")
    with pytest.raises(PrivacyError, match="4 are used"):
        ledger.charge(answer(n=1), budget=4, days=30)


@pytest.mark.parametrize(
    "change",
    [
        {"units": "4"},
        {"units": float("nan")},
        {"units": -1},
        {"units": 1 << 70},
        {"requester": ["officer"]},
        {"request": 7},
        {"records": [["a"]]},
        {"when": "soon"},
        {"when": "2026-11-18T08:00:00"},
        {"epsilon": "1"},
        {"epsilon": float("inf")},
    ],
)
def test_a_line_that_cannot_be_counted_is_named_though_its_hash_is_right(ledger, change):
    ledger.append(answer())
    content = json.loads(ledger.path.read_text())["entry"] | change
    chained = sha256(f"{'0' * 64}\n{json.dumps(content, sort_keys=True)}".encode()).hexdigest()
    ledger.path.write_text(json.dumps({"entry": content, "hash": chained}) + "\n")
    for action in (Ledger(ledger.path).verify, lambda: Ledger(ledger.path).charge(answer(), budget=9, days=30)):
        with pytest.raises(StorageError, match=r"Line 1 .* is damaged"):
            action()


@pytest.mark.parametrize("wrong", [{"units": True}, {"units": 1 << 31}, {"epsilon": float("inf")}])
def test_what_could_not_be_read_again_is_not_written(ledger, wrong):
    ledger.append(answer())
    with pytest.raises(InputError, match="numbers that can be counted"):
        ledger.append(replace(answer(), **wrong))
    assert Ledger(ledger.path).verify() == 1


def test_a_line_that_could_not_be_counted_is_counted_later(ledger, monkeypatch):
    for at in range(4):
        ledger.charge(replace(answer(n=1), request=f"r{at}"), budget=9, days=30)
    again, charge, calls = Ledger(ledger.path), Budgets.charge, iter(range(10))

    def fails_once(*args, **named):
        if next(calls) == 1:
            raise MemoryError
        charge(*args, **named)

    monkeypatch.setattr(Budgets, "charge", fails_once)
    with pytest.raises(MemoryError):
        again.charge(replace(answer(n=1), request="r4"), budget=9, days=30)
    with pytest.raises(PrivacyError, match="answered before"):
        again.charge(replace(answer(n=1), request="r1"), budget=9, days=30)
    with pytest.raises(PrivacyError, match="The budget"):
        again.charge(replace(answer(n=1), request="r4"), budget=4, days=30)


def test_the_index_of_many_requests_takes_some_fifty_bytes_each():
    budgets, n = Budgets(), 20_000
    tracemalloc.start()
    for at in range(n):
        budgets.charge("officer", f"{at:032x}", units=2, when=1.7e9 + at)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held / n < 60
    assert budgets.used("officer", since=1.7e9 + n - 5) == 10
    assert all(budgets.charged("officer", f"{at:032x}") for at in range(0, n, 777))
    assert not any(budgets.charged("officer", f"{at:032x}") for at in range(n, n + 1000))


def test_what_trainings_spend_adds_up_by_collaboration(ledger):
    for name, epsilon in (("a", 1.5), ("b", 3.0), ("a", 1.5)):
        ledger.append(Entry("all parties", "Privacy", 0, epsilon=epsilon, note=name))
    assert ledger.epsilons() == {"a": 3.0, "b": 3.0}


def test_requests_at_once_cannot_overdraw_even_from_several_processes(tmp_path):
    books = [Ledger(tmp_path / "ledger.jsonl") for _ in range(4)]

    def charge(at):
        try:
            books[at % 4].charge(answer(request=f"r{at}"), budget=10, days=30)
        except PrivacyError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(charge, range(40))) == 10
    assert books[0].verify() == 10


def test_a_line_that_is_none_is_named(ledger):
    ledger.append(answer())
    with ledger.path.open("a") as file:
        file.write(json.dumps({"entry": {}}) + "\n")
    with pytest.raises(StorageError, match="Line 2"):
        Ledger(ledger.path).verify()
