"""A vertical party: it holds columns of its own, of the same records as every other party."""

from __future__ import annotations

import secrets
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from dcshap._typing import FloatArray
from dcshap.collaboration.labels import as_labels
from dcshap.collaboration.messages import PseudonymKey, RecordLabels, RecordRepresentation, SharedModel
from dcshap.collaboration.party import Party
from dcshap.collaboration.records import identifiers, pseudonyms
from dcshap.exceptions import InputError, NotFittedError
from dcshap.storage import State

__all__ = ["VerticalParty"]


class VerticalParty(Party):
    """A party with columns of its own.

    The steps, in order: agree on the key of the pseudonyms (`propose_key`, `receive_key`) and on the anchor's seed,
    from which the reference is taken; `take` the table, and the labels where it holds them; `represent`, and
    `labels`; later `represent_records` for every prediction.
    """

    kind: ClassVar[str] = "vertical party"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._key: bytes | None = None
        self._identifiers: list[str] = []
        self._labels: tuple[list[str], Any] | None = None
        self.shared_model_: SharedModel | None = None

    # --- the key of the pseudonyms ------------------------------------------------------------------------

    def propose_key(self, key: bytes | None = None) -> PseudonymKey:
        """Draw the key of the pseudonyms, as the party that leads; the message goes to the other parties."""
        message = PseudonymKey(secrets.token_bytes(32) if key is None else key)
        self.receive_key(message)
        return message

    def receive_key(self, message: PseudonymKey) -> None:
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
        names = identifiers(X)
        self._take_rows(X)
        self._identifiers = names
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

    def represent(self) -> RecordRepresentation:
        """Reduce the rows; this goes to the analyst under the records' pseudonyms."""
        _, rows = self._reduce()
        return RecordRepresentation(self.name, pseudonyms(self._identifiers, key=self.key), rows, self.instance_models)

    def labels(self) -> RecordLabels:
        """The labels under the records' pseudonyms, from the one party that holds them."""
        if self._labels is None:
            raise NotFittedError(f"Party {self.name!r} holds no labels.")
        labelled, values = self._labels
        return RecordLabels(self.name, pseudonyms(labelled, key=self.key), values)

    def receive_model(self, message: SharedModel) -> None:
        """Keep a copy of the model, to explain with."""
        self.shared_model_ = message

    # --- prediction ---------------------------------------------------------------------------------------

    def represent_records(self, X: Any) -> RecordRepresentation:
        """Reduce rows (n, M) that are to be predicted."""
        return RecordRepresentation(
            self.name,
            pseudonyms(identifiers(X), key=self.key),
            self.reduction.transform(self.encode(X)),
            self.instance_models,
        )

    def reduce_codes(self, codes: FloatArray) -> FloatArray:
        """Reduce rows given as codes (n, M)."""
        return self.reduction.transform(self.anchor.encode(np.atleast_2d(codes)))

    # --- on disk ------------------------------------------------------------------------------------------

    def _state(self) -> State:
        state = super()._state()
        state.content["key"] = self.key.hex()
        if self.shared_model_ is not None:
            state.content["widths"] = self.shared_model_.widths
            state.content["resolution"] = self.shared_model_.resolution
            state.models["model"] = self.shared_model_.model
        return state

    @classmethod
    def _from_state(cls, state: State) -> Self:
        party = super()._from_state(state)
        party.receive_key(PseudonymKey(bytes.fromhex(state.content["key"])))
        if "model" in state.models:
            party.receive_model(
                SharedModel(state.models["model"], state.content["widths"], state.content["resolution"])
            )
        return party


def require_same_records(tables: dict[str, list[str]]) -> None:
    """All parties must be asked about the same records; how many some lack is said, not which."""
    every = {record for held in tables.values() for record in held}
    lacking = {name: len(every - set(held)) for name, held in tables.items() if every - set(held)}
    if lacking:
        said = "; ".join(f"{name!r} lacks {count} of {len(every)}" for name, count in lacking.items())
        raise InputError(f"All parties must hold the records that are asked for. {said}.")
