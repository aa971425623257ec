"""A search for secrets in messages: by their numbers, their bytes and their words, in whatever they are wrapped."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

Secrets = Mapping[tuple[str, str], list[Any]]  # by what it is and whose: arrays, whole numbers, texts and bytes


def parts_of(value: Any) -> Iterator[Any]:
    """Everything that something is made of: arrays of numbers, whole numbers, texts and bytes."""
    inside = _opened(value)
    if inside is not None:
        for part in inside:
            yield from parts_of(part)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "VSu":
        yield value.tobytes()
    else:
        yield np.array([value]) if isinstance(value, float) else value


def _opened(value: Any) -> list[Any] | None:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, entry.name) for entry in dataclasses.fields(value)]
    if isinstance(value, Mapping | pd.DataFrame):
        more = [value.index] if isinstance(value, pd.DataFrame) else []
        return [*value.keys(), *more, *(value[key] for key in value)]
    if isinstance(value, pd.Index | pd.Series | BaseEstimator):
        return [vars(value) if isinstance(value, BaseEstimator) else value.to_numpy()]
    if isinstance(value, np.ndarray) and value.dtype.kind in "OU":
        return list(value.ravel().tolist())
    if isinstance(value, str):
        return [json.loads(value)] if value.startswith("{") else None
    return list(value) if isinstance(value, list | tuple | set | frozenset) else None


def numbers_in(parts: list[Any]) -> np.ndarray:
    """All numbers that are not whole: those are counts and categories everywhere."""
    arrays = [part.ravel().astype(np.float64) for part in parts if isinstance(part, np.ndarray)]
    numbers = np.concatenate([np.empty(0), *arrays])
    return np.unique(numbers[np.isfinite(numbers) & (numbers % 1 != 0)])


def held_in(message: Any, secrets: Secrets) -> set[tuple[str, str]]:
    """Which secrets a message holds, as what they are and whose."""
    parts = list(parts_of(message))
    numbers, text = numbers_in(parts), b"\0".join(form for part in parts for form in _forms(part))
    return {
        key
        for key, secret in secrets.items()
        if _in_common(numbers_in(secret), numbers) or any(form in text for each in secret for form in _forms(each))
    }


def _in_common(one: np.ndarray, two: np.ndarray) -> bool:
    """Whether two sorted arrays have a number in common, but for the last digits."""
    if not len(one) or not len(two):
        return False
    at = np.searchsorted(two, one)
    near = [two[np.clip(at + step, 0, len(two) - 1)] for step in (0, -1)]
    return bool((np.abs(one - near) <= 1e-12 * np.abs(one)).any())


def _forms(part: Any) -> list[bytes]:
    """Text, bytes and large whole numbers in every form in which one of them could be written."""
    if isinstance(part, bytes):
        return [part, part.hex().encode()]
    if isinstance(part, str):
        return [part.encode()]
    if isinstance(part, int) and part > 2**32:
        size = (part.bit_length() + 7) // 8
        return [part.to_bytes(size, "big"), part.to_bytes(size, "little"), str(part).encode(), f"{part:x}".encode()]
    return []
