"""The options of the engine: what every way of asking for values can be told."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypedDict, TypeVar, get_args, get_type_hints

import numpy as np

from dcshap.exceptions import InputError

__all__ = ["EngineOptions", "Index", "MaxEvals", "Method", "Options", "RandomState", "spelled_out"]

Index = Literal["shapley", "owen"]
Method = Literal["auto", "exact", "sampled"]
MaxEvals = int | Literal["auto"]
RandomState = int | np.random.Generator | np.random.SeedSequence | None

# With `max_evals="auto"`: as many as an exact game of 13 players has, sampled 64 for each player but 2048 at least,
# and with `tol` up to eight times that.
_AUTO_EXACT = 1 << 13
_AUTO_SAMPLED_PER_PLAYER = 64
_AUTO_SAMPLED = 1 << 11
_AUTO_TOL_FACTOR = 8

# Rows of one call of the model: enough that calling costs nothing, and few enough that a layer of a hundred hidden
# units over them takes 26 MB.
_AUTO_BATCH = 1 << 15


class EngineOptions(TypedDict, total=False):
    """What `shapley_values`, and every `explain` that passes it on, can be told; `shapley_values` says what it means.

    `Options` has the defaults.
    """

    method: Method
    max_evals: MaxEvals
    tol: float | None
    batch_size: int | None
    n_jobs: int | None
    random_state: RandomState
    progress: bool


@dataclass(frozen=True)
class Options:
    """What was asked for; see `shapley_values`."""

    index: Index = "shapley"
    method: Method = "auto"
    max_evals: MaxEvals = "auto"
    tol: float | None = None
    batch_size: int | None = None
    n_jobs: int | None = None
    random_state: RandomState = None
    progress: bool = False

    def __post_init__(self) -> None:
        _check_choice("index", self.index, get_args(Index))
        _check_choice("method", self.method, get_args(Method))
        if self.max_evals != "auto":
            _check_positive("max_evals", self.max_evals, '"auto" or a whole number above 0')
        if self.batch_size is not None:
            _check_positive("batch_size", self.batch_size, "None or a whole number above 0")
        if self.tol is not None and not self.tol > 0:
            raise InputError(f"`tol` must be None or above 0. Got {self.tol!r}.")

    @property
    def rows_per_batch(self) -> int:
        """How many rows one call of the model may have."""
        return self.batch_size or _AUTO_BATCH

    def exact_budget(self) -> int:
        """How many evaluations a sample may take before `method="auto"` turns to sampling."""
        return _AUTO_EXACT if self.max_evals == "auto" else self.max_evals

    def sampled_budget(self, n_players: int) -> int:
        """How many evaluations sampling may take for a sample with this many players."""
        if self.max_evals != "auto":
            return self.max_evals
        budget = max(_AUTO_SAMPLED, _AUTO_SAMPLED_PER_PLAYER * n_players)
        return budget if self.tol is None else _AUTO_TOL_FACTOR * budget


def _check_choice(name: str, got: object, allowed: Sequence[str]) -> None:
    if got not in allowed:
        raise InputError(f"`{name}` must be one of {list(allowed)}. Got {got!r}.")


def _check_positive(name: str, got: object, wanted: str) -> None:
    if isinstance(got, bool) or not isinstance(got, int | np.integer) or got < 1:
        raise InputError(f"`{name}` must be {wanted}. Got {got!r}.")


Function = TypeVar("Function", bound=Callable[..., Any])


def spelled_out(function: Function) -> Function:
    """Show the engine's options, with their defaults, in the signature of a function that takes them as `**options`."""
    signature = inspect.signature(function)
    own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    defaults = {each.name: each.default for each in fields(Options)}
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=hint)
        for name, hint in get_type_hints(EngineOptions).items()
    ]
    function.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]  # PEP 362
    return function
