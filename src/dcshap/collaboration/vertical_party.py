"""A vertical party: it holds columns of its own, of the same records as every other party."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from dcshap._typing import FloatArray
from dcshap.collaboration.labels import as_labels
from dcshap.collaboration.messages import JoinReport, PseudonymKey, RecordLabels, RecordRepresentation, SharedModel
from dcshap.collaboration.party import Party
from dcshap.collaboration.records import Pseudonyms, Records, identifiers, pseudonyms
from dcshap.exceptions import InputError, NotFittedError
from dcshap.storage import State

__all__ = ["VerticalParty"]


class VerticalParty(Party):
    """A party with columns of its own.

    It `take`s its table first, and the labels where it holds them. The methods `send_…` and `receive_…` are its part in
    `dcshap.protocol.steps.training`; `dcshap.explanation.answering` has its part in answering requests.
    """

    kind: ClassVar[str] = "vertical party"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._key: bytes | None = None
        self._records: Records | None = None
        self._labels: tuple[list[str], Any] | None = None
        self.joined_: JoinReport | None = None
        self.shared_model_: SharedModel | None = None

    # --- the key of the pseudonyms ------------------------------------------------------------------------

    def send_pseudonym_key(self, to: str) -> PseudonymKey:  # noqa: ARG002 - all are sent the same
        """The key of the pseudonyms, from the party that leads; drawn now unless the party has one."""
        if self._key is None:
            self._key = secrets.token_bytes(32)
        return PseudonymKey(self._key)

    def receive_pseudonym_key(self, message: PseudonymKey) -> None:
        """Keep the key of the pseudonyms."""
        self._key = message.key

    @property
    def key(self) -> bytes:
        """The key that the parties share and the analyst does not have."""
        if self._key is None:
            raise NotFittedError(f"Party {self.name!r} must receive the key of the pseudonyms first.")
        return self._key

    # --- training -----------------------------------------------------------------------------------------

    def take(self, X: Any, y: Any = None) -> None:
        """Take the party's own columns (n, M), and labels where it is the one that holds them.

        Records are known by a DataFrame's index, or by their position in an array. Labels that are a Series are
        matched by their own index, others row by row.
        """
        self._take_rows(X)
        self._records = Records.of(X, self.codes)
        names = self._records.identifiers
        self._labels = None
        if y is None:
            return
        labels = as_labels(y)
        if isinstance(y, pd.Series):
            labelled = identifiers(y)
        elif len(labels) == len(names):
            labelled = names
        else:
            raise InputError(
                f"Party {self.name!r} must have one label per row, or labels with an index. Got {len(names)} rows and "
                f"{len(labels)} labels."
            )
        self._labels = (labelled, labels)

    def send_records(self, to: str) -> RecordRepresentation:  # noqa: ARG002 - there is one analyst
        """Reduce the rows, for the analyst, under the records' pseudonyms."""
        _, rows = self._reduce()
        return RecordRepresentation(self.name, self.pseudonyms_of(self.held), rows, self.instance_models)

    def send_labels(self, to: str) -> RecordLabels:  # noqa: ARG002
        """The labels under the records' pseudonyms, from the one party that holds them."""
        if self._labels is None:
            raise NotFittedError(f"Party {self.name!r} holds no labels.")
        labelled, values = self._labels
        return RecordLabels(self.name, pseudonyms(labelled, key=self.key), values)

    def receive_joined(self, message: JoinReport) -> None:
        """Keep how many records all parties hold."""
        self.joined_ = message

    def receive_model(self, message: SharedModel) -> None:
        """Keep a copy of the model, to explain with."""
        self.shared_model_ = message

    def _anchor_digest(self) -> bytes:
        # Each party draws its own columns of the anchor: there is nothing to compare but the seed.
        return hashlib.sha256(str(self.anchor_seed).encode()).digest()

    # --- its records --------------------------------------------------------------------------------------

    @property
    def held(self) -> Records:
        """The records that the party trained with."""
        if self._records is None:
            raise NotFittedError(f"Party {self.name!r} has no records at hand: it must take its table first.")
        return self._records

    def bring_back(self, X: Any) -> None:
        """Have the table at hand again after a restart, to answer from."""
        self._records = self.records_of(X)

    def records_of(self, X: Any) -> Records:
        """Rows (n, M) that are to be predicted or explained."""
        return Records.of(X, self.agreement.schema.codes(X, missing=self.agreement.missing))

    def pseudonyms_of(self, records: Records) -> Pseudonyms:
        """The records' pseudonyms (n,)."""
        return pseudonyms(records.identifiers, key=self.key)

    def represent(self, records: Records) -> RecordRepresentation:
        """Reduce records that are to be predicted."""
        rows = self.reduce_codes(records.codes)
        return RecordRepresentation(self.name, self.pseudonyms_of(records), rows, self.instance_models)

    def reduce_codes(self, codes: FloatArray) -> FloatArray:
        """Reduce rows given as codes (n, M)."""
        return self.reduction.transform(self.anchor.encode(np.atleast_2d(codes)))

    # --- on disk ------------------------------------------------------------------------------------------

    def state(self) -> State:
        """What the party is made of, with its copy of the model."""
        state = super().state()
        state.content["key"] = self.key.hex()
        if self.shared_model_ is not None:
            state.content["widths"] = self.shared_model_.widths
            state.content["resolution"] = self.shared_model_.resolution
            state.models["model"] = self.shared_model_.model
        return state

    @classmethod
    def _from_state(cls, state: State) -> Self:
        party = super()._from_state(state)
        party.receive_pseudonym_key(PseudonymKey(bytes.fromhex(state.content["key"])))
        if "model" in state.models:
            party.receive_model(
                SharedModel(state.models["model"], state.content["widths"], state.content["resolution"])
            )
        return party
