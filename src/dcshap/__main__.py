"""`python -m dcshap` is the same as `dcshap`."""

from dcshap.cli.main import app

app()
