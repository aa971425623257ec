"""Which columns of the parties' files take part, and the schema that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from dcshap import Schema
from dcshap.cli.console import note
from dcshap.collaboration.agreement import require_one_holder
from dcshap.exceptions import InputError
from dcshap.schema.kinds import looks_like_categories

__all__ = ["CategoryOption", "Columns", "DropOption", "OnehotOption"]

Tables = Mapping[str, pd.DataFrame]
DropOption = Annotated[
    list[str] | None, typer.Option("--drop", help="A column to leave out, such as identifiers; repeat it.")
]
CategoryOption = Annotated[
    list[str] | None, typer.Option("--category", help="A column of numbers that are codes of categories; repeat it.")
]
OnehotOption = Annotated[
    list[str] | None,
    typer.Option(
        help="A category to encode as indicators; repeat it. All are by default, but with a span that is not "
        "supervised; naming some leaves the others ordinal."
    ),
]


@dataclass(frozen=True)
class Columns:
    """What the options say of columns."""

    schema: Path | None  # the agreed schema; found from the tables by default
    onehot: Sequence[str] = ()  # columns to encode as indicators
    category: Sequence[str] = ()  # columns that hold the codes of categories
    drop: Sequence[str] = ()  # columns to leave out
    supervised: bool = True  # whether the schema is for a supervised span

    def of(self, tables: Tables) -> tuple[Schema, dict[str, pd.DataFrame]]:
        """The schema of tables with the same columns, and the tables cut to it."""
        kept = self._without_dropped(tables)
        kept = kept if self.schema else _without_constants(kept)
        found = self._given() or self._found(kept, self.onehot, self.category)
        return found, {name: self._cut(table, found, name) for name, table in kept.items()}

    def of_each(self, tables: Tables) -> tuple[Schema, dict[str, pd.DataFrame]]:
        """The schema of tables with different columns, and the tables cut to it."""
        kept = self._without_dropped(tables)
        if self.schema is None:
            kept = {name: _without_constants({name: table})[name] for name, table in kept.items()}
        everything = [column for table in kept.values() for column in table.columns]
        for option, names in {"--onehot": self.onehot, "--category": self.category}.items():
            _require_known(names, everything, option)
        found = self._given()
        if found is None:
            parts = [self._found({name: table}, self._of(self.onehot, table), self._of(self.category, table))
                     for name, table in kept.items()]  # fmt: skip
            require_one_holder([name for part in parts for name in part.names])
            found = Schema(tuple(column for part in parts for column in part.columns))
        return found, {name: self._cut(table, found, name) for name, table in kept.items()}

    @staticmethod
    def _of(names: Sequence[str], table: pd.DataFrame) -> list[str]:
        return [name for name in names if name in table.columns]

    def _given(self) -> Schema | None:
        if self.schema is None:
            return None
        if self.onehot or self.category:
            raise InputError("--onehot and --category belong in the schema file where one is given.")
        return Schema.load(self.schema)

    def _found(self, tables: Tables, onehot: Sequence[str], category: Sequence[str]) -> Schema:
        codes = [name for name in looks_like_categories(tables) if name not in category]
        if codes:
            note(
                f"The columns {codes} hold few different whole numbers. Say --category NAME where they are categories."
            )
        if self.supervised:
            # Of a vertical run a party may hold none of the columns that are named.
            return Schema.for_supervision(tables, onehot=onehot if self.onehot else "all", category=category)
        return Schema.from_frames(tables, onehot=onehot, category=category)

    def _without_dropped(self, tables: Tables) -> dict[str, pd.DataFrame]:
        _require_known(self.drop, [column for table in tables.values() for column in table.columns], "--drop")
        return {name: table.drop(columns=self._of(self.drop, table)) for name, table in tables.items()}

    def _cut(self, table: pd.DataFrame, schema: Schema, party: str) -> pd.DataFrame:
        """The columns of the schema; of others a note, unless they were left out of the schema with one."""
        others = [name for name in table.columns if name not in schema.names]
        if others and self.schema is not None:
            note(f"{party!r}: the columns {others} are not in the schema and are ignored.")
        return table.drop(columns=others)


def _without_constants(tables: Tables) -> dict[str, pd.DataFrame]:
    """Tables without columns that are empty, or hold one and the same value, in all of them; which are named."""
    names = dict.fromkeys(name for table in tables.values() for name in table.columns)
    values = {
        name: {repr(v) for t in tables.values() if name in t for v in t[name].dropna().unique()[:2]} for name in names
    }
    same = [name for name in names if len(values[name]) < 2]
    if same:
        note(f"The columns {same} are left out: they are empty, or hold the same value in every row.")
    return {party: table.drop(columns=same, errors="ignore") for party, table in tables.items()}


def _require_known(names: Sequence[str], there: Sequence[str], option: str) -> None:
    unknown = [name for name in names if name not in there]
    if unknown:
        raise InputError(f"{option} must name columns of the files. Got {unknown}, which are not there.")
