"""One organisation's desk: its cases, what it keeps, and what it calls things."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dcshap import Schema
from dcshap._typing import FloatArray
from dcshap.desk.accounts import Accounts, Role
from dcshap.desk.cases import Cases
from dcshap.desk.correspondents import Correspondents
from dcshap.desk.database import Database
from dcshap.desk.enquiries import Enquiries, Mail
from dcshap.desk.journal import Journal
from dcshap.desk.library import Library
from dcshap.desk.rendering import Renderer
from dcshap.desk.reviews import Reviews
from dcshap.desk.routing import RefusedError, Visit
from dcshap.desk.throttle import Throttle
from dcshap.desk.vocabulary import Vocabulary
from dcshap.exceptions import InputError, StorageError
from dcshap.explanation.receipt import Signer
from dcshap.shapley.outputs import chosen_outputs
from dcshap.storage import write_once

__all__ = ["Case", "Desk", "Entry"]

KEY_BYTES = 32
WHAT_IFS = 100  # a day for each officer


@dataclass(frozen=True)
class Case:
    """A case that somebody may see."""

    handle: str
    record: str


@dataclass(frozen=True)
class Entry:
    """Who comes in with a launch token, in a demonstration."""

    who: str
    role: Role
    handle: str = ""


@dataclass
class Desk:
    """A desk."""

    folder: Path  # where its key lies, and its database unless that is elsewhere
    cases: Cases
    words: Vocabulary = field(default_factory=Vocabulary)
    url: str | None = None  # of a database; SQLite in the folder by default
    what_ifs: int = WHAT_IFS  # how many changed cases an officer may try in a day
    mail: Path | None = None  # a folder that desks on this machine leave letters to each other in
    audit: Mapping[str, Any] | None = None  # what `dcshap audit` found about this party: its `verdict` and `lines`
    tokens: Mapping[str, Entry] = field(default_factory=dict)  # for demonstrations only
    font: Path | None = None  # a TrueType font for Japanese letters, instead of one that is found on this machine

    def __post_init__(self) -> None:
        self.require_output(self.cases.output_names)
        _own_folder(self.folder)
        self.key = _own_key(self.folder / "desk.key")
        self.database = Database(self.url or f"sqlite:///{self.folder.resolve() / 'desk.db'}")
        self.journal = Journal(self.database, self.key)
        self.accounts = Accounts(self.database, self.key)
        self.library = Library(self.database, self.journal, self.cases, self.key)
        self.reviews = Reviews(self.database, self.journal)
        agreed = {party: about.key for party, about in self.words.organisations.items() if about.key}
        self.correspondents = Correspondents(self.database, Signer.kept_in(self.folder / "letters.key"), agreed)
        self.enquiries = Enquiries(
            self.database, self.journal, self.cases, mail=Mail(self.mail), correspondents=self.correspondents
        )
        self.renderer = Renderer(self.accounts, self.words, self.cases.party)
        often: dict[str, Any] = {"limit": 10, "seconds": 300.0}
        self.logins, self.guesses = (Throttle(self.database, name, **often) for name in ("login", "code"))

    @cached_property
    def cookie_name(self) -> str:
        """Two desks on one machine have the same host: each needs a cookie of its own."""
        return f"desk-{hmac.digest(self.key, b'cookie name', 'sha256')[:4].hex()}"  # nothing of the key itself

    def case(self, visit: Visit, handle: str) -> Case:
        """The case of a handle, if there is one and the visitor may see it: else nobody can tell which."""
        session = visit.known
        theirs = session.role is not Role.PERSON or secrets.compare_digest(session.handle, handle)
        record = self.library.record_of(handle)
        if record is None or not theirs:
            raise RefusedError.unknown()
        return Case(handle, record)

    def told(self, answers: FloatArray) -> FloatArray:
        """The number (n,) that is told of each of the model's answers (n, K): of the output that is explained."""
        names = self.cases.output_names
        chosen = chosen_outputs(answers, names or [""] * answers.shape[1], self.words.output_among(names))
        return answers[np.arange(len(answers)), chosen]

    def named(self, party: str) -> str:
        """What a party is called, the own one included."""
        return (self.words.organisation or party) if party == self.cases.party else self.words.about(party).name

    def require_output(self, names: Sequence[str]) -> None:
        """Refuse words that name an output that the model lacks."""
        if self.words.output and names and self.words.output not in names:
            raise InputError(
                f"`output` in the desk's words must be one of the model's outputs {list(names)}. "
                f"Got {self.words.output!r}."
            )

    @property
    def knows_sensitive(self) -> bool:
        """Whether somebody has said which columns are sensitive: the schema, or the words where there is none."""
        return self.cases.schema is not None or self.words.sensitive is not None

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The columns of which nothing is said beyond this desk; a refusal where nobody has said which these are."""
        if not self.knows_sensitive:
            raise RefusedError(
                HTTPStatus.CONFLICT,
                "Sensitive columns are not known",
                "This desk has no schema that marks them, so nothing is told beyond it. Whoever runs the desk must "
                "name them in the words: `sensitive: [age]`, or `sensitive: []` where there are none.",
            )
        schema = self.cases.schema
        marked = () if schema is None else tuple(column.name for column in schema.columns if column.sensitive)
        return (*marked, *(self.words.sensitive or ()))

    def own_row(self, case: Case) -> tuple[pd.DataFrame, Schema]:
        """What this organisation holds of a case, and what it may be: at hand, or as its explanation has told it."""
        row, schema = self.cases.row(case.record), self.cases.schema
        if row is None:
            shown = self.library.shown_before(case.handle, reference=self.cases.references[0])
            row = pd.DataFrame(shown[0].explanation.data.columns) if shown else None
        if schema is None:
            raise RefusedError(
                HTTPStatus.CONFLICT,
                "The schema is not known",
                "This desk does not know which values a feature may have. Whoever runs the desk must give it the "
                "schema that the parties agreed on: `--schema FILE`.",
            )
        if row is None:
            raise RefusedError(HTTPStatus.CONFLICT, "Look at the case first", "Its data come with its explanation.")
        return row, schema.select([str(name) for name in row.columns if str(name) in schema.names])

    # --- the budget of what-ifs ---------------------------------------------------------------------------------

    def what_ifs_left(self, who: str) -> int:
        """How many changed cases somebody may still try today."""
        today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        used = self.journal.count(who, "what if", since=today.isoformat(timespec="microseconds"))
        return max(0, self.what_ifs - used)

    @staticmethod
    def budget_renews() -> str:
        """When a used-up budget is full again."""
        tomorrow = datetime.now(UTC).date() + timedelta(days=1)
        return f"{tomorrow.isoformat()} 00:00 UTC"

    def prepare(self) -> None:
        """Do now what the first visitor would wait for."""
        self.cases.prepare()
        self.renderer.prepare()

    def close(self) -> None:
        """Give back what the desk holds open."""
        self.database.close()


def _own_folder(folder: Path) -> None:
    """Make the desk's folder, or take an earlier one: nobody else on the machine can look into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
    except OSError as error:
        raise StorageError(f"{folder} must be a folder that this user owns and can write. It is not.") from error


def _own_key(path: Path) -> bytes:
    """The desk's secret, made when it is first opened; nobody else on the machine can read it."""
    key = write_once(path, secrets.token_bytes(KEY_BYTES))
    if len(key) != KEY_BYTES:
        raise StorageError(f"{path} must be the desk's key of {KEY_BYTES} bytes. It is damaged.")
    return key
