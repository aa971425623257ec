"""Tables from files, runs from folders, and how options name them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from dcshap import HorizontalCollaboration, VerticalCollaboration
from dcshap.cli.console import note
from dcshap.exceptions import InputError, StorageError
from dcshap.storage import CONTENTS

__all__ = ["RowsArgument", "Run", "RunArgument", "named_files", "read_table"]

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
    """Read a csv or parquet file, text columns as categories, optionally with a column as the record identifier."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"{file} must be a csv or parquet file. There is no such file.")
    try:
        table = pd.read_parquet(file) if file.suffix in (".parquet", ".pq") else pd.read_csv(file)
    except (ValueError, OSError) as error:  # pandas' and pyarrow's parsing errors are ValueErrors
        raise InputError(f"{file} cannot be read as a {file.suffix.lstrip('.') or 'csv'} table.") from error
    if index is not None:
        if index not in table.columns:
            raise InputError(f"{file} must have the column {index!r} of the record identifiers. It has none.")
        table = table.set_index(index)
    for column in table.columns:
        if not pd.api.types.is_numeric_dtype(table[column]):
            table[column] = table[column].astype("category")
    return table


def named_files(entries: Sequence[str]) -> dict[str, str]:
    """Files by party from options of the form NAME=FILE."""
    named: dict[str, str] = {}
    for entry in entries:
        name, separator, file = entry.partition("=")
        if not (separator and name and file):
            raise typer.BadParameter(f"must be NAME=FILE. Got {entry!r}.", param_hint="--party")
        if name in named:
            raise typer.BadParameter(f"names {name!r} twice.", param_hint="--party")
        named[name] = file
    return named


@dataclass(frozen=True)
class About:
    """What the command line remembers of a run beside the run itself."""

    kind: str
    target: str
    identifier: str | None


@dataclass(frozen=True)
class Run:
    """A trained collaboration in a folder."""

    collaboration: HorizontalCollaboration | VerticalCollaboration
    about: About

    def save(self, folder: Path) -> None:
        """Write the collaboration, and what the command line must know of it."""
        self.collaboration.save(folder)
        (folder / ABOUT).write_text(json.dumps(asdict(self.about)), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Run:
        """Read a run."""
        if not (folder / CONTENTS).is_file() or not (folder / ABOUT).is_file():
            raise StorageError(f"{folder} must be a folder that `dcshap fit` wrote. It is not.")
        try:
            about = About(**json.loads((folder / ABOUT).read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise StorageError(f"{folder / ABOUT} is damaged: train again.") from error
        kind = HorizontalCollaboration if about.kind == "horizontal" else VerticalCollaboration
        return cls(kind.load(folder), about)

    @property
    def horizontal(self) -> HorizontalCollaboration:
        """The collaboration, which must be horizontal."""
        if not isinstance(self.collaboration, HorizontalCollaboration):
            raise InputError("This needs a horizontal run. This one is vertical.")
        return self.collaboration

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
        names = self.horizontal.schema_.names
        return self._known_columns(read_table(files[0], index=self.about.identifier), names, files[0])

    def records(self, files: Sequence[str]) -> dict[str, pd.DataFrame]:
        """The records of a vertical run by party, from one file with all columns or one per party."""
        columns = {name: p.agreement.schema.names for name, p in self.collaboration.parties_.items()}
        if len(files) == 1 and "=" not in files[0]:
            table = read_table(files[0], index=self.about.identifier)
            everything = [column for held in columns.values() for column in held]
            table = self._known_columns(table, everything, files[0])
            return {name: table[list(held)] for name, held in columns.items()}
        named = named_files(files)
        if set(named) != set(columns):
            raise InputError(f"Give one file for each of {list(columns)}, as NAME=FILE. Got {sorted(named)}.")
        tables = {name: read_table(named[name], index=self.about.identifier) for name in columns}
        _show_unknown_records(tables)
        return {name: self._known_columns(tables[name], columns[name], named[name]) for name in columns}

    def _known_columns(self, table: pd.DataFrame, names: Sequence[str], file: str) -> pd.DataFrame:
        lacking = [name for name in names if name not in table.columns]
        if lacking:
            raise InputError(f"{file} must have the columns {list(names)}. It lacks {lacking}.")
        extra = [name for name in table.columns if name not in names and name != self.about.target]
        if extra:
            note(f"{file}: the columns {extra} are no part of the run and are ignored.")
        table = table[list(names)]
        _show_unknown_categories(table, self._categories(), file)
        return table

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
