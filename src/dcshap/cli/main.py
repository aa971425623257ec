"""The `dcshap` command: where its commands are found."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.main import get_command

from dcshap.cli.console import ReadableErrors

__all__ = ["app"]

# Each is the function, or the group of commands, of its name in the module of its name.
_COMMANDS = ("demo", "fit", "predict", "explain", "compare", "receipt", "desk", "reproduce", "federation")


class Commands(ReadableErrors):
    """Imports a command's module when it is asked for: drawing and training take seconds to import."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's signature, as below
        """All commands, in the order of their use."""
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """A command by its name."""
        if cmd_name not in _COMMANDS:
            return None
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
def dcshap() -> None:
    """Train one model on data that nobody may share, and get the same explanation of every prediction."""
