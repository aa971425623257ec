from __future__ import annotations

import logging
import re
import socket
import sys

import pytest
from starlette.testclient import TestClient

from dcshap.desk.accounts import Role
from dcshap.desk.application import create_app
from dcshap.desk.guard import HEADERS, LARGEST_BODY
from dcshap.desk.pages import PAGES
from dcshap.desk.server import Opening, _keep_data_out_of_log, _WithoutData
from dcshap.desk.state import Entry
from dcshap.exceptions import InputError
from tests.desk.people import HOST, ORIGIN, Browser, handle


@pytest.mark.parametrize("host", ["evil.example", "desk.test", "desk.test:2", "127.0.0.1:1", ""])
def test_a_request_under_another_name_is_refused(desk, host):
    assert Browser(desk, None).get("/", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://{HOST}", "http://desk.test", ""])
def test_a_form_from_elsewhere_is_refused(desk, officer, origin):
    answer = officer.post("/cases/find", {"identifier": "C0"}, headers={"Origin": origin})
    assert answer.status_code == 403
    assert "own pages only" in answer.text


def test_a_form_without_an_origin_is_refused(desk, officer):
    token = desk.accounts.form_token(officer.cookie)
    answer = officer.http.post("/cases/find", data={"form_token": token, "identifier": "C0"})
    assert answer.status_code == 403


def test_a_form_that_a_browser_calls_cross_site_is_refused(desk, officer):
    headers = {"Sec-Fetch-Site": "cross-site"}
    assert officer.post("/cases/find", {"identifier": "C0"}, headers=headers).status_code == 403


def test_every_answer_has_the_strict_headers(desk, officer):
    for path in ("/", "/cases", f"/cases/{handle(desk)}", "/nothing", "/static/desk.css", "/static/htmx.min.js"):
        answer = officer.get(path)
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
    assert "unsafe" not in HEADERS["Content-Security-Policy"]
    assert officer.get("/cases").headers["Cache-Control"] == "no-store"


def test_pages_have_no_inline_script_or_style_and_name_no_other_host(desk, bank):
    for each in (desk, bank):
        officer, auditor = Browser(each, Role.OFFICER), Browser(each, Role.AUDITOR)
        person, operator = Browser(each, Role.PERSON, handle=handle(each)), Browser(each, Role.OPERATOR)
        case = f"/cases/{handle(each)}"
        pages = [officer.get(path) for path in ("/cases", case, f"{case}/what-if", f"{case}/notice/de", "/requests")]
        pages += [
            person.get("/mine"),
            auditor.get("/audit"),
            auditor.get("/audit/agreement"),
            operator.get("/operator"),
        ]
        pages.append(officer.post(f"{case}/what-if", {"income": "4000"}))
        for page in pages:
            assert page.status_code == 200
            assert not re.search(r"<style|\sstyle=|<script(?! src=\"/static/)|\son\w+=|javascript:", page.text)
            assert not re.search(r"(?:src|href|action)=\"(?:https?:)?//", page.text)


def test_a_body_that_is_too_large_is_cut_off(desk, officer):
    answer = officer.post("/cases/find", {"identifier": "x" * (LARGEST_BODY + 1)})
    assert answer.status_code == 413


def test_what_people_type_is_escaped(desk, person, officer):
    person.post("/mine/review", {"kind": "contest", "words": "<script>alert(1)</script>"})
    page = officer.get(f"/cases/{handle(desk)}").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_no_address_has_a_place_for_data():
    places = {name for page in PAGES for name in re.findall(r"\{(\w+)\}", page.path)}
    assert places == {"handle", "language", "form", "code", "token", "review", "identifier"}


def test_identifiers_and_cells_stand_in_no_address_and_in_no_log(desk, officer, caplog):
    with caplog.at_level(logging.DEBUG):
        page = officer.get("/cases").text
        officer.post("/cases/find", {"identifier": "C0"})
        officer.post("/cases/find", {"identifier": "nobody at all"})
        officer.get(f"/cases/{handle(desk)}")
        officer.post(f"/cases/{handle(desk)}/what-if", {"income": "999999999"})
    addresses = re.findall(r"(?:href|action|hx-get|hx-post)=\"([^\"]*)\"", page)
    assert addresses
    assert not any(re.search(r"\bC\d+\b", address) for address in addresses)
    asked = [record for record in caplog.records if record.name.split(".")[0] not in ("httpx", "asyncio")]
    assert not any("C0" in record.getMessage() or "999999999" in record.getMessage() for record in asked)


def test_the_log_of_a_mistake_quotes_nothing():
    nobody: dict[str, int] = {}
    try:
        nobody["Mrs Miller, 4711"]
    except KeyError:
        record = logging.LogRecord("uvicorn.error", logging.ERROR, "x", 1, "Exception %s", ("4711",), sys.exc_info())
    assert _WithoutData().filter(record)
    text = logging.Formatter().format(record)
    assert "4711" not in text
    assert "KeyError" in text
    assert "test_guard.py" in text


def test_a_mistake_in_the_desk_is_said_in_words_and_shows_nothing_of_it(desk, officer, monkeypatch):
    def broken(*_, **__):
        raise KeyError("Mrs Miller, 4711")

    monkeypatch.setattr(desk.library, "explain", broken)
    app = create_app(desk, hosts={HOST})
    with TestClient(app, base_url=ORIGIN, raise_server_exceptions=False) as http:
        http.cookies.set(desk.cookie_name, officer.cookie)
        answer = http.get(f"/cases/{handle(desk)}")
    assert answer.status_code == 500
    assert "The desk made a mistake" in answer.text
    assert answer.headers["Content-Security-Policy"] == HEADERS["Content-Security-Policy"]
    assert "4711" not in answer.text


def test_beyond_loopback_a_desk_without_certificates_is_not_opened(desk):
    with pytest.raises(InputError, match="HTTPS only"):
        Opening(desk, host="0.0.0.0").bound()  # noqa: S104 - it must not be bound


def test_a_second_desk_on_the_same_port_is_told_so(desk):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"Port {port} is taken: another desk"):
            Opening(desk, port=port).bound()


