"""All roles in a real browser: with and without scripts, small and large, light and dark, by keyboard."""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from dcshap.desk.accounts import Role
from dcshap.desk.server import Opening
from dcshap.desk.state import Desk, Entry
from tests.desk.people import handle

CHROMIUM = os.environ.get("DCSHAP_CHROMIUM") or shutil.which("chromium") or ""
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="there is no chromium to drive")
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
SETTINGS = [
    pytest.param((True, 1280, "light"), id="javascript-1280-light"),
    pytest.param((True, 375, "dark"), id="javascript-375-dark"),
    pytest.param((False, 1280, "dark"), id="plain-1280-dark"),
    pytest.param((False, 375, "light"), id="plain-375-light"),
]
PATIENCE = 60_000
expect.set_options(timeout=30_000)  # also where the machine is busy


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@dataclass
class Served:
    """A desk that is open on a port."""

    desk: Desk
    address: str

    def entrance(self, role: Role) -> str:
        return next(f"{self.address}/enter/{token}" for token, entry in self.desk.tokens.items() if entry.role is role)


def serving(desk: Desk) -> Iterator[Served]:
    desk.tokens = {f"{role}-token": Entry(role.value, role, handle(desk)) for role in Role}
    opening = Opening(desk)
    bound = opening.bound()
    server = opening.server(bound)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield Served(desk, opening.address(bound))
    server.should_exit = True
    thread.join()


@pytest.fixture
def north_desk(desk: Desk) -> Iterator[Served]:
    yield from serving(desk)


@pytest.fixture
def bank_desk(bank: Desk) -> Iterator[Served]:
    yield from serving(bank)


class Visitor:
    """A page of a browser that talks to one desk only, and whose console stays silent."""

    def __init__(self, chromium: Browser, served: Served, setting: tuple[bool, int, Any]) -> None:
        self.scripts, width, scheme = setting
        self.served = served
        self.trouble: list[str] = []
        self.context = chromium.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, java_script_enabled=self.scripts
        )
        self.context.set_default_timeout(PATIENCE)
        self.context.route("**/*", self._only_the_desk)
        self.page: Page = self.context.new_page()
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))

    def _hear(self, said: Any) -> None:
        if said.type == "error":
            self.trouble.append(said.text)

    def _only_the_desk(self, route: Any) -> None:
        if urlsplit(route.request.url).netloc == urlsplit(self.served.address).netloc:
            route.continue_()
        else:
            self.trouble.append(f"asked {urlsplit(route.request.url).netloc}")
            route.abort()

    def enter(self, role: Role) -> Page:
        self.page.goto(self.served.entrance(role))
        self.check()
        return self.page

    def check(self) -> None:
        """Nothing sticks out on the side, and axe finds nothing."""
        expect(self.page.locator("h1")).to_be_visible()
        self.page.wait_for_load_state("load")  # with its style sheet
        wide = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, self.page.url
        if self.scripts:
            found = Axe().run(self.page)
            assert found.violations_count == 0, found.generate_report()

    def leave(self) -> None:
        self.context.close()
        assert self.trouble == []


@pytest.fixture(params=SETTINGS)
def setting(request: pytest.FixtureRequest) -> tuple[bool, int, str]:
    found: tuple[bool, int, str] = request.param
    return found


def test_an_officer_finds_a_case_reads_it_asks_what_if_and_writes_a_letter(chromium, north_desk, setting):
    visitor = Visitor(chromium, north_desk, setting)
    page = visitor.enter(Role.OFFICER)
    page.get_by_role("link", name="Prediction").click()
    expect(page.get_by_role("columnheader", name="Prediction")).to_have_attribute("aria-sort", "ascending")
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_text("page 2 of 3")).to_be_visible()
    page.get_by_label("Find a case").fill("C0")
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_role("heading", name="Case C0")).to_be_visible()
    expect(page.get_by_text("✓ equal")).to_be_visible()
    visitor.check()
    page.get_by_role("link", name="A population").click()
    expect(page.get_by_text("Compared with a synthetic population")).to_be_visible()
    visitor.check()
    page.get_by_role("link", name="What if?").click()
    page.get_by_label("income").fill("4200")
    page.get_by_role("button", name="See what would be").click()
    expect(page.get_by_role("heading", name="Then it would be")).to_be_visible()
    expect(page.get_by_label("income")).to_have_value("4200")
    visitor.check()
    page.get_by_role("link", name="Case C0").click()
    page.get_by_role("link", name="Smallest change").click()
    page.get_by_role("button", name="Look for it").click()
    expect(page.get_by_text("possibilities were tried")).to_be_visible()
    visitor.check()
    page.get_by_role("link", name="Case C0").click()
    page.get_by_role("link", name="Contrast").click()
    page.get_by_label("Identifier of the other case").fill("C1")
    page.get_by_role("button", name="Contrast").click()
    expect(page.get_by_text("sum to the difference")).to_be_visible()
    visitor.check()
    page.get_by_role("link", name="Case C0").click()
    page.get_by_role("link", name="Deutsch").click()
    expect(page.locator("article")).to_contain_text("Der Kredit")
    visitor.check()
    with page.expect_download() as download:
        page.get_by_role("link", name="PDF").click()
    assert download.value.suggested_filename == "notice-de.pdf"
    visitor.leave()
    acts = [line.act for line in north_desk.desk.journal.lines()]
    assert acts.count("wrote a letter") == 2
    assert "what if" in acts
    assert north_desk.desk.journal.verify() is None


