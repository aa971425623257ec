"""Dates as numbers: days since a date that the schema names.

Dates are read as dates of a table, or as text that can be read in one way only: `2024-03-31`, also with a time,
`2024/03/31` and `31.03.2024`. What `03/04/2024` means depends on who wrote it, so it is no date.
"""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd

from dcshap._typing import FloatArray
from dcshap.exceptions import SchemaError

__all__ = ["SINCE", "as_days", "date_of", "day_of", "holds_ambiguous_dates", "holds_dates"]

SINCE = "1970-01-01"
_DAY = np.timedelta64(1, "D")
_ISO = r"\s*\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?\s*"
_SLASHED = r"\s*\d{4}/\d{2}/\d{2}\s*"
_DOTTED = r"\s*\d{1,2}\.\d{1,2}\.\d{4}\s*"
_AMBIGUOUS = r"\s*\d{1,2}[/-]\d{1,2}[/-]\d{2,4}(?: .*)?\s*"
_FORMATS = {_ISO: "ISO8601", _SLASHED: "%Y/%m/%d", _DOTTED: "%d.%m.%Y"}


def holds_dates(values: pd.Series[Any]) -> bool:
    """Whether all values of a column, missing ones aside, are dates."""
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return bool(values.notna().any())
    given = _objects(values)
    if given is None or not all(isinstance(value, str | datetime.date) for value in given.iloc[:20]):
        return False
    if isinstance(given.iloc[0], str) and not any(_matches(given.iloc[:1], form) for form in _FORMATS):
        return False
    return not np.isnan(as_days(given)).any()


def holds_ambiguous_dates(values: pd.Series[Any]) -> bool:
    """Whether all values of a column, missing ones aside, are text like `03/04/2024`."""
    given = _objects(values)
    return given is not None and all(isinstance(value, str) for value in given) and _matches(given, _AMBIGUOUS)


def as_days(values: pd.Series[Any], since: str = SINCE) -> FloatArray:
    """Days (n,) since a date, parts of a day as fractions; NaN for a value that is missing or no date."""
    start = np.datetime64(since, "us")
    if not pd.api.types.is_datetime64_any_dtype(values.dtype):
        values = _parsed(values)
    if isinstance(values.dtype, pd.DatetimeTZDtype):
        values = values.dt.tz_convert("UTC").dt.tz_localize(None)
    moments = values.to_numpy().astype("datetime64[us]")
    return np.where(np.isnat(moments), np.nan, (moments - start) / _DAY)


def date_of(days: float, since: str = SINCE) -> str:
    """The date, in ISO form, so many days after another; with the time where it is not midnight."""
    moment = np.datetime64(since, "us") + np.timedelta64(round(days * 86_400_000_000), "us")
    day = moment.astype("datetime64[D]")
    return str(day if moment == day else moment.astype("datetime64[s]"))


def day_of(date: Any, since: str = SINCE) -> float:
    """Days from one date to another, given in ISO form or as YAML reads it."""
    text = date.isoformat() if isinstance(date, datetime.date) else date
    if not isinstance(text, str):
        raise SchemaError("A date must be written as YYYY-MM-DD. Got something else.")
    days = float(as_days(pd.Series([text]), since)[0])
    if np.isnan(days):
        raise SchemaError("A date must be written as YYYY-MM-DD. Got other text.")
    return days


def _objects(values: pd.Series[Any]) -> pd.Series[Any] | None:
    """The values that are not missing, of a column of text or objects; None of any other, and where there are none."""
    if isinstance(values.dtype, pd.CategoricalDtype) or pd.api.types.is_numeric_dtype(values.dtype):
        return None
    given = values.dropna()
    return given if len(given) else None


def _matches(text: pd.Series[Any], form: str) -> bool:
    return bool(text.astype(str).str.fullmatch(form).all())


def _parsed(values: pd.Series[Any]) -> pd.Series[Any]:
    """Text and date objects as moments, without time zone; NaT where a value is none."""
    text = pd.Series([_as_text(value) for value in values], index=values.index, dtype=object)
    found = pd.Series(np.datetime64("NaT", "us"), index=text.index, dtype="datetime64[us]")
    for form, layout in _FORMATS.items():
        fits = text.notna() & text.astype(str).str.fullmatch(form)
        if fits.any():
            moments = pd.to_datetime(text[fits].str.strip(), format=layout, errors="coerce", utc=True)
            found[fits] = moments.dt.tz_localize(None).astype("datetime64[us]")
    return found


def _as_text(value: Any) -> str | None:
    if isinstance(value, datetime.date) and not pd.isna(value):
        return value.isoformat()
    return value if isinstance(value, str) else None
