"""Cases of a run on this machine, with the tables of whoever is asked.

`HorizontalCases` needs nobody but its own party. `VerticalCases` asks the other parties of the run, each of which
brings its columns.
"""

from __future__ import annotations

import threading
import warnings
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dcshap import Disagreement, Explanation, HorizontalCollaboration, Schema, VerticalCollaboration, disagreement
from dcshap._typing import FloatArray
from dcshap.collaboration.records import identifiers
from dcshap.desk.cases import Cases, Stated
from dcshap.exceptions import DcshapWarning, InputError, StorageError
from dcshap.explanation import PartyExplanation
from dcshap.explanation.receipt import Receipt, receipt_of

__all__ = ["HorizontalCases", "Source", "VerticalCases"]


@dataclass(frozen=True)
class Source:
    """A run that may be trained again while the desk is open.

    Attributes
    ----------
    load : callable
        Reads the collaboration.
    stamp : callable
        Something that differs once it was written again.
    """

    load: Callable[[], Any]
    stamp: Callable[[], Hashable]


class _RunCases(Cases):
    """What both kinds of run have in common: tables at hand, and a run that is read again when it was trained again."""

    can_change = True

    def __init__(self, source: Source, party: str, own: pd.DataFrame) -> None:
        self.party, self._source = party, source
        self._table = own.set_axis(pd.Index(identifiers(own)))
        self._position = {record: at for at, record in enumerate(self._table.index)}
        self._lock = threading.RLock()  # one explanation at a time: they use all there is of a core
        self._loading = threading.RLock()  # apart, so that what was explained before is shown meanwhile
        self._stamp: Hashable = None
        self._collaboration: Any = None
        self._predictions: FloatArray | None = None
        collaboration = self._current()
        if party not in collaboration.parties_:
            raise InputError(f"The party must be one of {list(collaboration.parties_)}. Got {party!r}.")
        self.organisations = tuple(name for name in collaboration.parties_ if name != party)

    def _current(self) -> Any:
        with self._loading:
            try:
                stamp = self._source.stamp()
                if self._collaboration is None or stamp != self._stamp:
                    self._collaboration, self._stamp, self._predictions = self._source.load(), stamp, None
            except OSError as error:
                raise StorageError("The run cannot be read now: it may be being written. Try again.") from error
            return self._collaboration

    @property
    def run(self) -> str:
        return str(self._current().parties_[self.party].run)

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(map(str, getattr(self._current().analyst_.model_, "classes_", ())))

    @property
    def schema(self) -> Schema:
        schema: Schema = self._current().parties_[self.party].agreement.schema
        return schema

    def records(self) -> Sequence[str]:
        return list(self._table.index)

    def knows(self, record: str) -> bool:
        return record in self._position

    def row(self, record: str) -> pd.DataFrame:
        at = self._position[record]
        return self._table.iloc[[at]]

    def predictions(self) -> FloatArray:
        with self._loading:
            collaboration = self._current()
            if self._predictions is None:
                self._predictions = self._predicted(collaboration)
            return self._predictions

    def receipt(self, record: str, explanation: PartyExplanation, *, opening: str) -> Receipt:  # noqa: ARG002
        return receipt_of(self._current().parties_[self.party], explanation, opening=opening)

    def _stated(self, collaboration: Any, explanation: PartyExplanation) -> Stated:
        """An explanation with its receipt, signed with the key that the party keeps."""
        return Stated(explanation, receipt_of(collaboration.parties_[self.party], explanation))

    def answer(self, record: str) -> tuple[float, ...]:
        return tuple(float(value) for value in self.predictions()[self._position[record]])

    @abstractmethod
    def _predicted(self, collaboration: Any) -> FloatArray: ...


class HorizontalCases(_RunCases):
    """Cases of a party that holds all columns of its own people.

    Parameters
    ----------
    source : Source
        Of a HorizontalCollaboration.
    party : str
    table : DataFrame of shape (n, M)
        Its index has the identifiers.
    """

    kind = "horizontal"
    references = ("anchor", "background")

    def __init__(self, source: Source, party: str, table: pd.DataFrame) -> None:
        super().__init__(source, party, table)

    def _predicted(self, collaboration: HorizontalCollaboration) -> FloatArray:
        return _outputs(collaboration, self._table, party=self.party)

    def explain(self, record: str, *, reference: str, view: str | None = None) -> Stated:
        """Explain one case; by default as this party sees it."""
        if view not in (None, self.party):
            raise InputError("All features of this case are at this desk: nobody else needs to be asked.")
        return self.explain_rows(self.row(record), record, reference=reference)

    def explain_rows(self, rows: pd.DataFrame, record: str, *, reference: str) -> Stated:  # noqa: ARG002
        """Explain a case as if its own columns were these."""
        with self._lock, _quietly():
            collaboration = self._current()
            explained: PartyExplanation = collaboration.explain(rows, party=self.party, reference=reference)
        return self._stated(collaboration, explained)

    def outputs(self, rows: pd.DataFrame, record: str) -> FloatArray:  # noqa: ARG002
        """The model's answers (n, K) to a case as if its own columns were these rows."""
        with self._lock:
            return _outputs(self._current(), rows, party=self.party)

    def agreement(self, records: Sequence[str]) -> Disagreement:
        """How far the parties' explanations of these cases differ."""
        rows = self._table.loc[list(records)]
        with self._lock, _quietly():
            collaboration = self._current()
            return disagreement({name: collaboration.explain(rows, party=name) for name in collaboration.parties_})


