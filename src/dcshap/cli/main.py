"""The `dcshap` command: where its commands are gathered."""

from __future__ import annotations

import typer

from dcshap.cli.compare import compare
from dcshap.cli.console import ReadableErrors
from dcshap.cli.demo import demo
from dcshap.cli.explain import explain
from dcshap.cli.federation import federation
from dcshap.cli.fit import app as fit
from dcshap.cli.predict import predict
from dcshap.cli.reproduce import reproduce

__all__ = ["app"]

app = typer.Typer(
    name="dcshap",
    cls=ReadableErrors,
    help="Train one model on data that nobody may share, and get the same explanation of every prediction.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command()(demo)
app.add_typer(fit, name="fit")
app.command()(predict)
app.command()(explain)
app.command()(compare)
app.command()(reproduce)
app.add_typer(federation, name="federation")
