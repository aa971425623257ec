"""Cases of a training on this machine, with the tables of whoever is asked.

`HorizontalCases` needs nobody but its own party. `VerticalCases` asks the other parties of the run, each of which
brings its columns.
"""

from __future__ import annotations

import hashlib
import threading
import warnings
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dcshap import Explanation, Schema, VerticalCollaboration, disagreement
from dcshap._typing import FloatArray
from dcshap.collaboration.horizontal_party import HorizontalParty
from dcshap.collaboration.records import identifiers
from dcshap.desk.cases import Cases, Changes, Compared, Outputs, Stated, changed_row
from dcshap.exceptions import DcshapWarning, InputError, StorageError
from dcshap.explanation import PartyExplanation
from dcshap.explanation.receipt import Receipt, Signer, receipt_of
from dcshap.explanation.receipt.commitments import OPENING, grouped
from dcshap.explanation.reference import BACKGROUND, reference_rows
from dcshap.explanation.rows import explain_rows

__all__ = ["HorizontalCases", "Source", "VerticalCases", "folded"]

N_CONTROLS = 10


@dataclass(frozen=True)
class Source:
    """A training that may be done again while the desk is open."""

    load: Callable[[], Any]  # reads the collaboration, or whatever has its parties as `parties_`
    stamp: Callable[[], Hashable]  # something that differs once it was written again


class _RunCases(Cases):
    """What both kinds have in common: tables at hand, and a training that is read again when it was done again."""

    def __init__(self, source: Source, party: str, own: pd.DataFrame, *, signer: Signer | None = None) -> None:
        self.party, self._source, self._signer = party, source, signer
        self._table = own.set_axis(pd.Index(identifiers(own)))
        self._position = {record: at for at, record in enumerate(self._table.index)}
        self._lock = threading.RLock()  # one explanation at a time: they use all there is of a core
        self._loading = threading.RLock()  # apart, so that what was explained before is shown meanwhile
        self._stamp: Hashable = None
        self._trained: Any = None
        self._predictions: FloatArray | None = None
        parties = self._current().parties_
        if party not in parties:
            raise InputError(f"The party must be one of {list(parties)}. Got {party!r}.")
        self.organisations = tuple(name for name in parties if name != party)

    def _current(self) -> Any:
        with self._loading:
            try:
                stamp = self._source.stamp()
                if self._trained is None or stamp != self._stamp:
                    self._trained, self._stamp, self._predictions = self._source.load(), stamp, None
            except OSError as error:
                raise StorageError("The run cannot be read now: it may be being written. Try again.") from error
            return self._trained

    @property
    def run(self) -> str:
        return str(self._current().parties_[self.party].run)

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(map(str, getattr(self._model(), "classes_", ())))

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
            self._current()
            if self._predictions is None:
                self._predictions = self._predicted()
            return self._predictions

    def receipt(self, record: str, explanation: PartyExplanation, *, opening: str) -> Receipt:  # noqa: ARG002
        return receipt_of(self._current().parties_[self.party], explanation, opening=opening, signer=self._signer)

    def _stated(self, party: Any, explanation: PartyExplanation) -> Stated:
        """An explanation with its receipt, signed with the key that the party keeps unless there is another."""
        return Stated(explanation, receipt_of(party, explanation, signer=self._signer))

    def answer(self, record: str) -> tuple[float, ...]:
        return tuple(float(value) for value in self.predictions()[self._position[record]])

    def decided(self) -> Outputs:
        return self._outputs

    @abstractmethod
    def _model(self) -> Any: ...

    @abstractmethod
    def _predicted(self) -> FloatArray: ...

    @abstractmethod
    def _outputs(self, record: str, rows: pd.DataFrame) -> FloatArray: ...


class HorizontalCases(_RunCases):
    """Cases of a party that holds all columns of its own people.

    Parameters
    ----------
    source : Source
        Of a HorizontalCollaboration, or of this party alone.
    party : str
    table : DataFrame of shape (n, M)
        Its index has the identifiers.
    signer : Signer, optional
        Signs receipts; by default with the key that the party keeps.
    organisations : sequence of str, optional
        The other parties, where the source has not all of them.
    authority : str, optional
        As in `Cases`.
    """

    kind = "horizontal"
    references = ("anchor", "background")

    def __init__(
        self,
        source: Source,
        party: str,
        table: pd.DataFrame,
        *,
        signer: Signer | None = None,
        organisations: Sequence[str] = (),
        authority: str | None = None,
    ) -> None:
        super().__init__(source, party, table, signer=signer)
        self.organisations = tuple(organisations) or self.organisations
        self.authority = authority

    def _party(self) -> HorizontalParty:
        party: HorizontalParty = self._current().parties_[self.party]
        return party

    def _model(self) -> Any:
        return self._party().model_

    def _predicted(self) -> FloatArray:
        return _answers(self._party().predict_proba, self._party().predict, self._model(), self._table)

    def _outputs(self, record: str, rows: pd.DataFrame) -> FloatArray:  # noqa: ARG002 - all columns are in the rows
        party = self._party()
        with self._lock:
            return _answers(party.predict_proba, party.predict, party.model_, rows)

    def explain(self, record: str, *, reference: str, view: str | None = None) -> Stated:
        """Explain one case; by default as this party sees it."""
        if view not in (None, self.party):
            raise InputError("All features of this case are at this desk: nobody else needs to be asked.")
        return self._explained(self.row(record), reference)

    def explain_changed(self, record: str, row: pd.DataFrame, changes: Changes, *, reference: str) -> Stated:  # noqa: ARG002
        """Explain a case as if some own cells of its row were others."""
        return self._explained(changed_row(row, self.schema, changes), reference)

    def _explained(self, rows: pd.DataFrame, reference: str) -> Stated:
        party = self._party()
        with self._lock, _quietly():
            explained = explain_rows(party, rows, reference=reference)
        return self._stated(party, explained)

    def agreement(self, records: Sequence[str]) -> Compared | None:
        """How far the parties' explanations of these cases differ; None where the others are not on this machine."""
        rows, parties = self._table.loc[list(records)], self._current().parties_
        if len(parties) < 2:
            return None
        with self._lock, _quietly():
            return Compared(disagreement({name: explain_rows(each, rows) for name, each in parties.items()}))

    def controls(self) -> list[Receipt]:
        """Receipts of some rows of the synthetic population, which every party draws from the agreed seed."""
        party = self._party()
        with self._lock, _quietly():
            explained = explain_rows(party, reference_rows(party, BACKGROUND, N_CONTROLS))
        openings = [_control_opening(party.run, at) for at in range(len(explained))]
        return [
            receipt_of(party, explained, sample=at, opening=opening, signer=self._signer)
            for at, opening in enumerate(openings)
        ]


