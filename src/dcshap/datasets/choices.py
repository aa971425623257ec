"""What several loaders share: their options, and what they return."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, get_args

import pandas as pd
from sklearn.utils import Bunch

from dcshap.exceptions import InputError

__all__ = ["Source", "Subset", "Zeros", "as_bunch", "check_option"]

Source = Literal["embedded", "published"]
Subset = Literal["all", "train", "test"]
Zeros = Literal["keep", "missing"]


def check_option(parameter: str, value: object, options: object) -> None:
    """Refuse a value that is not among the options of a `Literal` type."""
    allowed = get_args(options)
    if value not in allowed:
        names = ", ".join(repr(option) for option in allowed)
        raise InputError(f"`{parameter}` must be one of {names}. Got {value!r} instead.")


def as_bunch(data: pd.DataFrame, target: pd.Series, names: Iterable[Any], descr: str, **beside: pd.Series) -> Bunch:
    """Rows, labels, the classes' names and where it all comes from."""
    names = [str(name) for name in names]
    return Bunch(data=data, target=target, feature_names=list(data.columns), target_names=names, DESCR=descr, **beside)
