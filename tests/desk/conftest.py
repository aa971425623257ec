from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dcshap.desk.accounts import Role
from dcshap.desk.database import Database
from dcshap.desk.horizontal_cases import HorizontalCases
from dcshap.desk.onsite import Source, VerticalCases
from dcshap.desk.state import Desk
from tests.desk import people

Come = Callable[..., people.Browser]


@pytest.fixture(scope="session")
def north() -> Any:
    return people.horizontal()


@pytest.fixture(scope="session")
def together() -> Any:
    return people.vertical()


@pytest.fixture
def desk(north: Any, tmp_path: Path) -> Iterator[Desk]:
    cases = HorizontalCases(Source(lambda: north, lambda: 0), "north", people.people())
    made = people.make_desk(tmp_path / "desk", cases)
    yield made
    made.close()


@pytest.fixture
def bank(together: Any, tmp_path: Path) -> Iterator[Desk]:
    made = vertical_desk(together, "bank", tmp_path)
    yield made
    made.close()


def vertical_desk(run: Any, party: str, folder: Path) -> Desk:
    tables = {name: people.people()[held] for name, held in people.COLUMNS.items()}
    cases = VerticalCases(Source(lambda: run, lambda: 0), party, tables)
    return people.make_desk(folder / party, cases, mail=folder / "mail")


@pytest.fixture
def officer(desk: Desk) -> people.Browser:
    return people.Browser(desk, Role.OFFICER)


@pytest.fixture
def person(desk: Desk) -> people.Browser:
    return people.Browser(desk, Role.PERSON, handle=people.handle(desk))


@pytest.fixture
def auditor(desk: Desk) -> people.Browser:
    return people.Browser(desk, Role.AUDITOR)


@pytest.fixture(autouse=True)
def _databases_are_closed(monkeypatch):
    """Close what a test has opened; Python 3.13 and later warn of connections that nobody closes."""
    opened, init = [], Database.__init__

    def remembered(database: Database, url: str) -> None:
        init(database, url)
        opened.append(database)

    monkeypatch.setattr(Database, "__init__", remembered)
    yield
    for database in opened:
        database.close()
