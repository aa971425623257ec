"""Small collaborations, desks and visitors that the desk's tests share."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from starlette.exceptions import StarletteDeprecationWarning

from dcshap import HorizontalCollaboration, Schema, VerticalCollaboration
from dcshap.desk.accounts import Role
from dcshap.desk.application import create_app
from dcshap.desk.cases import Cases
from dcshap.desk.state import Desk
from dcshap.desk.vocabulary import Vocabulary

with warnings.catch_warnings():
    warnings.simplefilter("ignore", StarletteDeprecationWarning)  # httpx will do
    from starlette.testclient import TestClient

HOST = "desk.test:1"
ORIGIN = f"http://{HOST}"
N = 300
COLUMNS = {"bank": ["age", "income", "job"], "shop": ["spent", "visits"]}


def table(seed: int = 0, n: int = N) -> tuple[pd.DataFrame, np.ndarray]:
    """People with five columns, and whether they paid back."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": rng.normal(3000, 800, n).round(),
            "job": rng.choice(["clerk", "cook", "nurse"], n),
            "spent": rng.normal(500, 150, n).round(),
            "visits": rng.integers(0, 30, n),
        }
    )
    score = (X["income"] - 3000) / 800 + (X["spent"] - 500) / 150 + (X["job"] == "nurse") + (X["age"] - 45) / 40
    return X, (score + rng.normal(0, 0.5, n) > 0.3).astype(int).to_numpy()


def schema() -> Schema:
    """Age is marked as sensitive."""
    found = Schema.for_supervision([table()[0]])
    return Schema(tuple(replace(column, sensitive=column.name == "age") for column in found.columns))


def horizontal(seed: int = 0) -> HorizontalCollaboration:
    X, y = table()
    half = N // 2
    run = HorizontalCollaboration(LogisticRegression(), schema=schema(), random_state=seed)
    return run.fit({"north": (X.iloc[:half], y[:half]), "south": (X.iloc[half:], y[half:])})


def vertical(seed: int = 0) -> VerticalCollaboration:
    X, y = table()
    run = VerticalCollaboration(LogisticRegression(), schema=schema(), random_state=seed)
    return run.fit({name: X[held] for name, held in COLUMNS.items()}, y, label_party="bank")


def people(n: int = 60) -> pd.DataFrame:
    X, _ = table(seed=1, n=n)
    return X.set_axis(pd.Index([f"C{at}" for at in range(n)]))


WORDS = Vocabulary.of(
    {
        "organisation": "Test Bank",
        "subject": {"en": "repayment", "de": "Rückzahlung"},
        "output": "1",
        "above": {"en": "The loan is granted.", "de": "Der Kredit wird bewilligt."},
        "below": {"en": "The loan is refused.", "de": "Der Kredit wird abgelehnt."},
        "contact": "review@test.example",
        "changeable": ["income", "spent"],
        "organisations": {"shop": {"name": "Corner Shop", "category": "purchases"}},
    }
)


class Browser:
    """Somebody at a desk, as `starlette.testclient` plays them."""

    def __init__(self, desk: Desk, role: Role | None, *, handle: str = "", who: str = "") -> None:
        self.desk, self.role = desk, role
        self.http = TestClient(create_app(desk, hosts={HOST}), base_url=ORIGIN, follow_redirects=False)
        self.cookie = ""
        if role is not None:
            self.use(desk.accounts.open(who or role.value, role, handle=handle))

    def use(self, cookie: str) -> None:
        self.cookie = cookie
        self.http.cookies.set(self.desk.cookie_name, cookie)

    def get(self, path: str, **kwargs: Any) -> Any:
        return self.http.get(path, **kwargs)

    def post(self, path: str, data: dict[str, str] | None = None, **kwargs: Any) -> Any:
        token = self.desk.accounts.form_token(self.cookie)
        headers = {"Origin": ORIGIN} | kwargs.pop("headers", {})
        return self.http.post(path, data={"form_token": token} | (data or {}), headers=headers, **kwargs)


def make_desk(folder: Path, cases: Cases, **kwargs: Any) -> Desk:
    return Desk(folder, cases, kwargs.pop("words", WORDS), **kwargs)


def handle(desk: Desk, record: str = "C0") -> str:
    found = desk.library.handle_of(record)
    assert found is not None
    return found


def text_of(html: str) -> str:
    """What a reader sees of a page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))
