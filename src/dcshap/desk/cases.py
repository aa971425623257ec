"""Where cases come from, and what a desk may ask about them: `onsite` and `federated` answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dcshap import Disagreement, Schema
from dcshap._typing import FloatArray
from dcshap.exceptions import InputError
from dcshap.explanation import PartyExplanation
from dcshap.explanation.receipt import Receipt
from dcshap.schema.columns import Number

__all__ = ["Cases", "Stated", "UnknownCaseError"]

Changes = Mapping[str, str]


class UnknownCaseError(InputError):
    """Whoever was asked has no such case."""


@dataclass(frozen=True)
class Stated:
    """An explanation, and the receipt that its party signed of it; None where it signed none."""

    explanation: PartyExplanation
    receipt: Receipt | None


class Cases(ABC):
    """The cases of one organisation, and how their predictions are explained.

    Attributes
    ----------
    party : str
        Whose desk this is.
    kind : str
        "horizontal", "vertical" or "federation".
    organisations : tuple of str
        The other parties.
    references : tuple of str
        What a case can be compared with; the first is the default.
    can_change : bool
        Whether own features can be changed to see what would be.
    asks_at_once : bool
        Whether another party's view can be asked for from here, and is answered by its own rules.
    """

    party: str
    kind: str
    organisations: tuple[str, ...]
    references: tuple[str, ...] = ("anchor",)
    can_change: bool = False
    asks_at_once: bool = False

    @property
    @abstractmethod
    def run(self) -> str:
        """The training whose model is used now."""

    @abstractmethod
    def records(self) -> Sequence[str]:
        """The identifiers of all cases that can be listed."""

    @abstractmethod
    def knows(self, record: str) -> bool:
        """Whether there is such a case, as far as can be told without asking anybody."""

    @abstractmethod
    def predictions(self) -> FloatArray | None:
        """The model's answers (n, K) to all cases that are listed; None where they are not known in advance."""

    @abstractmethod
    def answer(self, record: str) -> tuple[float, ...]:
        """The model's own answer to one case; empty where only an explanation can tell."""

    @abstractmethod
    def explain(self, record: str, *, reference: str, view: str | None = None) -> Stated:
        """Explain one case; by default as this party sees it."""

    @property
    def output_names(self) -> tuple[str, ...]:
        """The model's outputs, where they are known in advance."""
        return ()

    @property
    def schema(self) -> Schema | None:
        """The own columns, where they are known."""
        return None

    def row(self, record: str) -> pd.DataFrame | None:  # noqa: ARG002 - a source may have no rows at hand
        """The own columns of a case, as a table of one row."""
        return None

    def explain_rows(self, rows: pd.DataFrame, record: str, *, reference: str) -> Stated:  # noqa: ARG002
        """Explain a case as if its own columns were these, a table of one row."""
        raise InputError("Here the desk has no own columns at hand that could be changed.")

    def outputs(self, rows: pd.DataFrame, record: str) -> FloatArray:  # noqa: ARG002
        """The model's answers (n, K) to a case as if its own columns were these rows."""
        raise InputError("Here the desk has no own columns at hand that could be changed.")

    @abstractmethod
    def receipt(self, record: str, explanation: PartyExplanation, *, opening: str) -> Receipt | None:
        """A receipt of an explanation that was shown before, under the opening of another organisation's receipt."""

    def state(self) -> list[tuple[str, str]]:
        """What there is to tell of the other parties and the model: names and values."""
        return [("other parties", ", ".join(self.organisations))]

    def agreement(self, records: Sequence[str]) -> Disagreement | None:  # noqa: ARG002
        """How far the parties' explanations of these cases differ; None where that cannot be asked from here."""
        return None

    def changed(self, record: str, changes: Changes) -> pd.DataFrame:
        """The row of a case with some cells changed, as people type them.

        Raises
        ------
        InputError
            If a column is unknown, or a value is not within the schema.
        """
        row, schema = self.row(record), self.schema
        if row is None or schema is None:
            raise InputError("Here the desk has no own columns at hand that could be changed.")
        cells = {name: row[name].iloc[0] for name in schema.names}
        cells |= {name: _value(schema, name, text) for name, text in changes.items()}
        return pd.DataFrame({name: [cell] for name, cell in cells.items()}, index=row.index)


def _value(schema: Schema, name: str, text: str) -> Any:
    column = schema[name]
    if isinstance(column, Number):
        try:
            number = float(text.replace(",", ""))
        except ValueError:
            raise InputError(f"{name!r} must be a number.") from None
        if not column.low <= number <= column.high:
            raise InputError(f"{name!r} must be from {column.low:g} to {column.high:g}, as the parties agreed.")
        return number
    for label in column.categories:
        if str(label) == text:
            return label
    raise InputError(f"{name!r} must be one of the categories that the parties agreed on.")
