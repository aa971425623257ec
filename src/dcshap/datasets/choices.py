"""The options that several loaders share."""

from __future__ import annotations

from typing import Literal, get_args

from dcshap.exceptions import InputError

__all__ = ["Source", "Subset", "Zeros", "check_option"]

Source = Literal["embedded", "published"]
Subset = Literal["all", "train", "test"]
Zeros = Literal["keep", "missing"]


def check_option(parameter: str, value: object, options: object) -> None:
    """Refuse a value that is not among the options of a `Literal` type."""
    allowed = get_args(options)
    if value not in allowed:
        names = ", ".join(repr(option) for option in allowed)
        raise InputError(f"`{parameter}` must be one of {names}. Got {value!r} instead.")
