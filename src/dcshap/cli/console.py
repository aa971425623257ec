"""What all commands share: where they print, how long work shows itself, and how errors read."""

from __future__ import annotations

import json
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from typer.core import TyperGroup

from dcshap.exceptions import DcshapError, DcshapWarning

__all__ = ["DebugOption", "JsonOption", "ReadableErrors", "error_console", "note", "output", "print_json", "working"]

# Without emoji: in a certificate's fingerprint `:AB:` and `:CD:` are bytes.
output = Console(emoji=False)
error_console = Console(stderr=True, emoji=False)

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of a table.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]

WRONG_INPUT = 1


class ReadableErrors(TyperGroup):
    """Ends a command that failed on its input with one paragraph and exit code 1; `--debug` shows the traceback."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]  # the Context that Typer exports
        """Run the command that was asked for."""
        warnings.showwarning = _show_warning
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # whoever reads has read enough (`| head`), which click knows to end quietly on
        except (DcshapError, OSError) as error:
            if "--debug" in sys.argv:
                error_console.print(traceback.format_exc(), markup=False, highlight=False)
            error_console.print(f"[bold red]Error:[/] {_escaped(str(error))}", highlight=False, soft_wrap=True)
            ctx.exit(WRONG_INPUT)


def note(text: str) -> None:
    """Something the user should know that is no part of the result; it goes to stderr."""
    error_console.print(f"[yellow]Note:[/] {_escaped(text)}", highlight=False, soft_wrap=True)


def print_json(content: Any) -> None:
    """Print a result for machines, and nothing else, on stdout."""
    sys.stdout.write(json.dumps(content, default=_plain, indent=1, allow_nan=False) + "\n")


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show that work is going on, where stderr is a terminal."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=error_console, transient=True, disable=not error_console.is_terminal) as progress:
        progress.add_task(text, total=None)
        yield


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, DcshapWarning):
        note(str(message))


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, pd.DataFrame):
        return value.to_dict(orient="records")
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form.")