def test_a_person_comes_in_by_code_reads_downloads_and_contests_and_the_officer_answers(chromium, bank_desk, setting):
    officer, person = (Visitor(chromium, bank_desk, setting) for _ in range(2))
    page = officer.enter(Role.OFFICER)
    page.get_by_role("link", name="C0", exact=True).click()
    page.get_by_role("button", name="Make a code").click()
    code = page.locator(".big-code").inner_text()
    officer.check()
    mine = person.page
    mine.goto(f"{bank_desk.address}/code/{code}")
    person.check()
    mine.get_by_role("button", name="Open my case").click()
    expect(mine.get_by_role("heading", name="Your case")).to_be_visible()
    expect(mine.get_by_text("Corner Shop: purchases").first).to_be_visible()
    person.check()
    with mine.expect_download() as download:
        mine.get_by_role("link", name="The data that were used").click()
    assert download.value.suggested_filename == "my-data.json"
    mine.get_by_label("I contest the decision").check()
    mine.get_by_label("What should the person know?").fill("My income has risen.")
    mine.get_by_role("button", name="Send").click()
    expect(mine.get_by_text("We have received your request")).to_be_visible()
    person.check()
    page.goto(f"{bank_desk.address}/reviews")
    officer.check()
    page.get_by_role("link", name="C0", exact=True).click()
    expect(page.get_by_text("My income has risen.")).to_be_visible()
    page.get_by_label("Outcome").select_option("changed")
    page.get_by_label("Why").fill("It has.")
    page.get_by_role("button", name="Answer").click()
    mine.goto(f"{bank_desk.address}/mine")
    expect(mine.get_by_text("It has.")).to_be_visible()
    officer.leave()
    person.leave()


def test_an_auditor_and_an_operator_see_how_things_stand(chromium, north_desk, setting):
    officer, auditor = (Visitor(chromium, north_desk, setting) for _ in range(2))
    seen = officer.enter(Role.OFFICER)
    seen.get_by_role("link", name="C0", exact=True).click()
    expect(seen.get_by_role("heading", name="Case C0")).to_be_visible()
    page = auditor.enter(Role.AUDITOR)
    expect(page.get_by_text("chain is whole")).to_be_visible()
    page.get_by_role("link", name="Journal").click()
    expect(page.get_by_role("cell", name="looked", exact=True)).to_be_visible()
    auditor.check()
    page.get_by_role("link", name="Agreement").click()
    expect(page.get_by_text("explained by Test Bank, south")).to_be_visible()
    auditor.check()
    page.get_by_role("link", name="Receipts").click()
    kept = north_desk.desk.library.shown_before(handle(north_desk.desk), reference="anchor")[0]
    page.get_by_label("One receipt").fill(kept.receipt)
    page.get_by_label("The other receipt").fill(kept.receipt)
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("Both state the same explanation")).to_be_visible()
    auditor.check()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    auditor.check()
    operator = auditor.enter(Role.OPERATOR)
    expect(operator.get_by_text("SQLite")).to_be_visible()
    operator.goto(f"{north_desk.address}/cases")
    expect(operator.get_by_text("This page is not for you")).to_be_visible()
    auditor.trouble = [said for said in auditor.trouble if "403" not in said]
    officer.leave()
    auditor.leave()


def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until something has the focus, which must then be seen to have it."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if wanted.evaluate("element => element === document.activeElement"):
            assert wanted.evaluate("element => getComputedStyle(element).outlineStyle") == "solid"
            return
    raise AssertionError(f"The keyboard does not reach {wanted}.")


@pytest.mark.parametrize("scripts", [True, False])
def test_an_officer_and_a_person_need_no_mouse(chromium, north_desk, scripts):
    visitor = Visitor(chromium, north_desk, (scripts, 1280, "light"))
    page = visitor.enter(Role.OFFICER)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_label("Find a case"))
    page.keyboard.type("C3")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Case C3")).to_be_visible()
    tab_to(page, page.get_by_role("link", name="What if?"))
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_label("income"))
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("4100")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Then it would be")).to_be_visible()
    visitor.leave()
    person = Visitor(chromium, north_desk, (scripts, 1280, "light"))
    mine = person.enter(Role.PERSON)
    tab_to(mine, mine.get_by_label("A person should review"))
    mine.keyboard.press("Space")
    tab_to(mine, mine.get_by_label("What should the person know?"))
    mine.keyboard.type("Please look again.")
    tab_to(mine, mine.get_by_role("button", name="Send"))
    mine.keyboard.press("Enter")
    expect(mine.get_by_text("We have received your request")).to_be_visible()
    person.leave()
    assert [review.words for review in north_desk.desk.reviews.all()] == ["Please look again."]


def test_nothing_is_kept_in_the_browser_but_one_cookie(chromium, north_desk):
    visitor = Visitor(chromium, north_desk, (True, 1280, "light"))
    page = visitor.enter(Role.OFFICER)
    page.get_by_role("link", name="C0", exact=True).click()
    page.get_by_role("link", name="A population").click()
    expect(page.get_by_text("Compared with a synthetic population")).to_be_visible()
    assert page.evaluate("Object.keys(localStorage)") == []
    kept = page.evaluate("({...sessionStorage})")
    assert set(kept) <= {"htmx-current-path-for-history"}  # the address, which tells nothing
    assert all(value.startswith("/cases") for value in kept.values())
    cookies = visitor.context.cookies()
    assert [(each["httpOnly"], each["sameSite"]) for each in cookies] == [(True, "Strict")]
    assert re.fullmatch(r"desk-[0-9a-f]{8}", cookies[0]["name"])
    visitor.leave()
