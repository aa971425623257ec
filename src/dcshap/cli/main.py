"""The `dcshap` command: where its commands are found."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from dcshap.cli.console import ReadableErrors

__all__ = ["COMMANDS", "app"]

# Each is the function, or the group of commands, of its name in the module of its name; with what it does.
COMMANDS = {
    "demo": "The main job on real data (Adult, in the package): train, explain, compare, report.",
    "fit": "Train a collaboration on the parties' files.",
    "predict": "Predict rows with a trained run.",
    "explain": "Explain predictions of rows with a trained run.",
    "compare": "Do all parties say the same? Explain rows at every party and compare.",
    "audit": "Attack what a party has sent, on its own table; nothing leaves.",
    "receipt": "Check and compare signed receipts.",
    "desk": "Open the page where officers, persons concerned and auditors ask why.",
    "schema": "Build, check, explain and merge the schema that parties agree on.",
    "cite": "What to cite: the works behind the methods that a run used, or behind all methods.",
    "reproduce": "The experiments of the paper on the real data.",
    "federation": "Train and explain between separate organisations.",
}


class Commands(ReadableErrors):
    """Imports a command's module when it is asked for: drawing and training take seconds to import."""

    _listing = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The list of commands, for which none of them is imported."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`--debug` may stand anywhere in a command line."""
        given = ["--debug"] if "--debug" in args else []
        return super().parse_args(ctx, given + [each for each in args if each != "--debug"])

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's signature, as below
        """All commands, in the order of their use."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """A command by its name."""
        if cmd_name not in COMMANDS:
            return None
        if self._listing:
            return TyperCommand(cmd_name, help=COMMANDS[cmd_name])
        found = getattr(import_module(f"dcshap.cli.{cmd_name}"), cmd_name)
        if not isinstance(found, typer.Typer):
            alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
            alone.command()(found)
            found = alone
        command = get_command(found)
        command.name = cmd_name
        return command


app = typer.Typer(name="dcshap", cls=Commands, pretty_exceptions_enable=False, rich_markup_mode="markdown")


@app.callback(no_args_is_help=True)
def dcshap(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Train one model on data that nobody may share, and get the same explanation of every prediction."""
