"""`dcshap federation schema …`: a draft from one's own table, and one schema of several parties' drafts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dcshap.cli.console import DebugOption
from dcshap.cli.sites import say
from dcshap.cli.tables import read_table
from dcshap.exceptions import StorageError

__all__ = ["schema"]

schema = typer.Typer(no_args_is_help=True, help="The agreed schema: drafted from a table, joined from drafts.")
OutOption = Annotated[Path, typer.Option(help="A new file.")]


@schema.command()
def draft(
    table: Annotated[Path, typer.Argument(help="A csv or parquet file.")],
    out: OutOption = Path("schema.yaml"),
    identifier: Annotated[str | None, typer.Option("--id", help="The column of the record identifiers.")] = None,
    target: Annotated[str | None, typer.Option(help="The column of the labels.")] = None,
    debug: DebugOption = False,  # noqa: ARG001
) -> None:
    """Write a schema of one's own table's columns, to be read and rounded before it is shown to anybody.

    Example: `dcshap federation schema draft bank.csv --id customer --target repaid --out bank.yaml`
    """
    from dcshap.schema import Schema  # noqa: PLC0415 - as late as all of the package

    columns = read_table(table).drop(columns=[name for name in (identifier, target) if name is not None])
    found = Schema.from_frames([columns])
    found.save(_new(out))
    say(
        f"{out} has {len(found)} columns. Its ranges are the smallest and the largest values of your table, and its "
        f"categories all that occur: round them, and read it, before you send it to anybody."
    )


@schema.command()
def join(
    drafts: Annotated[list[Path], typer.Argument(metavar="DRAFT…", help="The parties' schemas.")],
    out: OutOption = Path("schema.yaml"),
    debug: DebugOption = False,  # noqa: ARG001
) -> None:
    """Make one schema of the columns of several parties, for a vertical collaboration; each column is one party's.

    Example: `dcshap federation schema join bank.yaml shop.yaml --out schema.yaml`
    """
    from dcshap.schema import Schema  # noqa: PLC0415

    joined = Schema(tuple(column for path in drafts for column in Schema.load(path).columns))
    joined.save(_new(out))
    say(f"{out} has {len(joined)} columns of {len(drafts)} parties. Its fingerprint is {joined.fingerprint}")


def _new(path: Path) -> Path:
    if path.exists():
        raise StorageError(f"{path} exists already. A schema that was agreed on is not written over.")
    return path
