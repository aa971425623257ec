"""Every role at every route, from the application's own table of routes: a new route without a line here fails."""

from __future__ import annotations

import re

import pytest
from starlette.routing import Mount, Route

from dcshap.desk.accounts import Role
from dcshap.desk.application import create_app
from dcshap.desk.pages import PAGES
from tests.desk.people import HOST, Browser, handle

OFFICER, PERSON, AUDITOR, OPERATOR = Role
EVERYBODY = frozenset(Role)
ANYBODY = None  # also those who have not come in

# Written by hand, apart from the code: who may use which route.
EXPECTED: dict[tuple[str, str], frozenset[Role] | None] = {
    ("GET", "/"): ANYBODY,
    ("POST", "/login"): ANYBODY,
    ("POST", "/logout"): EVERYBODY,
    ("GET", "/code"): ANYBODY,
    ("GET", "/code/{code}"): ANYBODY,
    ("POST", "/code"): ANYBODY,
    ("GET", "/enter/{token}"): ANYBODY,
    ("GET", "/cases"): frozenset({OFFICER}),
    ("POST", "/cases/find"): frozenset({OFFICER}),
    ("GET", "/cases/{handle}"): frozenset({OFFICER}),
    ("POST", "/cases/{handle}/code"): frozenset({OFFICER}),
    ("POST", "/cases/{handle}/reviews/{review}"): frozenset({OFFICER}),
    ("GET", "/reviews"): frozenset({OFFICER}),
    ("POST", "/cases/{handle}/ask"): frozenset({OFFICER}),
    ("POST", "/cases/{handle}/answer"): frozenset({OFFICER}),
    ("GET", "/requests"): frozenset({OFFICER}),
    ("POST", "/requests/read"): frozenset({OFFICER}),
    ("POST", "/requests/release"): frozenset({OFFICER}),
    ("GET", "/cases/{handle}/what-if"): frozenset({OFFICER}),
    ("POST", "/cases/{handle}/what-if"): frozenset({OFFICER}),
    ("GET", "/cases/{handle}/smallest-change"): frozenset({OFFICER}),
    ("POST", "/cases/{handle}/smallest-change"): frozenset({OFFICER}),
    ("GET", "/cases/{handle}/contrast"): frozenset({OFFICER}),
    ("POST", "/cases/{handle}/contrast"): frozenset({OFFICER}),
    ("GET", "/cases/{handle}/notice/{language}"): frozenset({OFFICER}),
    ("GET", "/cases/{handle}/notice/{language}/{form}"): frozenset({OFFICER}),
    ("GET", "/mine"): frozenset({PERSON}),
    ("GET", "/mine/notice/{language}"): frozenset({PERSON}),
    ("GET", "/mine/notice/{language}/{form}"): frozenset({PERSON}),
    ("GET", "/mine/data"): frozenset({PERSON}),
    ("POST", "/mine/review"): frozenset({PERSON}),
    ("GET", "/explanations/{identifier}/receipt"): frozenset({OFFICER, AUDITOR}),
    ("POST", "/explanations/{identifier}/receipt"): frozenset({OFFICER}),
    ("GET", "/receipts"): frozenset({OFFICER, AUDITOR}),
    ("POST", "/receipts"): frozenset({OFFICER, AUDITOR}),
    ("GET", "/audit"): frozenset({AUDITOR}),
    ("GET", "/audit/journal"): frozenset({AUDITOR}),
    ("GET", "/audit/agreement"): frozenset({AUDITOR}),
    ("POST", "/audit/agreement"): frozenset({AUDITOR}),
    ("GET", "/audit/controls"): frozenset({AUDITOR}),
    ("POST", "/audit/controls"): frozenset({AUDITOR}),
    ("GET", "/audit/export"): frozenset({AUDITOR}),
    ("GET", "/operator"): frozenset({OPERATOR}),
}
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")


def served(desk) -> dict[str, set[str]]:
    """The paths that the application answers under, and by which methods."""
    found: dict[str, set[str]] = {}
    for route in create_app(desk, hosts={HOST}).app.routes:
        if isinstance(route, Route):
            found.setdefault(route.path, set()).update((route.methods or set()) - {"HEAD"})
        else:
            assert isinstance(route, Mount)
            assert route.path == "/static"
    return found


