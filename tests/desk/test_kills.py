"""Killed at any moment under load: the chain verifies, no view is unlogged, no review is lost."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from dcshap.desk.accounts import Role
from dcshap.desk.database import Database
from dcshap.desk.horizontal_cases import HorizontalCases
from dcshap.desk.onsite import Source
from tests.desk import postgres
from tests.desk.people import Browser, handle, make_desk, people

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "sqlite":
        yield ""
        return
    with postgres.server() as found:
        yield found


class Mortal:
    """A desk in a process that can be killed and started again."""

    def __init__(self, folder: Path, url: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}"
        command = [sys.executable, "-m", "tests.desk.mortal", str(folder), url, str(self.port)]
        self.parent = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self) -> int:
        assert self.parent.stdin is not None
        assert self.parent.stdout is not None
        self.parent.stdin.write("start\n")
        self.parent.stdin.flush()
        child = int(self.parent.stdout.readline())
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                httpx.get(f"http://{self.host}/", timeout=5)
                return child
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError("The desk did not open.")

    def end(self) -> None:
        with self.parent as parent:
            assert parent.stdin is not None
            parent.stdin.close()


class Load:
    """Readers who count the pages they were shown, and a person who counts the requests that were acknowledged."""

    def __init__(self, desk, host: str) -> None:
        self.desk, self.host, self.ended = desk, host, threading.Event()
        self.shown: Counter[str] = Counter()
        self.acknowledged: list[str] = []
        self.cookies = {who: desk.accounts.open(who, Role.OFFICER) for who in ("reader 0", "reader 1", "reader 2")}
        self.person = desk.accounts.open("person concerned", Role.PERSON, handle=handle(desk))

    def wait_for_answers(self) -> None:
        """Until somebody was shown a page, and a request was acknowledged."""
        shown, acknowledged, until = sum(self.shown.values()), len(self.acknowledged), time.monotonic() + 60
        while sum(self.shown.values()) == shown or len(self.acknowledged) == acknowledged:
            assert time.monotonic() < until
            time.sleep(0.01)

    def read(self, who: str) -> None:
        with httpx.Client(cookies={self.desk.cookie_name: self.cookies[who]}, timeout=5) as http:
            while not self.ended.is_set():
                place = handle(self.desk, f"C{random.randrange(60)}")
                try:
                    answer = http.get(f"http://{self.host}/cases/{place}")
                except httpx.TransportError:
                    time.sleep(0.01)
                    continue
                if answer.status_code == 200:
                    self.shown[who] += 1

    def complain(self) -> None:
        token, origin = self.desk.accounts.form_token(self.person), f"http://{self.host}"
        with httpx.Client(cookies={self.desk.cookie_name: self.person}, timeout=5) as http:
            at = 0
            while not self.ended.is_set():
                at += 1
                data = {"form_token": token, "kind": "review", "words": f"complaint {at}"}
                try:
                    answer = http.post(f"{origin}/mine/review", data=data, headers={"Origin": origin})
                except httpx.TransportError:
                    time.sleep(0.01)
                    continue
                if answer.status_code == 303:
                    self.acknowledged.append(f"complaint {at}")


def run_with_kills(tmp_path: Path, north, url: str, kills: int) -> None:
    cases = HorizontalCases(Source(lambda: north, lambda: 0), "north", people())
    desk = make_desk(tmp_path, cases, url=url or None)
    mortal = Mortal(tmp_path, url)
    load = Load(desk, mortal.host)
    threads = [threading.Thread(target=load.read, args=(who,)) for who in load.cookies]
    threads.append(threading.Thread(target=load.complain))
    try:
        child = mortal.start()
        for thread in threads:
            thread.start()
        for _ in range(kills):
            load.wait_for_answers()
            time.sleep(random.uniform(0, 0.5))
            os.kill(child, signal.SIGKILL)
            child = mortal.start()
            assert desk.journal.verify() is None
        load.wait_for_answers()
    finally:
        load.ended.set()
        for thread in threads:
            thread.join()
        os.kill(child, signal.SIGKILL)
        mortal.end()
    written = Counter(line.who for line in desk.journal.lines() if line.act == "looked")
    assert desk.journal.verify() is None
    assert sum(load.shown.values()) > kills
    assert len(load.acknowledged) > kills
    assert all(written[who] >= shown for who, shown in load.shown.items())
    assert set(load.acknowledged) <= {review.words for review in desk.reviews.all()}
    asked = sum(line.act == "asked for review" for line in desk.journal.lines())
    assert asked == len(desk.reviews.all())
    desk.close()


def test_three_random_kills_lose_nothing(tmp_path, north, url):
    run_with_kills(tmp_path, north, url, kills=3)


@pytest.mark.slow
def test_twenty_random_kills_lose_nothing(tmp_path, north, url):
    run_with_kills(tmp_path, north, url, kills=20)


def test_a_postgresql_server_that_is_gone_and_back_is_said_in_words(tmp_path, north):
    cases = HorizontalCases(Source(lambda: north, lambda: 0), "north", people())
    with postgres.server() as url:
        desk = make_desk(tmp_path, cases, url=url)
        officer = Browser(desk, Role.OFFICER)
        assert officer.get(f"/cases/{handle(desk)}").status_code == 200
        assert desk.journal.verify() is None
    answer = officer.get(f"/cases/{handle(desk)}")
    assert answer.status_code == 503
    assert "cannot be reached" in answer.text
    desk.close()


def test_two_writers_on_postgresql_wait_for_each_other(tmp_path):
    with postgres.server() as url:
        first, second = Database(url), Database(url)
        order = []

        def write():
            with second.write():
                order.append("second")

        with first.write():
            thread = threading.Thread(target=write)
            thread.start()
            time.sleep(0.3)
            order.append("first")
        thread.join()
        assert order == ["first", "second"]
        first.close()
        second.close()
