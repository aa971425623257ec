"""Where cases come from, and what a desk may ask about them: `onsite` and `federated` answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from dcshap import Disagreement, Schema
from dcshap._typing import FloatArray
from dcshap.exceptions import InputError
from dcshap.explanation import PartyExplanation
from dcshap.explanation.receipt import Concordance, Receipt, compare
from dcshap.explanation.receipt.signature import Revoked
from dcshap.schema.typed import cell_of, code_typed

__all__ = ["Cases", "Changes", "Compared", "Outputs", "Stated", "UnknownCaseError", "changed_row"]

Changes = Mapping[str, str]  # cells by column, as people type them
Outputs = Callable[[str, pd.DataFrame], FloatArray]


class UnknownCaseError(InputError):
    """Whoever was asked has no such case."""


@dataclass(frozen=True)
class Stated:
    """An explanation, and the receipt that its party signed of it; None where it signed none."""

    explanation: PartyExplanation
    receipt: Receipt | None


@dataclass(frozen=True)
class Compared:
    """How far the parties' explanations of some cases differ."""

    disagreement: Disagreement
    signed: bool = False  # whether each party has signed what it says
    differences: tuple[str, ...] = ()  # what its receipts and another's do not prove to be the same, in sentences


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
    asks_at_once : bool
        Whether another party's view can be asked for from here, and is answered by its own rules.
    authority : str, optional
        The certificate of a federation's authority, as PEM: whoever signs receipts has a certificate of it.
    revoked : callable, optional
        Whether that authority has revoked a certificate.
    """

    party: str
    kind: str
    organisations: tuple[str, ...]
    references: tuple[str, ...] = ("anchor",)
    asks_at_once: bool = False
    authority: str | None = None
    revoked: Revoked | None = None

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

    def prepare(self) -> None:  # noqa: B027 - there may be nothing to do
        """Do now what the first view would wait for, as far as nobody has to be asked."""

    @property
    def output_names(self) -> tuple[str, ...]:
        """The model's outputs, where they are known in advance."""
        return ()

    @property
    def schema(self) -> Schema | None:
        """The agreed schema, where it is known; it may cover other parties' columns as well."""
        return None

    def row(self, record: str) -> pd.DataFrame | None:  # noqa: ARG002 - a source may have no rows at hand
        """The own columns of a case, as a table of one row."""
        return None

    @abstractmethod
    def explain_changed(self, record: str, row: pd.DataFrame, changes: Changes, *, reference: str) -> Stated:
        """Explain a case as if some own cells of its row were others."""

    def decided(self) -> Outputs | None:
        """What tells the model's answers (n, K) to a case as if its own columns were these rows (n, M).

        None where every answer would be a request to others: a search tries thousands.
        """
        return None

    def concordance(self, one: Receipt, other: Receipt) -> Concordance:
        """Whether two receipts state the same, each signed with a certificate that counts where there are such."""
        return compare(one, other, root=self.authority, revoked=self.revoked)

    @abstractmethod
    def receipt(self, record: str, explanation: PartyExplanation, *, opening: str) -> Receipt | None:
        """A receipt of an explanation that was shown before, under the opening of another organisation's receipt."""

    def state(self) -> list[tuple[str, str]]:
        """What there is to tell of the other parties and the model: names and values."""
        return [("other parties", ", ".join(self.organisations))]

    def agreement(self, records: Sequence[str]) -> Compared | None:  # noqa: ARG002
        """How far the parties' explanations of these cases differ; None where nobody can be asked about them."""
        return None

    def controls(self) -> list[Receipt]:
        """Receipts of synthetic cases that every party has, under openings that every party finds; none vertically."""
        return []


def changed_row(row: pd.DataFrame, schema: Schema, changes: Changes) -> pd.DataFrame:
    """A case's row with some cells changed, as people type them.

    Raises
    ------
    InputError
        If a column is unknown, or a value is not within the schema.
    """
    typed = {name: cell_of(schema[name], code_typed(schema[name], text)) for name, text in changes.items()}
    return pd.DataFrame({name: [typed.get(name, row[name].iloc[0])] for name in schema.names}, index=row.index)
