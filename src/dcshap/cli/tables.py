"""Tables from files, runs from folders, and how options name them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from dcshap import HorizontalCollaboration, VerticalCollaboration
from dcshap._sources import read_file
from dcshap.cli.console import note
from dcshap.exceptions import InputError, StorageError
from dcshap.storage import current

__all__ = [
    "RowsArgument",
    "Run",
    "RunArgument",
    "named_files",
    "read_table",
    "require_column",
    "require_folder_of",
    "select_columns",
]

ABOUT = "command.json"
SHOWN = 5

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="The folder that `dcshap fit` wrote.")]
RowsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="ROWS...", help="A csv or parquet file; for a vertical run also one per party, as NAME=FILE."
    ),
]


def read_table(path: str | Path, *, index: str | None = None) -> pd.DataFrame:
    """Read a csv or parquet file, optionally with a column as the record identifier."""
    table = read_file(Path(path))
    if table.empty:
        raise InputError(f"{path} must hold at least one row. It has {len(table)} of {table.shape[1]} columns.")
    if index is not None:
        require_column(table, index, path, what="column of the record identifiers")
        table = table.set_index(index)
    return table


def require_column(table: pd.DataFrame, name: str, file: str | Path, *, what: str) -> None:
    """Refuse a file's table that lacks the column of the target, say, naming the columns that are there."""
    if name not in table.columns:
        raise InputError(f"{file} must have the {what} {name!r}. It has {list(table.columns)}.")


def select_columns(table: pd.DataFrame, names: Sequence[str], file: str | Path) -> pd.DataFrame:
    """The named columns of a file's table, which must have them all."""
    lacking = [name for name in names if name not in table.columns]
    if lacking:
        raise InputError(f"{file} must have the columns {list(names)}. It lacks {lacking}.")
    return table[list(names)]


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
    files: Mapping[str, str] = field(default_factory=dict)  # of each party, as they were trained with


@dataclass(frozen=True)
class Run:
    """A trained collaboration in a folder."""

    collaboration: HorizontalCollaboration | VerticalCollaboration
    about: About

    def save(self, folder: Path) -> None:
        """Write the collaboration, what the command line must know of it, and a horizontal run's schema to edit."""
        files = {ABOUT: json.dumps(asdict(self.about)).encode()}
        if isinstance(self.collaboration, HorizontalCollaboration):
            files["schema.yaml"] = self.collaboration.schema_.to_yaml().encode()
        self.collaboration.save(folder, files=files)

    @classmethod
    def load(cls, folder: Path) -> Run:
        """Read a run."""
        saved = current(folder)
        if not (saved / ABOUT).is_file():
            raise StorageError(f"{folder} must be a folder that `dcshap fit` wrote. It is not.")
        try:
            about = About(**json.loads((saved / ABOUT).read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise StorageError(f"{folder / ABOUT} is damaged: train again.") from error
        kind = HorizontalCollaboration if about.kind == "horizontal" else VerticalCollaboration
        return cls(kind.load(folder), about)

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
        return self._known_columns(read_table(files[0]), schema.names, files[0])

    def records(self, files: Sequence[str]) -> dict[str, pd.DataFrame]:
        """The records of a vertical run by party, from one file with all columns or one per party."""
        columns = {name: p.agreement.schema.names for name, p in self.collaboration.parties_.items()}
        if len(files) == 1 and "=" not in files[0]:
            table = read_table(files[0], index=self.about.identifier)
            everything = [column for held in columns.values() for column in held]
            table = self._known_columns(table, everything, files[0])
            return {name: table[list(held)] for name, held in columns.items()}
        named = named_files(files, option="ROWS")
        if set(named) != set(columns):
            raise InputError(f"Give one file for each of {list(columns)}, as NAME=FILE. Got {sorted(named)}.")
        tables = {name: read_table(named[name], index=self.about.identifier) for name in columns}
        _show_unknown_records(tables)
        return {name: self._known_columns(tables[name], columns[name], named[name]) for name in columns}

    def _known_columns(self, table: pd.DataFrame, names: Sequence[str], file: str) -> pd.DataFrame:
        selected = select_columns(table, names, file)
        extra = [name for name in table.columns if name not in names and name != self.about.target]
        if extra:
            note(f"{file}: the columns {extra} are no part of the run and are ignored.")
        _show_unknown_categories(selected, self._categories(), file)
        return selected

    def _categories(self) -> Mapping[str, Sequence[Any]]:
        schemas = [party.agreement.schema for party in self.collaboration.parties_.values()]
        return {c.name: c.categories for schema in schemas for c in schema.columns if hasattr(c, "categories")}


def _show_unknown_records(tables: Mapping[str, pd.DataFrame]) -> None:
    """Name records that a party does not hold: here, on the screen of whoever has the files, and nowhere else."""
    everybody = [str(record) for table in tables.values() for record in table.index]
    for name, table in tables.items():
        held = {str(record) for record in table.index}
        unknown = list(dict.fromkeys(record for record in everybody if record not in held))
        if unknown:
            more = f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else ""
            note(f"{len(unknown)} records are unknown to {name!r}: {', '.join(unknown[:SHOWN])}{more}.")


def _show_unknown_categories(table: pd.DataFrame, categories: Mapping[str, Sequence[Any]], file: str) -> None:
    """Name categories that nobody agreed on: here, on the screen of whoever holds the file, and nowhere else."""
    for column, known in categories.items():
        if column in table.columns:
            unknown = sorted({str(value) for value in table[column].dropna().unique() if value not in known})
            if unknown:
                note(f"{file}: column {column!r} has categories that are not in the schema: {unknown}.")
