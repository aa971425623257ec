"""Text beside numbers: tidy values, signed attributions, names that fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dcshap._tables import MISSING, plain_value

__all__ = ["MISSING", "column_texts", "decimals_for", "fixed", "listed", "plain_value", "shortened", "signed"]

LONGEST_NAME = 36
LONGEST_VALUE = 22


def decimals_for(scale: float) -> int | None:
    """How many decimals show three digits of a number as large as `scale`; None where only an exponent would do."""
    if not (math.isfinite(scale) and scale > 0):
        return 3
    # A whisker below a power of ten, so that 1.0 and what is just above it by rounding count as 0.999 does.
    decimals = max(0, 3 - math.ceil(math.log10(scale) - 1e-9))
    return decimals if decimals <= 8 and scale < 1e9 else None


def fixed(number: float, decimals: int | None) -> str:
    """A number with as many decimals as its neighbours; zero has no sign."""
    if decimals is not None:
        number = round(number, decimals) + 0.0
    return _minus(f"{number:.3g}" if decimals is None else f"{number:,.{decimals}f}")


def signed(number: float, decimals: int | None) -> str:
    """An attribution: `+0.120`, `−0.035`, and `0` where a feature contributes nothing at all."""
    if number == 0:
        return "0"
    text = fixed(number, decimals)
    return text if text.startswith("−") or not text.strip("0.") else f"+{text}"


def column_texts(values: Sequence[Any]) -> list[str]:
    """The cells of one column; numbers with the same decimals, and what is too small for them with an exponent."""
    numbers = [float(value) for value in values if isinstance(value, float | np.floating) and math.isfinite(value)]
    if not numbers or all(map(float.is_integer, numbers)):
        return [plain_value(value) for value in values]
    decimals = decimals_for(max(map(abs, numbers)))

    def text(value: Any) -> str:
        if not isinstance(value, float | np.floating) or not math.isfinite(value):
            return plain_value(value)
        shown = fixed(float(value), decimals)
        return _minus(f"{value:.1g}") if value != 0 and not shown.strip("0.") else shown

    return [text(value) for value in values]


def listed(items: Sequence[Any], *, longest: int = 160) -> str:
    """Items one after the other; where that gets too long, how many more there are."""
    text = ""
    for position, item in enumerate(items):
        further = f"{text}, {item}" if position else str(item)
        if position and len(further) > longest:
            return f"{text} and {len(items) - position} more"
        text = further
    return text


def shortened(text: str, longest: int = LONGEST_NAME) -> str:
    """A text of at most `longest` characters on one line; what is cut is cut from the middle, and shown as cut."""
    text = " ".join(text.split())
    if len(text) <= longest:
        return text
    head = longest // 2
    tail = longest - head - 1
    return f"{text[:head].rstrip()}…{text[len(text) - tail :].lstrip()}"


def _minus(text: str) -> str:
    return text.replace("-", "−")
