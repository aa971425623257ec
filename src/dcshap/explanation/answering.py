"""The roles while a vertical prediction is asked for or explained: each lives for one request.

The methods `send_…` and `receive_…` are their parts in the protocols for requests of `dcshap.protocol.steps`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from dcshap.collaboration.analyst import Analyst
from dcshap.collaboration.messages import RecordRepresentation
from dcshap.collaboration.party import FULL
from dcshap.collaboration.records import Records
from dcshap.collaboration.vertical_party import VerticalParty
from dcshap.exceptions import ProtocolError
from dcshap.explanation.disclosures import (
    Answer,
    CoalitionTable,
    Prediction,
    RecordOffsets,
    RecordPart,
    RecordVectors,
    Request,
)
from dcshap.explanation.enclosure import (
    Enclosure,
    enclosure_of,
    own_groups,
    require_columns,
    require_what_if,
    without_enclosure,
)
from dcshap.explanation.engine import EngineOptions
from dcshap.explanation.joint import disclose_columns, explain_all, record_part, with_parts
from dcshap.explanation.receipt import Signer, receipt_of
from dcshap.explanation.statement import PartyExplanation
from dcshap.explanation.views import disclose, explain_view, unite_views
from dcshap.schema.typed import code_typed
from dcshap.shapley.game.players import Groups

__all__ = ["AnsweringAnalyst", "AnsweringParty", "Asking"]


class AnsweringParty:
    """A vertical party that answers one request.

    Parameters
    ----------
    party : VerticalParty
    records : Records
        The party's columns of the records that are asked for.
    request : Request
    rows : table of shape (m, M_k), optional
        What to compare with, instead of what the request names.
    signer : Signer, optional
        Signs receipts; by default with the key that the party keeps.
    what_if : bool
        Whether the requester may have own cells of a record changed.
    **options
        As in `shapley_values`.
    """

    def __init__(
        self,
        party: VerticalParty,
        records: Records,
        request: Request,
        *,
        rows: Any = None,
        signer: Signer | None = None,
        what_if: bool = False,
        **options: Any,
    ) -> None:
        self._party, self._records, self._request, self._options = party, records, without_enclosure(request), options
        self._signer, self._what_if, self._enclosure = signer, what_if, Enclosure()
        self._groups: Groups | None = None
        self._against: dict[str, Any] = {
            "reference": request.reference if rows is None else rows,
            "n_background": request.n_background,
        }
        self._vectors: list[RecordVectors] = []

    def receive_request(self, message: Request) -> None:
        """The request itself."""
        self._require_same(without_enclosure(message))
        self._enclosure = enclosure_of(message)
        if self._enclosure.changes:
            require_what_if(message, self._party.name, allowed=self._what_if)
        self._groups = own_groups(message, self._party.agreement.schema.names, party=self._party.name)

    def send_forward(self, to: str) -> Request:  # noqa: ARG002 - everybody sees the same request
        """The request, for the parties whose vectors this party's view needs."""
        return self._request

    def receive_forward(self, message: Request) -> None:
        """Another party's view needs this one's vectors."""
        self._require_same(message)

    def _require_same(self, message: Request) -> None:
        if message != self._request:
            raise ProtocolError("All messages of a request must be about the same one. Another was forwarded.")

    def send_vectors(self, to: str) -> RecordVectors:  # noqa: ARG002
        """A vector per record, and of the reference, for another party's view; computed once for all of them."""
        return self._disclosed

    @cached_property
    def _disclosed(self) -> RecordVectors:
        return disclose(self._party, self._records, **self._against)

    def receive_vectors(self, message: RecordVectors) -> None:
        """Another party's vectors."""
        self._vectors.append(message)

    def send_answer(self, to: str) -> Answer:  # noqa: ARG002 - there is one requester
        """The explanation through this party's eyes, and its receipts."""
        explained = explain_view(
            self._party,
            self._changed_records(),
            self._vectors,
            index="owen" if self._request.protocol == "party views" else "shapley",
            merged=self._request.merged,
            groups=self._groups,
            **self._against,
            **self._options,
        )
        receipts = [
            receipt_of(self._party, explained, sample=at, opening=opening, signer=self._signer).to_json()
            for at, opening in enumerate(self._enclosure.openings)
        ]
        return Answer(self._party.name, explained, tuple(receipts))

    def _changed_records(self) -> Records:
        """The records with own cells as the requester wants them to be; others' vectors are of the record as it is."""
        if not self._enclosure.changes:
            return self._records
        schema = self._party.agreement.schema
        codes = self._records.codes.copy()
        for name, text in self._enclosure.changes.items():
            column = schema[name]
            codes[0, schema.columns.index(column)] = code_typed(column, text)
        return replace(self._records, codes=codes)

    def send_columns(self, to: str) -> RecordOffsets | CoalitionTable:  # noqa: ARG002
        """What each column adds, for the analyst."""
        return disclose_columns(self._party, self._records, groups=self._groups, **self._against)

    def send_part(self, to: str) -> RecordPart:  # noqa: ARG002
        """The record itself, for the requester."""
        return record_part(self._party, self._records, **self._against)

    def send_asked_records(self, to: str) -> RecordRepresentation:  # noqa: ARG002
        """The records' representation, for the analyst to predict."""
        return self._party.represent(self._records)