def _control_opening(run: str, at: int) -> str:
    """The same at every party: a synthetic case is nobody's, so nothing needs to be hidden from those who have it."""
    return grouped(hashlib.sha256(f"dcshap control {at} of {run}".encode()).digest()[:OPENING])


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
    references = ("anchor", "background")

    def __init__(self, source: Source, party: str, tables: Mapping[str, pd.DataFrame]) -> None:
        if party not in tables:
            raise InputError(f"The party must be one of {list(tables)}. Got {party!r}.")
        self._tables = {name: table.set_axis(pd.Index(identifiers(table))) for name, table in tables.items()}
        common = [r for r in self._tables[party].index if all(r in table.index for table in self._tables.values())]
        if not common:
            raise InputError("The parties' tables must have records in common. They have none.")
        self._tables = {name: table.loc[common] for name, table in self._tables.items()}
        super().__init__(source, party, self._tables[party])

    def _model(self) -> Any:
        return self._current().analyst_.model_

    def _predicted(self) -> FloatArray:
        run = self._current()
        return _answers(run.predict_proba, run.predict, self._model(), self._tables)

    def _outputs(self, record: str, rows: pd.DataFrame) -> FloatArray:
        with self._lock:
            run = self._current()
            found = _answers(run.predict_proba, run.predict, self._model(), self._with_own(rows, record))
            run.sent_.clear()
            return found

    def explain(self, record: str, *, reference: str, view: str | None = None) -> Stated:
        """Explain one case; by default as this party sees it."""
        brought = {name: table.loc[[record]] for name, table in self._tables.items()}
        return self._view(brought, view or self.party, reference)

    def explain_changed(self, record: str, row: pd.DataFrame, changes: Changes, *, reference: str) -> Stated:
        """Explain a case as if some own cells of its row were others; what the other parties hold stays."""
        own = changed_row(row, self.schema, changes)
        return self._view(self._with_own(own, record), self.party, reference)

    def _with_own(self, rows: pd.DataFrame, record: str) -> dict[str, pd.DataFrame]:
        """Every party's columns of a case, once for each row of this party's."""
        numbered = pd.Index([f"{record} {at}" for at in range(len(rows))])
        others = {name: table.loc[[record] * len(rows)] for name, table in self._tables.items()}
        return {name: table.set_axis(numbered) for name, table in (others | {self.party: rows}).items()}

    def _view(self, brought: Mapping[str, pd.DataFrame], view: str, reference: str) -> Stated:
        with self._lock, _quietly():
            run: VerticalCollaboration = self._current()
            explained: PartyExplanation = run.explain(brought, view=view, index="owen", reference=reference)
            run.sent_.clear()  # what travels for every view would fill the memory in time
        return self._stated(run.parties_[self.party], explained)

    def agreement(self, records: Sequence[str]) -> Compared:
        """How far the parties' views differ in what they say of each party's columns together."""
        brought = {name: table.loc[list(records)] for name, table in self._tables.items()}
        with self._lock, _quietly():
            run = self._current()
            views = {name: run.explain(brought, view=name, index="owen") for name in run.parties_}
            run.sent_.clear()
        return Compared(disagreement({name: folded(view) for name, view in views.items()}))


def folded(view: PartyExplanation) -> Explanation:
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


def _answers(probabilities: Callable[[Any], Any], numbers: Callable[[Any], Any], model: Any, X: Any) -> FloatArray:
    """The model's answers (n, K): classes' probabilities, or a number."""
    with _quietly():
        if hasattr(model, "predict_proba"):
            return np.asarray(probabilities(X), dtype=np.float64)
        return np.asarray(numbers(X), dtype=np.float64).reshape(-1, 1)


class _quietly(warnings.catch_warnings):  # noqa: N801 - used as a statement
    """Warnings about ranges and references are for whoever trains; an officer can do nothing about them."""

    def __enter__(self) -> Any:
        entered = super().__enter__()
        warnings.simplefilter("ignore", DcshapWarning)
        return entered
