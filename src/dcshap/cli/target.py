"""The column to predict: classes or numbers, and whether all parties spell them alike."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import typer

from dcshap.collaboration.labels import MANY_NUMBERS
from dcshap.exceptions import InputError
from dcshap.schema.kinds import alike, no_numbers, rows_text

__all__ = ["Spellings", "is_regression", "require_labels", "require_one_spelling"]


class Spellings:
    """Labels that mean another one, from options of the form OLD=NEW."""

    def __init__(self, entries: Sequence[str] | None) -> None:
        self._meant: dict[str, str] = {}
        for entry in entries or ():
            old, separator, new = entry.partition("=")
            if not (separator and old and new):
                raise typer.BadParameter("must be OLD=NEW, two labels.", param_hint="--labels")
            self._meant[old] = new

    def apply(self, labels: pd.Series[Any]) -> pd.Series[Any]:
        """Labels as they are meant; all of them as text where any is to be changed."""
        if not self._meant:
            return labels
        text = labels.map(_as_text, na_action="ignore")
        return text.map(lambda label: self._meant.get(label, label), na_action="ignore")


def _as_text(label: Any) -> str:
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def require_labels(labels: Mapping[str, pd.Series[Any]], *, target: str) -> None:
    """Refuse labels that are missing, saying in which rows."""
    for party, each in labels.items():
        missing = each.isna().to_numpy()
        if missing.any():
            raise InputError(
                f"The target {target!r} must not be missing. {party!r} lacks {int(missing.sum())} of {len(each)} "
                f"({rows_text(missing)}): drop these rows."
            )


def is_regression(labels: Mapping[str, pd.Series[Any]], *, target: str, asked: bool | None) -> bool:
    """Whether the target is a number to predict, as the user says, or as can be told.

    Raises
    ------
    InputError
        If it cannot be told, or if text is to be predicted as a number.
    """
    if asked:
        _require_numbers(labels, target)
        return True
    values = pd.concat(list(labels.values())).unique()
    numeric = all(pd.api.types.is_numeric_dtype(each.dtype) for each in labels.values())
    if asked is None and numeric and len(values) > MANY_NUMBERS:
        raise InputError(
            f"The target {target!r} holds {len(values)} different numbers. Say --regression to predict a number, or "
            f"--classes where each of them is a class."
        )
    return False


def _require_numbers(labels: Mapping[str, pd.Series[Any]], target: str) -> None:
    wrong = {party: no_numbers(each) for party, each in labels.items()}
    if any(mask.any() for mask in wrong.values()):
        said = "; ".join(
            f"{int(mask.sum())} of {len(mask)} at {party!r} ({rows_text(mask)})"
            for party, mask in wrong.items()
            if mask.any()
        )
        raise InputError(
            f"--regression predicts a number, so the target {target!r} must hold numbers. It holds text: {said}. Leave "
            f"--regression out to predict a class."
        )


def require_one_spelling(labels: Mapping[str, pd.Series[Any]], *, target: str) -> None:
    """Refuse classes that differ in capitals or blanks only: they are named on the screen of whoever has the files."""
    counts = {party: each.value_counts() for party, each in labels.items()}
    every = {(type(label) is str, label) for each in counts.values() for label in each.index}
    groups = alike(label for _, label in sorted(every, key=str))
    if groups:
        said = "; ".join(" and ".join(_spelled(label, counts) for label in group) for group in groups)
        raise InputError(
            f"The classes of the target {target!r} are spelled in different ways: {said}. Say which is meant, for "
            f"example by --labels {shlex.quote(f'{groups[0][0]}={groups[0][-1]}')}."
        )


def _spelled(label: Any, counts: Mapping[str, pd.Series[Any]]) -> str:
    kind = str if isinstance(label, str) else object
    found = {
        party: int(sum(n for each, n in counted.items() if each == label and isinstance(each, kind)))
        for party, counted in counts.items()
    }
    return f"{label!r} (" + ", ".join(f"{count} at {party!r}" for party, count in found.items() if count) + ")"
