"""The public collaborations: training from `dcshap.collaboration`, and `explain`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Unpack

from dcshap.collaboration import HorizontalTraining, VerticalTraining
from dcshap.collaboration.training import ANALYST
from dcshap.collaboration.vertical_party import VerticalParty
from dcshap.exceptions import InputError
from dcshap.explanation import joint
from dcshap.explanation.disagreement import Disagreement, disagreement, sources_of
from dcshap.explanation.engine import EngineOptions
from dcshap.explanation.messages import Answer
from dcshap.explanation.reference import reference_of
from dcshap.explanation.rows import explain_rows
from dcshap.explanation.statement import PartyExplanation
from dcshap.explanation.views import disclose, explain_view, unite_views

__all__ = ["HorizontalCollaboration", "VerticalCollaboration"]

REQUESTER = "requester"


class HorizontalCollaboration(HorizontalTraining):  # noqa: D101 - inherited below
    __doc__ = HorizontalTraining.__doc__

    def explain(
        self, X: Any, *, party: str, reference: Any = "anchor", **options: Unpack[EngineOptions]
    ) -> PartyExplanation:
        """Explain one party's predictions of rows (n, M).

        Parameters
        ----------
        X : table of shape (n, M)
        party : str
            Whose maps to use; nobody else is asked.
        reference : {"anchor", "own", "mean", "medoid"} or row, default "anchor"
            What stands for "feature absent". `"anchor"`, Algorithm 2: the anchor's median, the same for all parties.
            `"own"`, Algorithm 1: the median of the party's own rows, as plain KernelSHAP has it; `"mean"` and
            `"medoid"` are other choices from its own rows. Or a given row.
        **options
            `method`, `max_evals`, `tol`, `batch_size`, `n_jobs`, `random_state`, `progress`, as in `shapley_values`.
        """
        return explain_rows(self._party(party), X, reference=reference, **options)

    def disagreement(
        self, X: Any, *, reference: Any = "anchor", threshold: float = 0.05, **options: Unpack[EngineOptions]
    ) -> Disagreement:
        """Explain rows at every party, and say how far the explanations differ, and why.

        Beside what `dcshap.disagreement` tells, every party's maps are tried with every other's reference, so that
        the difference can be split into what the references and what the maps make of it. That shows parties'
        references to each other: it is for an audit in one process.
        """
        self._require_fitted()
        own = {name: reference_of(party, reference) for name, party in self.parties_.items()}

        def explained(maps: str, reference_from: str) -> PartyExplanation:
            return explain_rows(self.parties_[maps], X, reference=own[reference_from], **options)

        straight = {name: explained(name, name) for name in own}
        return disagreement(straight, threshold=threshold, sources=sources_of(straight, explained))


class VerticalCollaboration(VerticalTraining):  # noqa: D101 - inherited below
    __doc__ = VerticalTraining.__doc__

    FULL: ClassVar[str] = "full"

    def explain(
        self,
        X: Mapping[str, Any],
        *,
        view: str = FULL,
        index: Literal["shapley", "owen"] = "shapley",
        merged: bool = False,
        reference: Any = "anchor",
        **options: Unpack[EngineOptions],
    ) -> PartyExplanation:
        """Explain the predictions of records, each party bringing its columns (n, M_i).

        | `view` | `index` | |
        |---|---|---|
        | `"full"` | `"shapley"` | Algorithm 3: all features, for a third party that holds the record |
        | a party | `"shapley"` | Algorithm 4: its features, and a "DC Features" bar per other party |
        | a party | `"owen"` | its party view: the same players, and agrees with all other views |
        | `"full"` | `"owen"` | the union of the party views |

        Parameters
        ----------
        X : mapping of party name to table (n, M_i)
            Of the same records, known by a DataFrame's index or by position.
        view : str, default "full"
        index : {"shapley", "owen"}, default "shapley"
        merged : bool, default False
            Algorithm 4 with one bar for all other parties together.
        reference : {"anchor", "own", "mean", "medoid"}, default "anchor"
            Each party's reference for its own columns.
        **options
            `method`, `max_evals`, `tol`, `batch_size`, `n_jobs`, `random_state`, `progress`, as in `shapley_values`.
        """
        X = self._same_order(X)
        if index not in ("shapley", "owen"):
            raise InputError(f"`index` must be 'shapley' or 'owen'. Got {index!r}.")
        if not isinstance(reference, str):
            raise InputError("In a vertical collaboration `reference` must be a kind: each party has its own columns.")
        if view != self.FULL:
            return self._view(view, X, index=index, merged=merged, reference=reference, options=options)
        if index == "owen":
            views = {
                name: self._view(name, X, index=index, merged=False, reference=reference, options=options)
                for name in self.parties_
            }
            answers = {name: self._deliver(name, REQUESTER, Answer(each)) for name, each in views.items()}
            return unite_views({name: answer.explanation for name, answer in answers.items()})
        parts = [
            self._deliver(name, ANALYST, joint.disclose_columns(party, X[name], reference=reference))
            for name, party in self.parties_.items()
        ]
        explained = joint.explain_all(self.analyst_, parts, **options)
        answer = self._deliver(ANALYST, REQUESTER, Answer(explained))
        held = [joint.record_part(party, X[name], reference=reference) for name, party in self.parties_.items()]
        return joint.with_parts(answer.explanation, held)

    def _view(
        self,
        view: str,
        X: Mapping[str, Any],
        *,
        index: str,
        merged: bool,
        reference: str,
        options: EngineOptions,
    ) -> PartyExplanation:
        party: VerticalParty = self._party(view)
        self._share_model()
        vectors = [
            self._deliver(name, view, disclose(other, X[name], reference=reference))
            for name, other in self.parties_.items()
            if name != view
        ]
        return explain_view(party, X[view], vectors, index=index, merged=merged, reference=reference, **options)

    def _share_model(self) -> None:
        """Give the parties their copy of the model, once, if all agree to what it contains."""
        for name, party in self.parties_.items():
            if party.shared_model_ is None:
                party.receive_model(self._deliver(ANALYST, name, self.analyst_.share_model()))

    def _same_order(self, X: Mapping[str, Any]) -> Mapping[str, Any]:
        """All parties' tables with their records in the order of the first."""
        self._require_records(X)
        first = next(iter(X.values()))
        if not hasattr(first, "index"):
            return X
        return {name: table.loc[first.index] if hasattr(table, "loc") else table for name, table in X.items()}
