from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from dcshap.desk import accounts as module
from dcshap.desk.accounts import Role
from dcshap.desk.database import Database, attempts, codes, sessions, users
from dcshap.desk.state import Entry
from dcshap.desk.throttle import Throttle
from dcshap.exceptions import InputError
from tests.desk.people import Browser, handle

PASSWORD = "correct horse battery"  # noqa: S105 - of nobody


@pytest.fixture
def account(desk):
    desk.accounts.add("olga", Role.OFFICER, PASSWORD)
    return desk


def come_in(browser, name="olga", password=PASSWORD):
    browser.get("/")
    browser.cookie = browser.http.cookies[browser.desk.cookie_name]
    return browser.post("/login", {"name": name, "password": password})


def test_who_knows_the_password_comes_in_with_a_new_cookie(account):
    browser = Browser(account, None)
    answer = come_in(browser)
    before, after = browser.cookie, browser.http.cookies[account.cookie_name]
    assert answer.headers["location"] == "/cases"
    assert after != before  # a cookie that somebody planted is worth nothing
    assert browser.get("/cases").status_code == 200


@pytest.mark.parametrize(("name", "password"), [("olga", "wrong"), ("nobody", PASSWORD), ("", ""), ("olga'--", "x")])
def test_a_wrong_name_and_a_wrong_password_read_the_same(account, name, password):
    answer = come_in(Browser(account, None), name, password)
    assert answer.status_code == 403
    assert "The name or the password is not right." in answer.text


def test_passwords_codes_and_tokens_are_kept_as_digests_only(account):
    token = account.accounts.open("olga", Role.OFFICER)
    with account.database.write() as connection:
        code = account.accounts.issue_code(connection, "h")
    with account.database.read() as connection:
        kept = [str(row) for table in (users, sessions, codes) for row in connection.execute(sa.select(table))]
    assert "$argon2id$" in kept[0]
    assert not any(secret in row for row in kept for secret in (PASSWORD, token, code, code.replace("-", "")))


def test_a_short_password_and_an_account_for_a_person_are_refused(desk):
    with pytest.raises(InputError, match="at least 12 characters"):
        desk.accounts.add("olga", Role.OFFICER, "short")
    with pytest.raises(InputError, match="one-time code"):
        desk.accounts.add("paul", Role.PERSON, PASSWORD)


def test_too_many_attempts_have_to_wait(account):
    browser = Browser(account, None)
    answers = [come_in(browser, "olga", "wrong") for _ in range(11)]
    assert [answer.status_code for answer in answers] == [403] * 10 + [429]
    assert "Wait" in answers[-1].text
    assert come_in(browser).status_code == 429  # also with the right password


def test_too_many_guesses_at_codes_have_to_wait(desk):
    browser = Browser(desk, None)
    browser.get("/code")
    browser.cookie = browser.http.cookies[desk.cookie_name]
    answers = [browser.post("/code", {"code": "0000-0000-0000-0000"}).status_code for _ in range(11)]
    assert answers == [403] * 10 + [429]


def test_a_throttle_lets_in_again_once_time_has_passed(desk, monkeypatch):
    at = [1000.0]
    monkeypatch.setattr("time.time", lambda: at[0])
    throttle = Throttle(desk.database, "login", limit=2, seconds=60.0)
    assert [throttle.wait("a") for _ in range(3)] == [0.0, 0.0, 60.0]
    at[0] = 1060.0
    assert throttle.wait("a") == 0.0


def test_a_throttle_counts_every_key_by_itself_and_holds_in_other_processes_and_after_a_restart(desk):
    throttle = Throttle(desk.database, "login", limit=1, seconds=60.0)
    assert [throttle.wait(key) for key in ("a", "b", "e" * 100_000)] == [0.0] * 3
    again = Throttle(Database(f"sqlite:///{desk.folder / 'desk.db'}"), "login", limit=1, seconds=60.0)
    assert again.wait("a") > 0
    assert Throttle(desk.database, "code", limit=1, seconds=60.0).wait("a") == 0.0


