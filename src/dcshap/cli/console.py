"""What all commands share: where and how they print, and how errors read."""

from __future__ import annotations

import json
import re
import sys
import traceback
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from dcshap.exceptions import DcshapError, DcshapWarning

if TYPE_CHECKING:  # tables and progress bars take longer to import than help takes to show
    import pandas as pd
    from rich.console import RenderableType

__all__ = [
    "JsonOption",
    "ReadableErrors",
    "as_table",
    "command_group",
    "error_console",
    "note",
    "output",
    "print_json",
    "print_table",
    "say",
    "tell",
    "working",
]

# Without emoji: in a certificate's fingerprint `:AB:` and `:CD:` are bytes.
output = Console(emoji=False, highlight=False)
error_console = Console(stderr=True, emoji=False, highlight=False)

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of a table.")]

WRONG_INPUT = 1
DEFECT = 3


class ReadableErrors(TyperGroup):
    """Ends a command that failed on its input with one paragraph and exit code 1; `--debug` shows the traceback.

    What dcshap did not foresee ends with exit code 3. Then the exception's own words, which may hold data, are shown
    with `--debug` only.
    """

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]  # the Context that Typer exports
        """Run the command that was asked for."""
        warnings.showwarning = _show_warning
        words = [*getattr(ctx, "_protected_args", ()), *ctx.args]  # which are taken from the context on the way
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # whoever reads has read enough (`| head`), which click knows to end quietly on
        except (DcshapError, OSError) as error:
            if ctx.params.get("debug"):
                say(traceback.format_exc())
            _show_error(self._in_options(ctx, words, str(error)))
            ctx.exit(WRONG_INPUT)
        except Exception as error:
            of_the_command_line = type(error).__module__.partition(".")[0] in ("click", "typer")
            if ctx.params.get("debug") or of_the_command_line:
                raise
            place = traceback.extract_tb(error.__traceback__)[-1]
            _show_error(
                f"dcshap did not foresee this: {type(error).__name__} in {Path(place.filename).name}, line "
                f"{place.lineno}. This is a defect of dcshap. Say --debug to see all of it, and please report it."
            )
            ctx.exit(DEFECT)

    def _in_options(self, ctx: typer.Context, words: Collection[str], text: str) -> str:
        """An error's advice for Python (missing='reference') as options, where the command has them."""
        command: Any = self
        for word in words:
            if isinstance(command, TyperGroup):
                command = command.get_command(ctx, word) or command
        options = {option for parameter in command.params for option in parameter.opts}

        def as_option(found: re.Match[str]) -> str:
            option = f"--{found[1].replace('_', '-')}"
            return f"{option} {found[2]}" if option in options else found[0]

        return re.sub(r"`?\b(\w+)='(\w+)'`?", as_option, text)


def _show_error(text: str) -> None:
    error_console.print(f"[bold red]Error:[/] {_escaped(text)}", soft_wrap=True)


def command_group(text: str) -> typer.Typer:
    """A command that has commands of its own."""
    return typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="markdown", help=text)


def tell(text: str, *, style: str | None = None) -> None:
    """Print a line of a result, on stdout."""
    output.print(text, style=style, markup=False, soft_wrap=True)


def say(text: str) -> None:
    """Tell the user what happens; on stderr, because it is no result."""
    error_console.print(text, markup=False, soft_wrap=True)


def note(text: str) -> None:
    """Something the user should know that is no part of the result; it goes to stderr."""
    error_console.print(f"[yellow]Note:[/] {_escaped(text)}", soft_wrap=True)


def print_json(content: Any) -> None:
    """Print a result for machines, and nothing else, on stdout."""
    sys.stdout.write(json.dumps(content, default=_plain, indent=1, allow_nan=False) + "\n")


def print_table(frame: pd.DataFrame, title: str = "", *, digits: str = ".3f", right: Collection[str] = ()) -> None:
    """Print a result for people, on stdout; the parameters are those of `as_table`."""
    output.print(as_table(frame, title, digits=digits, right=right))


def as_table(
    frame: pd.DataFrame, title: str = "", *, digits: str = ".3f", right: Collection[str] = ()
) -> RenderableType:
    """A frame as the screen shows it, without its index.

    Parameters
    ----------
    frame : DataFrame
    title : str
        A line above it, which may be wider than the table.
    digits : str
        How fractions are written, as a format.
    right : collection of str
        Columns of text to be aligned on the right, as numbers are.
    """
    import pandas as pd  # noqa: PLC0415 - as at the top
    from rich.console import Group  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table()
    for column, dtype in zip(frame.columns, frame.dtypes, strict=True):
        numeric = pd.api.types.is_numeric_dtype(dtype) or column in right
        table.add_column(_escaped(str(column)), justify="right" if numeric else "left")
    for row in frame.itertuples(index=False):
        table.add_row(*(_cell(value, digits) for value in row))
    return Group(Text(title, style="italic"), table) if title else table


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show that work is going on, where stderr is a terminal."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=error_console, transient=True, disable=not error_console.is_terminal) as progress:
        progress.add_task(text, total=None)
        yield


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, DcshapWarning):
        note(str(message))


def _cell(value: Any, digits: str) -> str:
    import numpy as np  # noqa: PLC0415
    import pandas as pd  # noqa: PLC0415

    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}" if value >= 10_000 else str(value)  # four digits are often a year
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return "–"
    return f"{value:{digits}}" if isinstance(value, float | np.floating) else _escaped(str(value))


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")


def _plain(value: Any) -> Any:
    import numpy as np  # noqa: PLC0415
    import pandas as pd  # noqa: PLC0415

    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, pd.DataFrame):
        return value.to_dict(orient="records")
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form.")