class VerticalCases(_RunCases):
    """Cases whose columns lie with several parties.

    Parameters
    ----------
    source : Source
        Of a VerticalCollaboration.
    party : str
    tables : mapping of party to table (n, M_i)
        Of the same records.
    """

    kind = "vertical"

    def __init__(self, source: Source, party: str, tables: Mapping[str, pd.DataFrame]) -> None:
        if party not in tables:
            raise InputError(f"The party must be one of {list(tables)}. Got {party!r}.")
        self._tables = {name: table.set_axis(pd.Index(identifiers(table))) for name, table in tables.items()}
        common = [r for r in self._tables[party].index if all(r in table.index for table in self._tables.values())]
        if not common:
            raise InputError("The parties' tables must have records in common. They have none.")
        self._tables = {name: table.loc[common] for name, table in self._tables.items()}
        super().__init__(source, party, self._tables[party])

    def _predicted(self, collaboration: VerticalCollaboration) -> FloatArray:
        return _outputs(collaboration, self._tables)

    def explain(self, record: str, *, reference: str, view: str | None = None) -> Stated:
        """Explain one case; by default as this party sees it."""
        brought = {name: table.loc[[record]] for name, table in self._tables.items()}
        return self._view(brought, view or self.party, reference)

    def explain_rows(self, rows: pd.DataFrame, record: str, *, reference: str) -> Stated:
        """Explain a case as if its own columns were these."""
        return self._view(self._with_own(rows, record), self.party, reference)

    def outputs(self, rows: pd.DataFrame, record: str) -> FloatArray:
        """The model's answers (n, K) to a case as if its own columns were these rows."""
        with self._lock:
            collaboration = self._current()
            found = _outputs(collaboration, self._with_own(rows, record))
            collaboration.sent_.clear()
            return found

    def _with_own(self, rows: pd.DataFrame, record: str) -> dict[str, pd.DataFrame]:
        """Every party's columns of a case, once for each row of this party's."""
        numbered = pd.Index([f"{record} {at}" for at in range(len(rows))])
        others = {name: table.loc[[record] * len(rows)] for name, table in self._tables.items()}
        return {name: table.set_axis(numbered) for name, table in (others | {self.party: rows}).items()}

    def _view(self, brought: Mapping[str, pd.DataFrame], view: str, reference: str) -> Stated:
        with self._lock, _quietly():
            collaboration = self._current()
            explained: PartyExplanation = collaboration.explain(brought, view=view, index="owen", reference=reference)
            collaboration.sent_.clear()  # what travels for every view would fill the memory in time
        return self._stated(collaboration, explained)

    def agreement(self, records: Sequence[str]) -> Disagreement:
        """How far the parties' views differ in what they say of each party's columns together."""
        brought = {name: table.loc[list(records)] for name, table in self._tables.items()}
        with self._lock, _quietly():
            collaboration = self._current()
            views = {name: collaboration.explain(brought, view=name, index="owen") for name in collaboration.parties_}
            collaboration.sent_.clear()
        return disagreement({name: _folded(view) for name, view in views.items()})


def _folded(view: PartyExplanation) -> Explanation:
    """A party's view with one bar for every party, its own included, so that it can be laid beside another's."""
    at = {view.party or "": [view.feature_names.index(name) for name in view.own_features]}
    at |= {parties[0]: [view.feature_names.index(bar)] for bar, parties in view.bars.items()}
    names = tuple(sorted(at))
    return Explanation(
        values=np.stack([view.values[:, at[name]].sum(axis=1) for name in names], axis=1),
        base_values=view.base_values,
        feature_names=names,
        output_names=view.output_names,
        index=view.index,
        method=view.method,
        exact=view.exact,
        n_evals=view.n_evals,
        standard_errors=np.stack([view.standard_errors[:, at[name]].sum(axis=1) for name in names], axis=1),
        converged=view.converged,
    )


def _outputs(collaboration: Any, X: Any, **party: str) -> FloatArray:
    """The model's answers (n, K): classes' probabilities, or a number."""
    with _quietly():
        if hasattr(collaboration.analyst_.model_, "predict_proba"):
            return np.asarray(collaboration.predict_proba(X, **party), dtype=np.float64)
        return np.asarray(collaboration.predict(X, **party), dtype=np.float64).reshape(-1, 1)


class _quietly(warnings.catch_warnings):  # noqa: N801 - used as a statement
    """Warnings about ranges and references are for whoever trains; an officer can do nothing about them."""

    def __enter__(self) -> Any:
        entered = super().__enter__()
        warnings.simplefilter("ignore", DcshapWarning)
        return entered
