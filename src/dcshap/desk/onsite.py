"""Cases of a training on this machine, with the tables of whoever is asked.

`VerticalCases` asks the other parties of the run, each of which brings its columns; `horizontal_cases` needs nobody.
"""

from __future__ import annotations

import threading
import warnings
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from dcshap import Explanation, Schema, VerticalCollaboration, disagreement
from dcshap._typing import FloatArray
from dcshap.collaboration.records import identifiers
from dcshap.desk.cases import Cases, Changes, Compared, Outputs, Stated, changed_row
from dcshap.exceptions import DcshapError, DcshapWarning, InputError, StorageError
from dcshap.explanation import PartyExplanation
from dcshap.explanation.receipt import Receipt, Signer, receipt_of

__all__ = ["RunCases", "Source", "VerticalCases", "answers", "folded", "quietly"]


@dataclass(frozen=True)
class Source:
    """A training that may be done again while the desk is open."""

    load: Callable[[], Any]  # reads the collaboration, or whatever has its parties as `parties_`
    stamp: Callable[[], Hashable]  # something that differs once it was written again


class RunCases(Cases):
    """What both kinds have in common: tables at hand, and a training that is read again when it was done again."""

    def __init__(self, source: Source, party: str, own: pd.DataFrame, *, signer: Signer | None = None) -> None:
        self.party, self._source, self._signer = party, source, signer
        self._table = own.set_axis(pd.Index(identifiers(own)))
        self._position = {record: at for at, record in enumerate(self._table.index)}
        self._lock = threading.RLock()  # one explanation at a time: they use all there is of a core
        self._signers: WeakKeyDictionary[Any, Signer] = WeakKeyDictionary()  # of a party's own key
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
        """The training whose model is used now."""
        return str(self._current().parties_[self.party].run)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The model's outputs."""
        return tuple(map(str, getattr(self._model(), "classes_", ())))

    @property
    def schema(self) -> Schema:
        """The agreed schema."""
        schema: Schema = self._current().parties_[self.party].agreement.schema
        return schema

    def records(self) -> Sequence[str]:
        """The identifiers of all cases."""
        return list(self._table.index)

    def knows(self, record: str) -> bool:
        """Whether there is such a case."""
        return record in self._position

    def row(self, record: str) -> pd.DataFrame:
        """The own columns of a case."""
        at = self._position[record]
        return self._table.iloc[[at]]

    def predictions(self) -> FloatArray:
        """The model's answers (n, K) to all cases."""
        with self._loading:
            self._current()
            if self._predictions is None:
                self._predictions = self._predicted()
            return self._predictions

    def prepare(self) -> None:
        """Hash the model, and compile what the engine needs: explain a case that nobody is shown."""
        with suppress(DcshapError):  # which whoever asks for that case is told
            self.predictions()
            self.explain(next(iter(self._position)), reference=self.references[0])

    def receipt(self, record: str, explanation: PartyExplanation, *, opening: str) -> Receipt:  # noqa: ARG002
        """A receipt of an explanation that was shown before."""
        party = self._current().parties_[self.party]
        return receipt_of(party, explanation, opening=opening, signer=self._signer_of(party))

    def _stated(self, party: Any, explanation: PartyExplanation) -> Stated:
        """An explanation with its receipt."""
        return Stated(explanation, receipt_of(party, explanation, signer=self._signer_of(party)))

    def _signer_of(self, party: Any) -> Signer:
        """Who signs: the given one, or the key that the party keeps."""
        if self._signer is not None:
            return self._signer
        if party not in self._signers:
            self._signers[party] = Signer.of_party(party)
        return self._signers[party]

    def answer(self, record: str) -> tuple[float, ...]:
        """The model's own answer to one case."""
        return tuple(float(value) for value in self.predictions()[self._position[record]])

    def decided(self) -> Outputs:
        """What tells the model's answers to a case as if its own columns were others."""
        return self._outputs

    @abstractmethod
    def _model(self) -> Any: ...

    @abstractmethod
    def _predicted(self) -> FloatArray: ...

    @abstractmethod
    def _outputs(self, record: str, rows: pd.DataFrame) -> FloatArray: ...


class VerticalCases(RunCases):
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
        return answers(run.predict_proba, run.predict, self._model(), self._tables)

    def _outputs(self, record: str, rows: pd.DataFrame) -> FloatArray:
        with self._lock:
            run = self._current()
            found = answers(run.predict_proba, run.predict, self._model(), self._with_own(rows, record))
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
        with self._lock, quietly():
            run: VerticalCollaboration = self._current()
            explained: PartyExplanation = run.explain(brought, view=view, index="owen", reference=reference)
            run.sent_.clear()  # what travels for every view would fill the memory in time
        return self._stated(run.parties_[self.party], explained)

    def agreement(self, records: Sequence[str]) -> Compared:
        """How far the parties' views differ in what they say of each party's columns together."""
        brought = {name: table.loc[list(records)] for name, table in self._tables.items()}
        with self._lock, quietly():
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


def answers(probabilities: Callable[[Any], Any], numbers: Callable[[Any], Any], model: Any, X: Any) -> FloatArray:
    """The model's answers (n, K): classes' probabilities, or a number."""
    with quietly():
        if hasattr(model, "predict_proba"):
            return np.asarray(probabilities(X), dtype=np.float64)
        return np.asarray(numbers(X), dtype=np.float64).reshape(-1, 1)


class quietly(warnings.catch_warnings):  # noqa: N801 - used as a statement
    """Warnings about ranges and references are for whoever trains; an officer can do nothing about them."""

    def __enter__(self) -> Any:
        entered = super().__enter__()
        warnings.simplefilter("ignore", DcshapWarning)
        return entered