def filled(path: str, desk) -> str:
    given = {"handle": handle(desk), "language": "en", "form": "html", "token": "x", "code": "x"}
    return re.sub(r"\{(\w+)\}", lambda found: given.get(found[1], "0" * 32), path)


def test_the_table_of_routes_is_what_is_written_here(desk):
    assert {(method, path) for path, methods in served(desk).items() for method in methods} == set(EXPECTED)
    assert len(PAGES) == len(EXPECTED)


class Visitors:
    """Somebody of every role; whoever went out comes in again."""

    def __init__(self, desk) -> None:
        self.desk = desk
        self.there: dict[Role | None, Browser] = {}

    def answer(self, role, method, path):
        if role not in self.there:
            self.there[role] = Browser(self.desk, role, handle=handle(self.desk))
        browser = self.there.pop(role) if path in ("/logout", "/login", "/code") else self.there[role]
        return (browser.get if method == "GET" else browser.post)(filled(path, self.desk))


def allowed(status: int) -> bool:
    """Whether a page was reached: its own answers, of wrong forms and unknown things too."""
    return status in (200, 303, 404, 422)


def test_every_role_gets_what_it_may_and_nothing_else(desk):
    wrong, visitors = [], Visitors(desk)
    for (method, path), roles in EXPECTED.items():
        for role in (None, *Role):
            answer = visitors.answer(role, method, path)
            if roles is ANYBODY:
                right = answer.status_code in (200, 303, 403, 404)  # 403: a wrong password or code
            elif role in roles:
                right = path == "/logout" or (allowed(answer.status_code) and answer.headers.get("location") != "/")
            elif role is None and method == "GET":
                right = answer.status_code == 303 and answer.headers["location"] == "/"
            else:
                right = answer.status_code == 403
            if not right:
                wrong.append((method, path, role, answer.status_code))
    assert wrong == []


def test_refused_requests_change_nothing_and_show_nothing(desk):
    visitors = Visitors(desk)
    for (method, path), roles in EXPECTED.items():
        for role in Role:
            if roles is not ANYBODY and role not in roles:
                assert "C0" not in visitors.answer(role, method, path).text
    assert desk.journal.lines() == []
    assert desk.reviews.all() == []


@pytest.mark.parametrize("role", [None, *Role])
def test_methods_that_no_page_has_are_refused(desk, role):
    browser = Browser(desk, role, handle=handle(desk))
    for path, methods in served(desk).items():
        for method in set(METHODS) - methods:
            answer = browser.http.request(method, filled(path, desk), headers={"Origin": f"http://{HOST}"})
            # "find" could be a handle, of a case that is not there.
            assert answer.status_code in ((303, 403, 404) if path == "/cases/find" else (404, 405))


def test_a_form_without_its_token_or_with_anothers_is_refused_on_every_route(desk):
    browsers = {role: Browser(desk, role, handle=handle(desk)) for role in (None, *Role)}
    for (method, path), roles in EXPECTED.items():
        if method != "POST":
            continue
        for role in roles or {None}:
            browser = browsers[role]
            other = desk.accounts.form_token("another session")
            for data in ({}, {"form_token": ""}, {"form_token": other}):
                answer = browser.http.post(filled(path, desk), data=data, headers={"Origin": f"http://{HOST}"})
                assert answer.status_code == 403
                assert "too old" in answer.text
    assert desk.journal.lines() == []


def test_a_person_sees_no_difference_between_what_is_not_there_and_what_is_not_theirs(desk):
    """Their own case is not in any address; what is, is for officers."""
    person = Browser(desk, PERSON, handle=handle(desk, "C0"))
    own = person.get("/mine").text
    assert "C1" not in own
    theirs, nothing = person.get(f"/cases/{handle(desk, 'C1')}"), person.get("/cases/doesnotexist")
    assert (theirs.status_code, theirs.text) == (nothing.status_code, nothing.text)


def test_an_unknown_case_reads_the_same_wherever_it_is_asked_for(desk, officer):
    pages = {
        (answer.status_code, re.sub(r'value="[0-9a-f]{64}"', "", answer.text))
        for answer in (
            officer.get("/cases/doesnotexist"),
            officer.get("/cases/doesnotexist/what-if"),
            officer.post("/cases/find", {"identifier": "nobody"}),
            officer.get("/explanations/doesnotexist/receipt"),
            officer.get("/cases/doesnotexist/notice/en"),
        )
    }
    assert len(pages) == 1
    assert pages.pop()[0] == 404
