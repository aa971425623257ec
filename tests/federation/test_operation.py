"""What keeps a federation running, without the engine: tickets, presence, and what is to serve again."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from dcshap._disk import Disk, using_disk
from dcshap.exceptions import FederationError, InputError, StorageError
from dcshap.federation.operation.presence import Presence, Seen
from dcshap.federation.operation.tickets import _PATIENT, Tickets
from dcshap.federation.operation.wishes import Wish, drop_wish, keep_wish, read_wishes
from dcshap.federation.site.runs import Runs


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def noted(where: list[str], what: str) -> str:
    where.append(what)
    return what


def fetched(tickets, ticket, seconds=10.0):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = tickets.result(ticket)
        if found is not None:
            return found
        time.sleep(0.005)
    raise AssertionError(f"no answer to {ticket}")


def test_a_slow_request_does_not_keep_others_from_being_answered():
    tickets, go = Tickets(at_once=2), threading.Event()
    tickets.take("slow", lambda: go.wait(10) and "late")
    tickets.take("quick", lambda: "soon")
    assert fetched(tickets, "quick") == "soon"
    assert tickets.result("slow") is None
    go.set()
    assert fetched(tickets, "slow") == "late"


def test_whoever_asks_is_kept_for_a_moment_and_has_the_answer_as_soon_as_it_is_there():
    tickets, go = Tickets(at_once=1), threading.Event()
    tickets.take("asked", lambda: go.wait(10) and "answer")
    assert tickets.result("asked", wait=0.01) is None
    threading.Timer(0.05, go.set).start()
    began = time.monotonic()
    assert tickets.result("asked", wait=30.0) == "answer"
    assert time.monotonic() - began < 10


def test_only_so_many_are_kept_waiting_and_the_others_come_back():
    tickets, go = Tickets(at_once=1), threading.Event()
    tickets.take("asked", lambda: go.wait(60) and "answer")
    kept = [threading.Thread(target=tickets.result, args=("asked",), kwargs={"wait": 30.0}) for _ in range(_PATIENT)]
    for thread in kept:
        thread.start()
    while tickets._patient.acquire(blocking=False):
        tickets._patient.release()
        time.sleep(0.005)
    assert tickets.result("asked", wait=30.0) is None  # at once
    go.set()
    for thread in kept:
        thread.join(timeout=10)
    assert tickets.result("asked", wait=30.0) == "answer"


def test_more_requests_than_are_answered_at_once_wait_in_order():
    tickets, go = Tickets(at_once=1), threading.Event()
    order: list[str] = []
    tickets.take("first", lambda: go.wait(10))
    for name in "abcd":
        tickets.take(name, partial(noted, order, name))
    assert tickets.waiting() == 5
    go.set()
    assert fetched(tickets, "d") == "d"
    assert order == list("abcd")
    assert (tickets.waiting(), tickets.answered, tickets.failed) == (0, 5, 0)


def test_no_more_requests_are_worked_on_at_once_than_was_set():
    tickets, lock, now, most = Tickets(at_once=3), threading.Lock(), [0], [0]

    def work():
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.01)
        with lock:
            now[0] -= 1
        return True

    for at in range(30):
        tickets.take(str(at), work)
    for at in range(30):
        assert fetched(tickets, str(at))
    assert most == [3]


def test_a_request_that_is_brought_twice_is_answered_once():
    tickets = Tickets()
    count: list[str] = []
    for _ in range(2):
        tickets.take("same", partial(noted, count, "answer"))
    assert fetched(tickets, "same") == tickets.result("same") == "answer"
    assert count == ["answer"]


def test_what_a_request_fails_with_is_told_to_whoever_fetches_it():
    tickets = Tickets()

    def work():
        raise InputError("no such record")

    tickets.take("wrong", work)
    with pytest.raises(InputError, match="no such record"):
        fetched(tickets, "wrong")
    assert tickets.failed == 1


def test_a_ticket_that_nobody_was_given_is_refused():
    with pytest.raises(FederationError, match="none for this ticket"):
        Tickets().result("invented")


def test_answers_are_forgotten_after_they_were_fetched_and_not_while_they_are_worked_on(clock):
    tickets, go = Tickets(at_once=2), threading.Event()
    tickets.take("slow", lambda: go.wait(10) and "late")
    tickets.take("quick", lambda: "soon")
    while tickets.waiting() > 1:
        time.sleep(0.005)
    assert tickets.result("quick") == tickets.result("quick") == "soon"
    clock[0] += 600
    tickets.take("another", lambda: "more")
    with pytest.raises(FederationError, match="none for this ticket"):
        tickets.result("quick")
    go.set()
    while tickets.waiting():
        time.sleep(0.005)
    assert tickets.result("slow") == "late"


# --- who is there -----------------------------------------------------------------------------------------------------


def test_a_party_that_has_gone_is_named_at_once(clock):
    seen: dict[str, Seen] = {"bank": "there", "shop": "gone"}
    presence = Presence(["bank", "shop"], seen.__getitem__)
    presence.look()
    assert (presence.there(), presence.away()) == (["bank"], ["shop"])
    with pytest.raises(FederationError, match=r"\['shop'\] cannot be reached"):
        presence.require_all()


def test_a_party_that_is_silent_for_a_moment_is_waited_for_and_later_named(clock):
    seen: dict[str, Seen] = {"bank": "there", "shop": "silent"}
    presence = Presence(["bank", "shop"], seen.__getitem__)
    presence.look()
    presence.require_all()
    clock[0] += 30
    presence.look()
    with pytest.raises(FederationError, match="shop"):
        presence.require_all()
    assert presence.lost() == []  # it may go on: it was only stopped
    seen["shop"] = "there"
    presence.look()
    presence.require_all()


def test_a_run_cannot_go_on_without_a_party_that_stays_gone(clock):
    seen: dict[str, Seen] = {"bank": "there", "shop": "gone"}
    presence = Presence(["bank", "shop"], seen.__getitem__)
    presence.look()
    assert presence.lost() == []
    clock[0] += 60
    presence.look()
    assert presence.lost() == ["shop"]


# --- what is to serve again -------------------------------------------------------------------------------------------


def test_what_is_to_serve_is_kept_replaced_and_dropped(tmp_path):
    keep_wish(tmp_path, "credit", "job-1")
    keep_wish(tmp_path, "health", "job-2")
    keep_wish(tmp_path, "credit", "job-3")
    assert read_wishes(tmp_path) == [Wish("credit", "job-3", before="job-1"), Wish("health", "job-2")]
    drop_wish(tmp_path, "credit")
    drop_wish(tmp_path, "credit")
    assert read_wishes(tmp_path) == [Wish("health", "job-2")]


def test_what_cannot_be_dropped_is_not_said_to_be_dropped(tmp_path):
    class ReadOnly(Disk):
        def remove(self, path):
            """Leave it, as a disk does that cannot be written to."""

    keep_wish(tmp_path, "credit", "job-1")
    with using_disk(ReadOnly()), pytest.raises(StorageError, match="could not be removed"):
        drop_wish(tmp_path, "credit")
    assert read_wishes(tmp_path) == [Wish("credit", "job-1")]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"version": 99, "collaboration": "credit", "job": "x"}', "newer dcshap"),
        ('{"version": 1}', "damaged"),
        ("{", "damaged"),
    ],
)
def test_what_cannot_be_understood_is_said_in_words(tmp_path, content, said):
    (tmp_path / "credit").mkdir()
    (tmp_path / "credit" / "serving.json").write_text(content)
    with pytest.raises(StorageError, match=said):
        read_wishes(tmp_path)


@pytest.mark.parametrize(("content", "said"), [('{"run": "a", "version": 2}', "newer dcshap"), ("[]", "damaged")])
def test_a_training_that_a_newer_version_has_kept_is_refused_in_words(tmp_path, content, said):
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(StorageError, match=said):
        Runs(tmp_path).current  # noqa: B018 - read for what it refuses


def test_a_training_that_an_older_version_has_kept_is_read(tmp_path):
    (tmp_path / "run.json").write_text('{"run": "a"}')
    assert Runs(tmp_path).current == "a"
