"""A vertical party: it holds columns of its own, of the same records as every other party."""

from __future__ import annotations

import hashlib
from typing import Any, ClassVar, Self, Unpack

import numpy as np
import pandas as pd

from dcshap._machine import random_bytes
from dcshap._typing import Array, BoolArray, FloatArray
from dcshap.collaboration.arrivals import matched
from dcshap.collaboration.label_sums import GuestSums, HolderSums, Target, noisy_responses
from dcshap.collaboration.labels import as_labels, target_name
from dcshap.collaboration.messages import (
    ANALYST,
    CommonRecords,
    GuestTriple,
    HolderTriple,
    JoinReport,
    LabelSums,
    MaskedColumns,
    PseudonymKey,
    RecordLabels,
    RecordPseudonyms,
    RecordRepresentation,
    SharedModel,
)
from dcshap.collaboration.moments import Moments
from dcshap.collaboration.party import Party
from dcshap.collaboration.randomness import derived_seed
from dcshap.collaboration.records import Pseudonyms, Records, Rows, labelled_records, pseudonyms
from dcshap.collaboration.reduction import moment_matrix
from dcshap.collaboration.span import common_span, n_predictive
from dcshap.exceptions import InputError, NotFittedError, ProtocolError
from dcshap.schema import Absent
from dcshap.schema.encoding import sensitive_coordinates
from dcshap.storage import State

__all__ = ["VerticalParty"]

SPANS = ("supervised", "private", "random")


