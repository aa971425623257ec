"""`dcshap schema make|check|show|merge`: the agreed data dictionary."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from dcshap import Schema
from dcshap.cli.columns import CategoryOption, Columns, DropOption, OnehotOption
from dcshap.cli.console import JsonOption, command_group, note, print_json, print_table, tell
from dcshap.cli.tables import KeepTextOption, Reader, SepOption, SqlOption, require_folder_of, show_unknown_categories
from dcshap.exceptions import InputError, SchemaError
from dcshap.schema import Category, Column, Number
from dcshap.schema.coarsening import AT_LEAST, coarsen, join, merge
from dcshap.schema.columns import column_codes

__all__ = ["schema"]

schema = command_group("Build, check, explain and merge the schema that parties agree on.")

SHOWN = 8

SchemaArgument = Annotated[Path, typer.Argument(metavar="SCHEMA", help="A schema, as YAML.")]
FilesArgument = Annotated[list[str], typer.Argument(metavar="FILES...", help="Tables, or databases' URLs.")]
OutOption = Annotated[Path, typer.Option(help="The YAML file to write.")]


@schema.command()
def make(
    files: FilesArgument,
    out: OutOption,
    drop: DropOption = None,
    category: CategoryOption = None,
    onehot: OnehotOption = None,
    at_least: Annotated[int, typer.Option(help="Rows that every range and category must rest on.")] = AT_LEAST,
    exact: Annotated[bool, typer.Option("--exact", help="As the tables are: not to be shown to others.")] = False,
    sep: SepOption = None,
    keep_text: KeepTextOption = False,
    sql: SqlOption = None,
) -> None:
    """Build a schema from tables, coarse enough to be shown to the other parties.

    Ranges are rounded, rare categories merged, and nothing rests on fewer than --at-least rows.

    Example: `dcshap schema make north.csv --drop income --out schema.yaml`
    """
    require_folder_of(out)
    reader = Reader(sep, keep_text, sql)
    tables = {file: reader.read(file) for file in files}
    found, cut = Columns(None, onehot or (), category or (), drop or ()).of(tables)
    if not exact:
        found = coarsen(found, cut, at_least=at_least)
    found.save(out)
    _print(found, f"Written to {out}")
    if exact:
        note("This schema shows the smallest and largest values and rare categories: keep it to yourself.")


@schema.command()
def check(
    path: SchemaArgument,
    files: FilesArgument,
    sep: SepOption = None,
    keep_text: KeepTextOption = False,
    sql: SqlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check tables against a schema. The exit code is 1 where one does not fit.

    Example: `dcshap schema check schema.yaml north.csv`
    """
    agreed, reader = Schema.load(path), Reader(sep, keep_text, sql)
    found = []
    for file in files:
        table = reader.read(file)
        show_unknown_categories(table, agreed, file)
        others = [name for name in table.columns if name not in agreed.names]
        if others:
            note(f"{file}: the columns {others} are not in the schema and are ignored.")
        found += [{"file": file} | _checked(column, table) for column in agreed.columns]
    if as_json:
        print_json(found)
    else:
        print_table(pd.DataFrame(found), f"{path}: {len(agreed)} columns")
    misfits = sum(not row["fits"] for row in found)
    if misfits:
        raise InputError(f"{misfits} of {len(found)} columns do not fit the schema.")


@schema.command()
def show(path: SchemaArgument, as_json: JsonOption = False) -> None:
    """Explain a schema in words.

    Example: `dcshap schema show schema.yaml`
    """
    found = Schema.load(path)
    if as_json:
        print_json(found.to_dict() | {"fingerprint": found.fingerprint})
        return
    _print(found, str(path))
    tell(f"Fingerprint {found.fingerprint[:16]}: equal wherever the schema is.")


@schema.command("merge")
def merge_files(
    paths: Annotated[list[Path], typer.Argument(metavar="SCHEMAS...", help="Schemas, as YAML.")],
    out: OutOption,
    vertical: Annotated[
        bool, typer.Option("--vertical", help="The parties hold different columns: all of them.")
    ] = False,
) -> None:
    """Merge the schemas of several parties: ranges and categories cover all of them.

    Example: `dcshap schema merge north.yaml south.yaml --out schema.yaml`
    """
    require_folder_of(out)
    found = (join if vertical else merge)({str(path): Schema.load(path) for path in paths})
    found.save(out)
    _print(found, f"Written to {out}")


def _print(found: Schema, title: str) -> None:
    rows = [{"column": column.name} | _described(column) for column in found.columns]
    print_table(pd.DataFrame(rows), title)


def _described(column: Column) -> dict[str, str]:
    """A column in words: its kind, what may stand in it, what is typical, and how it is encoded."""
    if isinstance(column, Category):
        labels = ", ".join(map(str, column.categories[:SHOWN]))
        more = f" and {len(column.categories) - SHOWN} more" if len(column.categories) > SHOWN else ""
        others = "" if column.rest is None else f"; all others count as {column.rest}"
        encoded = "one indicator per category" if column.encoding == "onehot" else "position in the list"
        typical = "none" if column.typical is None else str(column.typical)
        return {"kind": "category", "values": labels + more + others, "typical": typical, "encoded as": encoded}

    def written(code: float) -> str:
        return f"{code:g}" if type(column) is Number else str(column.cell(code))

    beyond = ", beyond counts as the nearer end" if column.clipped or column.knots else ""
    encoded = f"{len(column.knots)} hat functions" if column.knots else "a straight line"
    kind = f"{column.kind}: {column.unit}" if column.unit else column.kind
    values = f"{written(column.low)} to {written(column.high)}{beyond}"
    return {"kind": kind, "values": values, "typical": written(column.typical_code), "encoded as": encoded}


def _checked(column: Column, table: pd.DataFrame) -> dict[str, Any]:
    """How many values of a column are missing, unknown, or outside its range."""
    if column.name not in table.columns:
        return {"column": column.name, "fits": False, "missing": None, "outside": None, "problem": "lacking"}
    values = table[column.name]
    codes = column_codes(column, values, unknown="reference")
    outside = 0
    if isinstance(column, Number):
        outside = int(np.sum((codes < column.low) | (codes > column.high)))
    try:
        column_codes(column, values)
        problem = ""
    except SchemaError as error:
        problem = str(error).removeprefix(f"column {column.name!r} ")
    missing = int(values.isna().sum())
    return {"column": column.name, "fits": not problem, "missing": missing, "outside": outside, "problem": problem}
