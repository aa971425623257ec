"""A demonstration on embedded data: a horizontal desk, and two of a vertical collaboration."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from dcshap import HorizontalCollaboration, Schema, VerticalCollaboration, datasets
from dcshap.desk.accounts import Role
from dcshap.desk.cases import Cases
from dcshap.desk.horizontal_cases import HorizontalCases
from dcshap.desk.onsite import Source, VerticalCases
from dcshap.desk.state import Desk, Entry
from dcshap.desk.vocabulary import Vocabulary

__all__ = ["Stand", "showcase"]

N_TRAINED = 3000
N_CASES = 400
SENSITIVE = ("race", "sex")
DECISIONS: Mapping[str, Any] = {
    "subject": {"en": "an income above 50,000", "de": "ein Einkommen über 50.000", "ja": "年収5万ドル超"},
    "output": "1",
    "above": {
        "en": "The loan is granted.",
        "de": "Der Kredit wird bewilligt.",
        "ja": "融資を承認します。",
    },
    "below": {
        "en": "The loan is not granted.",
        "de": "Der Kredit wird nicht bewilligt.",
        "ja": "融資を承認できません。",
    },
    "days": 30,
    "changeable": ["hours-per-week", "education-num", "workclass", "occupation"],
    "labels": {
        "age": {"en": "Age", "de": "Alter", "ja": "年齢"},
        "workclass": {"en": "Kind of employer", "de": "Art des Arbeitgebers", "ja": "雇用形態"},
        "education-num": {"en": "Years of schooling", "de": "Jahre der Ausbildung", "ja": "就学年数"},
        "marital-status": {"en": "Marital status", "de": "Familienstand", "ja": "婚姻状況"},
        "occupation": {"en": "Occupation", "de": "Beruf", "ja": "職業"},
        "relationship": {"en": "Role in the family", "de": "Rolle in der Familie", "ja": "世帯での続柄"},
        "race": {"en": "Race", "de": "Ethnie", "ja": "人種"},
        "sex": {"en": "Sex", "de": "Geschlecht", "ja": "性別"},
        "capital-gain": {"en": "Capital gain", "de": "Kapitalgewinn", "ja": "資本利得"},
        "capital-loss": {"en": "Capital loss", "de": "Kapitalverlust", "ja": "資本損失"},
        "hours-per-week": {"en": "Hours worked per week", "de": "Wochenarbeitszeit", "ja": "週労働時間"},
        "native-country": {"en": "Country of birth", "de": "Geburtsland", "ja": "出生国"},
    },
}


@dataclass(frozen=True)
class Stand:
    """One desk of the demonstration, and how to come in."""

    title: str
    desk: Desk


def showcase(folder: Path, *, seed: int = 0) -> list[Stand]:
    """Train on Adult, and set up three desks.

    Parameters
    ----------
    folder : Path
        Where the desks keep what they keep.
    seed : int
    """
    data = datasets.load_adult("train")
    drawn = data.data.sample(N_TRAINED + N_CASES, random_state=seed)
    target = data.target.loc[drawn.index]
    people = drawn.tail(N_CASES)
    people = people.set_axis(pd.Index([f"A-{1000 + at}" for at in range(N_CASES)]))
    X, y = drawn.head(N_TRAINED).reset_index(drop=True), target.head(N_TRAINED).reset_index(drop=True)
    given: dict[str, Any] = {"people": people, "folder": folder, "schema": _schema(X), "seed": seed}
    return [_north(X, y, **given), *_bank_and_shop(X, y, **given)]


def _schema(X: pd.DataFrame) -> Schema:
    """The dictionary of the columns, some of them marked as sensitive: letters say nothing of those."""
    found = Schema.for_supervision([X])
    return Schema(tuple(replace(column, sensitive=column.name in SENSITIVE) for column in found.columns))


def _north(X: pd.DataFrame, y: Any, *, people: pd.DataFrame, folder: Path, schema: Schema, seed: int) -> Stand:
    parts = datasets.label_skew(y, random_state=seed)
    parties = {name: (X.iloc[rows], y.iloc[rows]) for name, rows in zip(("north", "south"), parts, strict=True)}
    run = HorizontalCollaboration(LogisticRegression(max_iter=1000), schema=schema, random_state=seed).fit(parties)
    application = {"en": "your application", "de": "Ihr Antrag", "ja": "申込内容"}
    theirs = {
        "en": "applications of its own customers",
        "de": "Anträge ihrer eigenen Kunden",
        "ja": "自行の顧客の申込内容",
    }
    others = {"south": {"name": "South Bank", "category": theirs, "contact": "south@example.org"}}
    words = _words("North Bank", "north@example.org", application, others)
    return Stand(
        "North Bank, which holds all columns of its own people",
        _desk(folder / "north", HorizontalCases(_source(run), "north", people), words),
    )


def _bank_and_shop(
    X: pd.DataFrame, y: Any, *, people: pd.DataFrame, folder: Path, schema: Schema, seed: int
) -> list[Stand]:
    columns = {"bank": list(X.columns[:6]), "shop": list(X.columns[6:])}
    run = VerticalCollaboration(LogisticRegression(max_iter=1000), schema=schema, random_state=seed)
    run.fit({name: X[held] for name, held in columns.items()}, y, label_party="bank")
    tables = {name: people[held] for name, held in columns.items()}
    work = {"en": "work and schooling", "de": "Arbeit und Ausbildung", "ja": "職業と学歴"}
    household = {"en": "household and purchases", "de": "Haushalt und Einkäufe", "ja": "世帯と購買履歴"}
    about: dict[str, Any] = {
        "bank": {"name": "City Bank", "category": work, "contact": "bank@example.org"},
        "shop": {"name": "Corner Shop", "category": household, "contact": "shop@example.org"},
    }
    stands = []
    for name, other in (("bank", "shop"), ("shop", "bank")):
        me, them = about[name], {other: about[other]}
        desk = _desk(
            folder / name,
            VerticalCases(_source(run), name, tables),
            _words(me["name"], me["contact"], me["category"], them),
            mail=folder / "mail",
        )
        stands.append(
            Stand(f"{me['name']}, which holds {me['category']['en']}; {them[other]['name']} holds the rest", desk)
        )
    return stands


def _words(organisation: str, contact: str, category: Mapping[str, str], others: Mapping[str, Any]) -> Vocabulary:
    own = {"organisation": organisation, "contact": contact, "category": category, "organisations": others}
    return Vocabulary.of({**DECISIONS, **own}, where="The demonstration")


def _source(run: Any) -> Source:
    return Source(lambda: run, lambda: "")


def _desk(folder: Path, cases: Cases, words: Vocabulary, mail: Path | None = None) -> Desk:
    desk = Desk(folder, cases, words, mail=mail)
    handle = desk.library.handle_of(_nearly_granted(cases)) or ""
    entries = {
        Role.OFFICER: Entry("Olga Officer", Role.OFFICER),
        Role.PERSON: Entry("person concerned", Role.PERSON, handle),
        Role.AUDITOR: Entry("Aki Auditor", Role.AUDITOR),
        Role.OPERATOR: Entry("Otto Operator", Role.OPERATOR),
    }
    desk.tokens = {secrets.token_urlsafe(24): entry for entry in entries.values()}
    return desk


def _nearly_granted(cases: Cases) -> str:
    """The case that misses the line by least: the person who has most to ask."""
    values = cases.predictions()
    chances = np.zeros(1) if values is None else values[:, -1]
    return cases.records()[int(np.argmax(np.where(chances < 0.5, chances, -1.0)))]