def test_over_https_cookies_are_secure_and_browsers_stay_with_https(desk):
    http = TestClient(create_app(desk, hosts={HOST}, https=True), base_url=f"https://{HOST}")
    answer = http.get("/")
    assert "max-age" in answer.headers["Strict-Transport-Security"]
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-")
    for flag in ("HttpOnly", "Secure", "SameSite=strict", "Path=/"):
        assert flag in cookie


def test_what_a_form_brings_that_cannot_be_kept_is_left_out(desk):
    person = Browser(desk, Role.PERSON, handle=handle(desk))
    assert person.post("/mine/review", {"kind": "review", "words": "wr\0ong"}).status_code == 303
    assert [review.words for review in desk.reviews.all()] == ["wrong"]


def test_a_form_that_cannot_be_read_leaves_nothing_of_it_in_the_log(desk, officer, caplog):
    _keep_data_out_of_log()
    headers = {"Origin": ORIGIN, "Content-Type": "multipart/form-data; boundary=x"}
    with caplog.at_level(logging.DEBUG):
        answer = officer.http.post("/cases/find", content=b"--y\r\nsecret of C0", headers=headers)
    assert answer.status_code == 403
    assert not [record for record in caplog.records if record.name.startswith("python_multipart")]


def test_who_logs_in_gets_another_cookie_than_the_one_they_brought(desk):
    desk.tokens = {"launch": Entry("aki", Role.AUDITOR)}
    visitor = Browser(desk, None)
    visitor.use("chosen by somebody else")
    answer = visitor.get("/enter/launch")
    assert answer.status_code == 303
    assert "chosen" not in answer.headers["set-cookie"]
    assert desk.accounts.session("chosen by somebody else") is None
