"""A desk in several processes, as it is served."""

from __future__ import annotations

import multiprocessing
import signal
import socket
import sys
import time

import httpx
import psutil
import pytest

from dcshap.desk.accounts import Role
from dcshap.desk.horizontal_cases import HorizontalCases
from dcshap.desk.onsite import Source
from dcshap.desk.server import Opening, serve
from dcshap.exceptions import InputError
from tests.desk.people import handle, make_desk, people

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a desk is one process")


@pytest.fixture
def served(north, tmp_path):
    """A desk in two processes: the desk, its port, and the first process."""
    cases = HorizontalCases(Source(lambda: north, lambda: 0), "north", people())
    desk = make_desk(tmp_path / "desk", cases)
    opening = Opening(desk)
    bound = opening.bound()
    port = bound.getsockname()[1]
    context = multiprocessing.get_context("fork")
    first = context.Process(target=serve, args=([(opening, bound)],), kwargs={"processes": 2})
    first.start()
    bound.close()
    yield desk, port, psutil.Process(first.pid)
    first.kill()
    first.join()
    desk.close()


def other_process(first):
    until = time.monotonic() + 20
    while not first.children():
        assert time.monotonic() < until
        time.sleep(0.02)
    return first.children()[0]


def asked(port, cookies, path, **more):
    return httpx.get(f"http://127.0.0.1:{port}{path}", cookies=cookies, timeout=30, **more)


def test_processes_share_sessions_journal_and_what_was_shown(served):
    desk, port, first = served
    other_process(first)
    cookies = {desk.cookie_name: desk.accounts.open("olga", Role.OFFICER)}
    place = f"/cases/{handle(desk)}"
    pages = {asked(port, cookies, place).text.split('id="explanation"')[1][:4000] for _ in range(20)}
    assert len(pages) == 1  # shown since the same minute, with the same receipt, whoever answers
    assert desk.journal.verify() is None
    assert sum(line.act == "looked" for line in desk.journal.lines()) == 20


def test_nobody_gets_more_tries_because_there_are_two_processes(served):
    desk, port, first = served
    other_process(first)
    address = f"http://127.0.0.1:{port}"
    answers = []
    for _ in range(14):
        with httpx.Client(timeout=30) as visitor:  # a connection of its own, to either process
            visitor.get(f"{address}/code")
            token = desk.accounts.form_token(visitor.cookies[desk.cookie_name])
            form = {"form_token": token, "code": "0000-0000-0000-0000"}
            answers.append(visitor.post(f"{address}/code", data=form, headers={"Origin": address}).status_code)
    assert answers == [403] * 10 + [429] * 4


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_when_the_first_process_ends_the_other_ends_and_gives_the_port_back(served, how):
    desk, port, first = served
    other = other_process(first)
    assert asked(port, {}, "/").status_code == 200
    first.send_signal(how)
    _, alive = psutil.wait_procs([other], timeout=10)
    assert not alive
    until = time.monotonic() + 10
    while first.is_running() and first.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < until
        time.sleep(0.05)
    with Opening(desk, port=port).bound():
        pass


def test_where_the_other_process_dies_the_first_goes_on(served):
    _, port, first = served
    other_process(first).kill()
    time.sleep(0.2)
    assert [asked(port, {}, "/").status_code for _ in range(6)] == [200] * 6


def test_a_second_desk_on_the_same_port_is_told_so(served, monkeypatch):
    desk, port, _ = served
    monkeypatch.setattr("dcshap.desk.server.PATIENCE", 0.1)
    with pytest.raises(InputError, match=f"Port {port} is taken"):
        Opening(desk, port=port).bound()


def test_a_desk_that_another_program_is_on_the_port_of_is_told_so(desk, monkeypatch):
    monkeypatch.setattr("dcshap.desk.server.PATIENCE", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(InputError, match="is taken"):
        Opening(desk, port=other.getsockname()[1]).bound()
