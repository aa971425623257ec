"""What functions have given that depend on their arguments alone, kept where somebody wants that.

A rehearsal does: it reads the same models, arrays and ledgers thousands of times. Everybody else calls the functions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import wraps
from typing import Any, ParamSpec, TypeVar

__all__ = ["recalled", "recalling"]

Given = ParamSpec("Given")
Found = TypeVar("Found")
_MOST = 4000  # results that are kept; then all of them are forgotten

_kept: dict[Hashable, Any] | None = None


@contextmanager
def recalling(kept: dict[Hashable, Any]) -> Iterator[None]:
    """Keep results there, for the whole process."""
    global _kept  # noqa: PLW0603 - one memory at a time, as there is one machine
    before, _kept = _kept, kept
    try:
        yield
    finally:
        _kept = before


def recalled(function: Callable[Given, Found], *, shared: bool = False) -> Callable[Given, Found]:
    """A function that takes what it has given before from memory.

    `shared` results are the same object every time: nobody must change them. Of others everybody gets a copy.
    """

    @wraps(function)
    def call(*args: Given.args, **named: Given.kwargs) -> Found:
        if _kept is None:
            return function(*args, **named)
        key = (function, args, *named.items())
        if key not in _kept:
            if len(_kept) >= _MOST:
                _kept.clear()
            _kept[key] = function(*args, **named)
        found: Found = _kept[key]
        return found if shared else deepcopy(found)

    return call
