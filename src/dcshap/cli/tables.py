"""Tables from files, runs from folders, and how options name them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from dcshap import HorizontalCollaboration, VerticalCollaboration
from dcshap._sources import Reading, is_database, read_database, read_file
from dcshap.cli.console import note
from dcshap.exceptions import InputError, StorageError
from dcshap.schema import Category, Schema
from dcshap.schema.kinds import alike_names
from dcshap.storage import current

__all__ = [
    "KeepTextOption",
    "MissingOption",
    "Reader",
    "RowsArgument",
    "Run",
    "RunArgument",
    "SepOption",
    "SqlOption",
    "UnknownOption",
    "absent_options",
    "known_columns",
    "named_files",
    "note_of_identifiers",
    "require_column",
    "require_folder_of",
    "select_columns",
    "show_unknown_categories",
]

ABOUT = "command.json"
SHOWN = 5

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="The folder that `dcshap fit` wrote.")]
RowsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="ROWS...",
        help="A file (csv, Excel, Feather, Parquet) or a database's URL; for a vertical run also one per party, as "
        "NAME=FILE.",
    ),
]
SepOption = Annotated[str | None, typer.Option("--sep", help="What separates the columns of a text file.")]
KeepTextOption = Annotated[bool, typer.Option("--keep-text", help="NA, None and the like are words in text columns.")]
SqlOption = Annotated[
    list[str] | None, typer.Option("--sql", help="The query for a database; NAME=QUERY for one party's.")
]
MissingOption = Annotated[
    str | None, typer.Option(help="What a missing value means: error, or reference (absent); as trained by default.")
]
UnknownOption = Annotated[str, typer.Option(help="What an unknown category means: error, or reference (absent).")]


@dataclass(frozen=True)
class Reader:
    """Reads tables as the options say: files of any kind, and databases."""

    sep: str | None = None  # this and the next as in `Reading`
    keep_text: bool = False
    queries: Sequence[str] | None = None  # for databases; `NAME=QUERY` is one party's

    def read(self, source: str | Path, *, party: str = "", index: str | None = None) -> pd.DataFrame:
        """A table, optionally with a column as the record identifier."""
        if is_database(str(source)):
            table = read_database(str(source), self._query(party))
        else:
            table = read_file(Path(source), reading=Reading(self.sep, self.keep_text))
        if index is not None:
            require_column(table, index, source, what="column of the record identifiers")
            table = table.set_index(index)
        return table

    def _query(self, party: str) -> str:
        queries = self.queries or ()
        own = [entry.partition("=")[2] for entry in queries if party and entry.startswith(f"{party}=")]
        common = [entry for entry in queries if not re.match(r"[\w@.-]+=", entry)]
        if not own + common:
            raise InputError("A database needs a query: give it with --sql.")
        return (own + common)[0]


def absent_options(missing: str | None, unknown: str) -> dict[str, Any]:
    """What missing values and unknown categories in rows mean, as `predict` and `explain` take it."""
    for option, choice in {"--missing": missing or "error", "--unknown": unknown}.items():
        if choice not in ("error", "reference"):
            raise typer.BadParameter(f"must be error or reference. Got {choice!r}.", param_hint=option)
    return ({} if missing is None else {"missing": missing}) | {"unknown": unknown}


def require_column(table: pd.DataFrame, name: str, file: str | Path, *, what: str) -> None:
    """Refuse a file's table that lacks the column of the target, say, naming the columns that are there."""
    if name not in table.columns:
        hint = alike_names([name], table.columns)
        raise InputError(f"{file} must have the {what} {name!r}. It has {list(table.columns)}.{hint}")


def select_columns(table: pd.DataFrame, names: Sequence[str], file: str | Path) -> pd.DataFrame:
    """The named columns of a file's table, which must have them all."""
    lacking = [name for name in names if name not in table.columns]
    if lacking:
        raise InputError(f"{file} must have the columns {list(names)}. It lacks {lacking}.")
    return table[list(names)]


def known_columns(table: pd.DataFrame, names: Sequence[str], file: str | Path, *, target: str | None) -> pd.DataFrame:
    """The named columns of a file's table, which must have them all; of others a note, but for the target."""
    selected = select_columns(table, names, file)
    extra = [name for name in table.columns if name not in names and name != target]
    if extra:
        note(f"{file}: the columns {extra} are no part of the run and are ignored.")
    return selected


def require_folder_of(*files: Path | None) -> None:
    """Refuse files to write to whose folder is not there, before what is to be written is computed."""
    for file in files:
        if file is not None and not file.parent.is_dir():
            raise InputError(f"{file} must be in a folder that is there. There is no {file.parent}.")


def named_files(entries: Sequence[str], *, option: str = "--party") -> dict[str, str]:
    """Files by party from options of the form NAME=FILE."""
    named: dict[str, str] = {}
    for entry in entries:
        name, separator, file = entry.partition("=")
        if not (separator and name and file):
            raise typer.BadParameter(f"must be NAME=FILE. Got {entry!r}.", param_hint=option)
        if name in named:
            raise typer.BadParameter(f"names {name!r} twice.", param_hint=option)
        named[name] = file
    return named


@dataclass(frozen=True)
class About:
    """What the command line remembers of a run beside the run itself."""

    kind: str
    target: str
    identifier: str | None
    keep_text: bool = False
    files: Mapping[str, str] = field(default_factory=dict)  # of each party, as they were trained with


