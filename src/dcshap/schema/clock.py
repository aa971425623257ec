"""Times of day as numbers: minutes since midnight.

Times are read as times of a table, or as text: `14:05`, `14:05:30` and `2:05 pm`. 24:00 is the end of a day.
"""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd

from dcshap._typing import FloatArray
from dcshap.exceptions import SchemaError

__all__ = ["DAY", "as_minutes", "clock_of", "holds_times", "minute_of"]

DAY = 1440.0  # minutes
_FORM = r"\s*(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?\s*(?:([ap])\.?m\.?)?\s*"


def holds_times(values: pd.Series[Any]) -> bool:
    """Whether all values of a column, missing ones aside, are times of day."""
    if values.dtype != object and not isinstance(values.dtype, pd.StringDtype):
        return False
    given = values.dropna()
    if not len(given) or np.isnan(as_minutes(given.iloc[:1])).any():
        return False
    return not np.isnan(as_minutes(given)).any()


def as_minutes(values: pd.Series[Any]) -> FloatArray:
    """Minutes (n,) since midnight, seconds as fractions; NaN for a value that is missing or no time of day."""
    text = pd.Series([_as_text(value) for value in values], dtype=object)
    found = text.str.lower().str.extract(f"^{_FORM}$")
    hours, minutes, seconds = (pd.to_numeric(found[at], errors="coerce").to_numpy(np.float64) for at in range(3))
    half = found[3].fillna("").to_numpy()
    sound = np.where(half == "", hours <= 24, (hours >= 1) & (hours <= 12)) & (minutes < 60)
    seconds = np.nan_to_num(seconds)
    hours = np.where(half == "", hours, hours % 12 + 12 * (half == "p"))
    total = 60 * hours + minutes + seconds / 60
    return np.where(sound & (seconds < 60) & (total <= DAY), total, np.nan)


def clock_of(minutes: float) -> str:
    """The time of day so many minutes after midnight, with seconds where there are any."""
    whole = round(minutes * 60)
    text = f"{whole // 3600:02d}:{whole // 60 % 60:02d}"
    return text if whole % 60 == 0 else f"{text}:{whole % 60:02d}"


def minute_of(time: Any) -> float:
    """Minutes from midnight to a time that is written as text; YAML takes 14:05 without quotation marks for 845."""
    minutes = float(as_minutes(pd.Series([time], dtype=object))[0]) if isinstance(time, str) else np.nan
    if np.isnan(minutes):
        raise SchemaError("A time of day must be written as 'HH:MM', in quotation marks. Got something else.")
    return minutes


def _as_text(value: Any) -> str:
    if isinstance(value, datetime.time) and value.tzinfo is None:
        return value.isoformat()
    return value if isinstance(value, str) else ""