def test_of_many_tries_at_the_same_moment_no_more_than_the_limit_are_let_through(desk):
    throttle = Throttle(desk.database, "login", limit=5, seconds=60.0)
    with ThreadPoolExecutor(8) as threads:
        waits = list(threads.map(throttle.wait, ["same"] * 40))
    assert waits.count(0.0) == 5


def test_tries_that_are_refused_write_nothing(desk, monkeypatch):
    throttle = Throttle(desk.database, "login", limit=1, seconds=60.0)
    throttle.wait("a")
    monkeypatch.setattr(desk.database, "write", None)
    assert throttle.wait("a") > 0


def test_an_address_that_has_to_wait_leaves_no_more_names_behind(account):
    browser = Browser(account, None)
    answers = [come_in(browser, f"name {at}", "wrong").status_code for at in range(15)]
    assert answers == [403] * 10 + [429] * 5
    with account.database.read() as connection:
        keys = connection.execute(sa.select(attempts.c.key).distinct()).all()
    assert len(keys) == 11
    assert {len(key) for (key,) in keys} == {64}


@pytest.mark.parametrize("later", [module.IDLE + 1, module.LONGEST + 1])
def test_sessions_end(desk, officer, monkeypatch, later):
    now = time.time()
    assert officer.get("/cases").status_code == 200
    monkeypatch.setattr("time.time", lambda: now + later)
    assert officer.get("/cases").headers["location"] == "/"


def test_a_session_that_is_used_stays_open_until_the_longest_it_may(desk, officer, monkeypatch):
    now = time.time()
    for minutes in range(20, 480, 20):
        monkeypatch.setattr("time.time", lambda minutes=minutes: now + 60 * minutes)
        assert officer.get("/cases").status_code == 200
    monkeypatch.setattr("time.time", lambda: now + module.LONGEST + 1)
    assert officer.get("/cases").status_code == 303


def test_who_goes_out_is_out(desk, officer):
    assert officer.post("/logout").status_code == 303
    officer.use(officer.cookie)
    assert officer.get("/cases").headers["location"] == "/"


def test_another_password_ends_the_sessions_of_the_old_one(account):
    token = account.accounts.open("olga", Role.OFFICER)
    account.accounts.add("olga", Role.OFFICER, PASSWORD + "!")
    assert account.accounts.session(token) is None


def test_a_code_opens_one_case_once_and_a_link_is_not_used_up_by_looking(desk, officer):
    page = officer.post(f"/cases/{handle(desk)}/code").text
    code = page.split('big-code code-text">')[1].split("<")[0]
    assert code not in officer.get(f"/cases/{handle(desk)}").text
    browser = Browser(desk, None)
    for _ in range(3):
        assert code in browser.get(f"/code/{code}").text
    browser.cookie = browser.http.cookies[desk.cookie_name]
    assert browser.post("/code", {"code": code.lower().replace("-", " ")}).headers["location"] == "/mine"
    assert "Your case" in browser.get("/mine").text
    again = Browser(desk, None)
    again.get("/code")
    again.cookie = again.http.cookies[desk.cookie_name]
    assert again.post("/code", {"code": code}).status_code == 403


def test_of_many_who_send_a_code_at_once_one_comes_in(desk):
    with desk.database.write() as connection:
        code = desk.accounts.issue_code(connection, "h")
    found: list[str | None] = []
    threads = [threading.Thread(target=lambda: found.append(desk.accounts.redeem(code))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found, key=str) == [*[None] * 7, "h"]


def test_an_old_code_opens_nothing(desk, monkeypatch):
    with desk.database.write() as connection:
        code = desk.accounts.issue_code(connection, "h")
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + module.CODE_LIVES + 1)
    assert desk.accounts.redeem(code) is None


def test_a_launch_token_lets_in_and_anything_else_does_not(desk):
    desk.tokens = {"t" * 32: Entry("olga", Role.OFFICER)}
    assert Browser(desk, None).get("/enter/" + "t" * 32).headers["location"] == "/cases"
    assert Browser(desk, None).get("/enter/" + "u" * 32).status_code == 404