@dataclass(frozen=True)
class Run:
    """A trained collaboration in a folder."""

    collaboration: HorizontalCollaboration | VerticalCollaboration
    about: About
    reader: Reader = field(default_factory=Reader)

    def save(self, folder: Path) -> None:
        """Write the collaboration, what the command line must know of it, and the schema of all columns to edit."""
        schemas = [party.agreement.schema for party in self.collaboration.parties_.values()]
        schemas = schemas[:1] if isinstance(self.collaboration, HorizontalCollaboration) else schemas
        columns = Schema(tuple(column for schema in schemas for column in schema.columns))
        files = {ABOUT: json.dumps(asdict(self.about)).encode(), "schema.yaml": columns.to_yaml().encode()}
        self.collaboration.save(folder, files=files)

    @classmethod
    def load(cls, folder: Path, reader: Reader | None = None) -> Run:
        """Read a run; `reader` reads the rows that it is asked about."""
        saved = current(folder)
        if not (saved / ABOUT).is_file():
            raise StorageError(f"{folder} must be a folder that `dcshap fit` wrote. It is not.")
        try:
            about = About(**json.loads((saved / ABOUT).read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise StorageError(f"{folder / ABOUT} is damaged: train again.") from error
        kind = HorizontalCollaboration if about.kind == "horizontal" else VerticalCollaboration
        # Words that were text in training are text in rows, too.
        given = reader or Reader()
        return cls(kind.load(folder), about, replace(given, keep_text=given.keep_text or about.keep_text))

    def party(self, name: str | None) -> str:
        """The party that is asking, which must be one of the run."""
        parties = list(self.collaboration.parties_)
        if name is None:
            raise InputError(f"Say whose maps to use with --party, one of {parties}.")
        if name not in parties:
            raise InputError(f"--party must be one of {parties}. Got {name!r}.")
        return name

    def rows(self, files: Sequence[str]) -> pd.DataFrame:
        """The rows of a horizontal run's file, without columns that the schema does not know."""
        if len(files) != 1:
            raise InputError(f"A horizontal run takes one file of rows. Got {len(files)}.")
        schema = next(iter(self.collaboration.parties_.values())).agreement.schema  # all parties have the same
        return self._known_columns(self.reader.read(files[0]), schema.names, files[0])

    def records(self, files: Sequence[str]) -> dict[str, pd.DataFrame]:
        """The records of a vertical run by party, from one file with all columns or one per party."""
        columns = {name: p.agreement.schema.names for name, p in self.collaboration.parties_.items()}
        read, identifier = self.reader.read, self.about.identifier
        if len(files) == 1 and not re.match(r"[\w .@-]+=", files[0]):
            table = read(files[0], index=identifier)
            everything = [column for held in columns.values() for column in held]
            table = self._known_columns(table, everything, files[0])
            return {name: table[list(held)] for name, held in columns.items()}
        named = named_files(files, option="ROWS")
        if set(named) != set(columns):
            raise InputError(f"Give one file for each of {list(columns)}, as NAME=FILE. Got {sorted(named)}.")
        tables = {name: read(named[name], party=name, index=identifier) for name in columns}
        _show_unknown_records(tables)
        note_of_identifiers(tables)
        return {name: self._known_columns(tables[name], columns[name], named[name]) for name in columns}

    def _known_columns(self, table: pd.DataFrame, names: Sequence[str], file: str) -> pd.DataFrame:
        selected = known_columns(table, names, file, target=self.about.target)
        schemas = {
            party.agreement.schema.fingerprint: party.agreement.schema for party in self.collaboration.parties_.values()
        }
        for schema in schemas.values():  # horizontally all parties have the same
            show_unknown_categories(selected, schema, file)
        return selected


def _show_unknown_records(tables: Mapping[str, pd.DataFrame]) -> None:
    """Name records that a party does not hold: here, on the screen of whoever has the files, and nowhere else."""
    everybody = [str(record) for table in tables.values() for record in table.index]
    for name, table in tables.items():
        held = {str(record) for record in table.index}
        unknown = list(dict.fromkeys(record for record in everybody if record not in held))
        if unknown:
            more = f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else ""
            note(f"{len(unknown)} records are unknown to {name!r}: {', '.join(unknown[:SHOWN])}{more}.")


def note_of_identifiers(tables: Mapping[str, pd.DataFrame]) -> None:
    """Say where many records are not found at another party because their identifiers are written differently."""
    held = {name: {str(record) for record in table.index} for name, table in tables.items()}
    plain = {name: {_plain_identifier(record) for record in records} for name, records in held.items()}
    for one, other in combinations(tables, 2):
        alike = len(plain[one] & plain[other]) - len(held[one] & held[other])
        if alike > 0:
            note(
                f"{alike} record identifiers of {one!r} and {other!r} look alike but differ in leading zeros, blanks, "
                f"capitals or a '.0', and do not match. Write them alike."
            )


def _plain_identifier(identifier: str) -> str:
    return identifier.strip().casefold().removesuffix(".0").lstrip("0")


def show_unknown_categories(table: pd.DataFrame, schema: Schema, file: str | Path) -> None:
    """Name categories that nobody agreed on: here, on the screen of whoever holds the file, and nowhere else."""
    for column in schema.columns:
        if isinstance(column, Category) and column.name in table.columns and column.rest is None:
            values = table[column.name].dropna().unique()
            unknown = sorted({str(value) for value in values if value not in column.categories})
            if unknown:
                more = f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else ""
                named = f"{unknown[:SHOWN]}{more}"
                note(f"{file}: column {column.name!r} has categories that are not in the schema: {named}.")