class VerticalParty(Party):
    """A party with columns of its own.

    It `take`s its table first, and the labels where it holds them. The methods `send_…` and `receive_…` are its part in
    `dcshap.protocol.steps.training`; `dcshap.explanation.answering` has its part in answering requests.
    """

    kind: ClassVar[str] = "vertical party"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.agreement.span not in SPANS or self.agreement.epsilon is not None:
            raise InputError(
                f"Vertically `span` must be one of {list(SPANS)}, without `epsilon`: parties have no columns in "
                f"common to add up. Got span={self.agreement.span!r} and epsilon={self.agreement.epsilon!r}."
            )
        self._key: bytes | None = None
        self._records: Records | None = None
        self._labels: tuple[list[str], Array] | None = None
        self._weights: FloatArray = np.zeros(0)
        self._common: Records | None = None
        self._labels_at: Rows | None = None  # where the labels of the records in common stand among all labels
        self._holder_sums: HolderSums | None = None
        self._guest_sums: GuestSums | None = None
        self._own_moments: FloatArray | None = None  # [1 X]ᵀ[1 X]
        self.joined_: JoinReport | None = None
        self.shared_model_: SharedModel | None = None

    # --- the key of the pseudonyms ------------------------------------------------------------------------

    def send_pseudonym_key(self, to: str) -> PseudonymKey:  # noqa: ARG002 - all are sent the same
        """The key of the pseudonyms, from the party that leads; drawn now unless the party has one."""
        if self._key is None:
            self._key = random_bytes(32)
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

    def take(self, X: Any, y: Any = None, weights: FloatArray | None = None) -> None:
        """Take the party's own columns (n, M), and labels with their weights where it is the one that holds them.

        Records are known by a DataFrame's index, or by their position in an array. Labels that are a Series are
        matched by their own index, others row by row.
        """
        self._take_rows(X)
        self._records, self._common, self._labels_at = Records.of(X, self.codes), None, None
        names, self._labels = self._records.identifiers, None
        if y is None:
            return
        labels = as_labels(y)
        self._labels = labelled_records(y, labels, names, party=self.name), labels
        self._weights = np.zeros(0) if weights is None else weights
        self.target = target_name(y)

    def send_pseudonyms(self, to: str) -> RecordPseudonyms:  # noqa: ARG002 - there is one analyst
        """The pseudonyms of the records that this party can bring to a training, in their own order."""
        names = self.held.identifiers
        if self._labels is not None:
            labelled = set(self._labels[0])
            names = [name for name in names if name in labelled]
        width = self.anchor.encoder.n_coordinates + 1 if self._labels is None else self._target().width
        return RecordPseudonyms(self.name, np.sort(pseudonyms(names, key=self.key)), len(self.held), width)

    def receive_common(self, message: CommonRecords) -> None:
        """From now on only the records that all parties hold take part, in the order that the analyst gives."""
        common, (wanted, own) = matched([(ANALYST, message.pseudonyms), (self.name, self.pseudonyms_of(self.held))])
        if len(common) < len(message.pseudonyms):
            raise ProtocolError(f"Records in common must be records that party {self.name!r} holds, each once.")
        self._common = self.held.at(own[np.argsort(wanted)])
        self._codes, self._own_rows, self._labels_at = self._common.codes, None, None

    @property
    def common(self) -> Records:
        """The records that all parties hold, once they were matched."""
        if self._common is None:
            raise NotFittedError(f"Party {self.name!r} must know which records all parties hold first.")
        return self._common

    def send_records(self, to: str) -> RecordRepresentation:  # noqa: ARG002
        """Reduce the rows of the records in common, for the analyst, under their pseudonyms."""
        records = self.common
        basis = offset = None
        supervised, new_maps = self.agreement.span == "supervised", not self.has_maps
        moments = self._moments() if new_maps and (supervised or self.holds_labels) else None
        if supervised and moments is not None:
            span = common_span(
                moments,
                names=self.anchor.encoder.coordinate_names,
                n_components=self.agreement.components(n_predictive(moments)),
                # Nobody else needs to know the directions, so they are not drawn from what the parties share.
                seed=derived_seed(self.private_seed, "span"),
                sensitive=sensitive_coordinates(self.agreement.schema),
            )
            basis, offset, self._usual_spread = span.weights, span.offset, span.rms
        _, rows = self._reduce(basis, offset)
        if moments is not None:
            self._warn_of_lost_columns(moments)
        return RecordRepresentation(self.name, self.pseudonyms_of(records), rows, self.instance_models)

    def send_labels(self, to: str) -> RecordLabels:  # noqa: ARG002
        """The labels of the records in common under their pseudonyms, from the one party that holds them."""
        return RecordLabels(self.name, self.pseudonyms_of(self.common), self.labels, self._of_common(self._weights))

    @property
    def holds_labels(self) -> bool:
        """Whether this is the party with the labels."""
        return self._labels is not None

    @property
    def labels(self) -> Array:
        """The labels (n,) of the records in common."""
        return self._of_common(None if self._labels is None else self._labels[1])

    @property
    def _common_weights(self) -> FloatArray | None:
        """How many records each record in common counts as (n,); None where all count alike."""
        return self._of_common(self._weights) if len(self._weights) else None

    def _of_common(self, values: Array | None) -> Array:
        """Those of labels, or of their weights, that belong to the records in common, in their order."""
        if self._labels is None or values is None:
            raise NotFittedError(f"Party {self.name!r} holds no labels.")
        if self._labels_at is None:
            self._labels_at = pd.Index(self._labels[0]).get_indexer(pd.Index(self.common.identifiers))
        unlabelled = int(np.count_nonzero(self._labels_at < 0))
        if unlabelled:
            raise ProtocolError(f"Records in common must be labelled. {unlabelled} are not.")
        return np.asarray(values[self._labels_at]) if len(values) else values

    @property
    def own_moments(self) -> Moments:
        """The moments of the party's own columns, as they were when its maps were found; they stay with it."""
        matrix = self._moment_matrix()
        return Moments(matrix[:1, :1], matrix[:1, 1:], matrix[1:, 1:], classes=True)

    def _moment_matrix(self) -> FloatArray:
        if self._own_moments is None:
            self._own_moments = moment_matrix(self._encoded())
        return self._own_moments

    def keep_maps(self, earlier: Party) -> None:
        """Use the maps of an earlier training again, and the moments that a background is drawn from."""
        super().keep_maps(earlier)
        if self.has_maps and isinstance(earlier, VerticalParty):
            self._own_moments = earlier._moment_matrix()

    def receive_joined(self, message: JoinReport) -> None:
        """Keep how many records all parties hold."""
        self.joined_ = message

    def receive_model(self, message: SharedModel) -> None:
        """Keep a copy of the model, to explain with."""
        self.shared_model_ = message

    # --- a span that predicts -----------------------------------------------------------------------------

    def receive_holder_triple(self, message: HolderTriple) -> None:
        """As the party with the labels: take the random numbers to mask them with."""
        columns, names = self._target().columns(self.labels, self._common_weights), self.common.identifiers
        noise, seed = self.agreement.noise, self.private_seed
        responses = noisy_responses(columns, names, fraction=noise, private_seed=seed)
        self._holder_sums = HolderSums(self.name, responses, weighted=self._target().weighted)
        self._holder_sums.take_triple(message)

    def receive_guest_triple(self, message: GuestTriple) -> None:
        """As a guest: take the random numbers to mask the columns with."""
        self._guest_sums = GuestSums(self.name, self._encoded())
        self._guest_sums.take_triple(message)

    def send_masked_columns(self, to: str) -> MaskedColumns:  # noqa: ARG002 - one party holds the labels
        """The masked columns, for the party with the labels."""
        return self._as_guest().masked_columns()

    def receive_masked_columns(self, message: MaskedColumns) -> None:
        """As the party with the labels: a guest's masked columns."""
        self._as_holder().add_columns(message)

    def send_label_sums(self, to: str) -> LabelSums:
        """The masked labels, and a share of the sums that a guest is to know."""
        return self._as_holder().sums_for(to)

    def receive_label_sums(self, message: LabelSums) -> None:
        """As a guest: what makes the sums complete."""
        self._as_guest().add_sums(message)

    def _moments(self) -> Moments:
        """The moments of the party's own columns and the labels."""
        classes = self.agreement.task == "classes"
        if self._labels is not None:
            responses = self._target().responses(self.labels)
            return Moments.of(self._encoded(), responses, classes=classes, weights=self._common_weights)
        return self._as_guest().moments(moment_matrix(self._encoded()), classes=classes)

    def _target(self) -> Target:
        if self._labels is None:
            raise NotFittedError(f"Party {self.name!r} holds no labels.")
        classes, weighted = self.agreement.task == "classes", len(self._weights) > 0
        return Target(self._labels[1], classes=classes, weighted=weighted)

    def _as_holder(self) -> HolderSums:
        if self._holder_sums is None:
            raise ProtocolError(f"Party {self.name!r} was not dealt random numbers to mask labels with.")
        return self._holder_sums

    def _as_guest(self) -> GuestSums:
        if self._guest_sums is None:
            raise ProtocolError(f"Party {self.name!r} was not dealt random numbers to mask columns with.")
        return self._guest_sums

    def _anchor_digest(self) -> bytes:
        # Each party draws its own columns of the anchor: there is nothing to compare but the seed.
        return hashlib.sha256(str(self.anchor_seed).encode()).digest()

    # --- its records --------------------------------------------------------------------------------------

    @property
    def held(self) -> Records:
        """The records that the party holds; those in common with all others were trained with."""
        if self._records is None:
            raise NotFittedError(f"Party {self.name!r} has no records at hand: it must take its table first.")
        return self._records

    def bring_back(self, X: Any) -> None:
        """Have the table at hand again after a restart, to answer from."""
        self._records = self.records_of(X)

    def records_of(self, X: Any, **absent: Unpack[Absent]) -> Records:
        """Rows (n, M) that are to be predicted or explained."""
        return Records.of(X, self.codes_of(X, **absent))

    def pseudonyms_of(self, records: Records) -> Pseudonyms:
        """The records' pseudonyms (n,)."""
        return pseudonyms(records.identifiers, key=self.key)

    def represent(self, records: Records) -> RecordRepresentation:
        """Reduce records that are to be predicted, with their noise."""
        rows = self.noisy_codes(records.codes)
        return RecordRepresentation(self.name, self.pseudonyms_of(records), rows, self.instance_models)

    def reduce_codes(self, codes: FloatArray) -> FloatArray:
        """Reduce rows given as codes (n, M), exactly."""
        return self.reduction.transform(self.anchor.encode(np.atleast_2d(codes)))

    # --- noise on what leaves, and on what the party itself explains with: everybody explains the same ------

    def noisy_codes(self, codes: FloatArray) -> FloatArray:
        """Reduce rows given as codes (n, M), with their noise; one that equals the anchor's reference has none."""
        return self.reduce_codes(codes) + self._noise_in_views(codes)

    def noise_shares(self, codes: FloatArray, reference: FloatArray) -> FloatArray:
        """What noise adds from the reference (M,) to rows (n, M), shared among the columns that differ: (n, M, d).

        A column that equals the reference changes nothing, noise included, and so its value is exactly 0.
        """
        differing = self._differing(codes, reference)
        alike = ~differing.any(axis=1)  # encoded alike, though maybe clipped: the noise may still be another
        differing[alike] = codes[alike] != reference
        weights = differing / np.maximum(differing.sum(axis=1, keepdims=True), 1)
        added = self._noise_in_views(codes) - self._noise_in_views(reference[None, :])
        return np.asarray(weights[:, :, None] * added[:, None, :])

    def _noise_in_views(self, codes: FloatArray) -> FloatArray:
        """The noise (n, d) of rows; none on the anchor's reference, which has nothing to hide."""
        differing = self._differing(codes, self.anchor.reference()).any(axis=1, keepdims=True)
        return np.asarray(differing * self.noise_of(codes))

    def _differing(self, codes: FloatArray, reference: FloatArray) -> BoolArray:
        """Which columns (n, M) of rows are encoded otherwise than the reference's (M,)."""
        shifted: BoolArray = np.not_equal(self.anchor.encode(codes), self.anchor.encode(reference[None, :]))
        return np.stack([shifted[:, block].any(axis=1) for block in self.anchor.encoder.blocks], axis=1)

    # --- on disk ------------------------------------------------------------------------------------------

    def state(self) -> State:
        """What the party is made of, with its copy of the model."""
        state = super().state()
        state.content["key"] = self.key.hex()
        state.arrays["moments"] = self._moment_matrix()
        if self.shared_model_ is not None:
            state.content.update(widths=self.shared_model_.widths, resolution=self.shared_model_.resolution)
            state.models["model"] = self.shared_model_.model
        return state

    @classmethod
    def _from_state(cls, state: State) -> Self:
        party = super()._from_state(state)
        party.receive_pseudonym_key(PseudonymKey(bytes.fromhex(state.content["key"])))
        party._own_moments = state.arrays["moments"]
        if "model" in state.models:
            about = (state.content[name] for name in ("widths", "resolution"))
            party.receive_model(SharedModel(state.models["model"], *about))
        return party
