"""Columns of numbers that are written for people: decimal commas, thousands, percent and currency signs."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
import pandas as pd

__all__ = ["Comma", "are_thousands", "is_text", "with_numbers"]

Comma = Literal["decimal", "thousands"]

_GROUPS = r"[1-9]\d{{0,2}}(?:[{marks}]\d{{3}})+"
_PLAIN = r"[+-]?(?:{groups}|\d+)(?:{point}\d+)?"
# What a comma means in a number, and how such numbers look.
_NUMBERS: dict[Comma, re.Pattern[str]] = {
    "decimal": re.compile(_PLAIN.format(groups=_GROUPS.format(marks=r".\s'’"), point=",")),
    "thousands": re.compile(_PLAIN.format(groups=_GROUPS.format(marks=r",\s'’"), point=r"\.")),
}
_UNIT = r"%|‰|[€$£¥]|CHF|EUR|USD|GBP|JPY"
_WITH_UNIT = re.compile(rf"(?P<sign>[+-]?)\s*(?P<before>{_UNIT})?\s*(?P<number>[^%‰€$£¥A-Z]+?)\s*(?P<after>{_UNIT})?")
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?")
_DIGITS = re.compile(r"[+-]?\d*\.?\d*")
_THOUSANDS = re.compile(r"[+-]?(?:[1-9]\d{0,2}(?:\.\d{3})+|\d{1,3})")


def is_text(values: pd.Series[Any]) -> bool:
    """Whether a column holds neither numbers nor truth values."""
    return not (pd.api.types.is_numeric_dtype(values.dtype) or pd.api.types.is_bool_dtype(values.dtype))


def with_numbers(table: pd.DataFrame, comma: Comma | None) -> tuple[pd.DataFrame, list[str]]:
    """The table with such columns as numbers, and the names of those that had more than decimal commas and points.

    A percentage stays what it is written as: 12 % is 12. A column with several units stays text, and so does one whose
    commas may mean two things, unless `comma` says which.
    """
    found, noted = {}, []
    for name in [name for name in table.columns if is_text(table[name])]:
        given = table[name].dropna()
        if not all(isinstance(value, str) for value in given) or all(map(_DIGITS.fullmatch, given)):
            continue  # plain digits that somebody keeps as text are identifiers or codes
        numbers = _numbers(given.str.strip(), comma)
        if numbers is not None:
            found[name] = numbers.reindex(table.index)
            if comma != "decimal" or not all(_DECIMAL_COMMA.fullmatch(value.strip()) for value in given):
                noted.append(str(name))
    return (table.assign(**found) if found else table), noted


def are_thousands(text: pd.Series[Any]) -> bool:
    """Whether numbers as they stand in a file that has decimal commas are whole, with points between thousands."""
    given = [value.strip() for value in text.dropna()]
    return any("." in value for value in given) and all(_THOUSANDS.fullmatch(value) for value in given)


def _numbers(text: pd.Series[Any], comma: Comma | None) -> pd.Series[Any] | None:
    """The numbers of a column of text; None where it holds anything else, or several units."""
    split, units = [], set()
    for value in text:
        parts = _WITH_UNIT.fullmatch(value)
        units.add(None if parts is None else (parts["before"], parts["after"]))
        if parts is None or len(units) > 1:
            return None
        split.append(parts["sign"] + parts["number"])
    kinds = [kind for kind, number in _NUMBERS.items() if all(map(number.fullmatch, split))]
    kinds = [comma] if comma in kinds else kinds
    if not kinds or (len(kinds) > 1 and any("." in number or "," in number for number in split)):
        return None
    point = "," if kinds[0] == "decimal" else "."
    kept = [re.sub(rf"[^\d{re.escape(point)}+-]", "", number).replace(point, ".") for number in split]
    return pd.Series(kept, index=text.index).astype(np.float64)