class AnsweringAnalyst:
    """The analyst, answering one request; with `probabilities`, a prediction is those of the classes.

    Options are as in `shapley_values`.
    """

    def __init__(self, analyst: Analyst, *, probabilities: bool = False, **options: Unpack[EngineOptions]) -> None:
        self._analyst, self._probabilities, self._options = analyst, probabilities, options
        self._columns: list[RecordOffsets | CoalitionTable] = []
        self._records: list[RecordRepresentation] = []

    def receive_columns(self, message: RecordOffsets | CoalitionTable) -> None:
        """What each of a party's columns adds."""
        self._columns.append(message)

    def send_values(self, to: str) -> Answer:
        """The explanation of all parties' features together."""
        return Answer(to, explain_all(self._analyst, self._columns, **self._options))

    def receive_asked_records(self, message: RecordRepresentation) -> None:
        """A party's representation of the records."""
        self._records.append(message)

    def send_prediction(self, to: str) -> Prediction:  # noqa: ARG002
        """What the model predicts of the records."""
        predicted = self._analyst.predict_records(self._records, probabilities=self._probabilities)
        classes = getattr(self._analyst.model_, "classes_", ()) if self._probabilities else ()
        return Prediction(np.asarray(predicted), tuple(str(label) for label in classes))


class Asking:
    """Whoever asks: sends the request, and makes one explanation of the answers.

    Features are shown in the order of the parties, after the groups of columns, where there are any.
    """

    def __init__(self, request: Request, parties: Sequence[str]) -> None:
        self.request, self._parties, self._groups = request, parties, enclosure_of(request).groups
        self._answers: dict[str, PartyExplanation] = {}
        self.receipts: dict[str, tuple[str, ...]] = {}
        self._parts: dict[str, RecordPart] = {}
        self._values: PartyExplanation | None = None
        self.prediction: Prediction | None = None

    def send_request(self, to: str) -> Request:  # noqa: ARG002 - everybody is asked the same
        """The request."""
        return self.request

    def receive_answer(self, message: Answer) -> None:
        """The explanation through one party's eyes."""
        self._answers[message.party] = message.explanation
        self.receipts[message.party] = message.receipts

    def receive_part(self, message: RecordPart) -> None:
        """One party's columns of the record."""
        self._parts[message.party] = message

    def receive_values(self, message: Answer) -> None:
        """The analyst's explanation of all features."""
        self._values = message.explanation

    def receive_prediction(self, message: Prediction) -> None:
        """The analyst's prediction."""
        self.prediction = message

    def explanation(self) -> PartyExplanation:
        """The explanation that was asked for, once all answers are there."""
        if self._values is not None:
            parts = [self._parts[name] for name in self._parties]
            require_columns(self._groups, [column for part in parts for column in part.data.columns])
            together = with_parts(self._values, parts, self._groups)
            return replace(together, reference_choice=self.request.reference)
        if self.request.view != FULL:
            return self._answers[self.request.view]
        views = {name: self._answers[name] for name in self._parties}
        require_columns(self._groups, [column for view in views.values() for column in view.data.columns])
        return unite_views(views)
