"""A horizontal party: it holds rows of its own, with the same columns as every other party."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, ClassVar, Self, Unpack

import numpy as np

from dcshap._machine import random_bytes
from dcshap._typing import Array, FloatArray, IntArray
from dcshap.collaboration.alignment import Alignment
from dcshap.collaboration.label_sums import Target
from dcshap.collaboration.labels import as_labels, as_weights, target_name
from dcshap.collaboration.messages import Integration, MaskedMoments, PairKey, Representation, Targets
from dcshap.collaboration.moments import Moments
from dcshap.collaboration.party import Party
from dcshap.collaboration.reduction import covariance, leading_eigenvectors, moment_matrix, oriented
from dcshap.collaboration.summation import masked, unmasked_sum
from dcshap.collaboration.supervision import Supervision
from dcshap.exceptions import InputError, ModelError, NotFittedError, ProtocolError
from dcshap.schema import Absent
from dcshap.storage import State

__all__ = ["HorizontalParty"]


class HorizontalParty(Party):
    """A party with rows and labels of its own, that predicts alone once it has its alignment and the model.

    It `take`s its table first. The methods `send_…` and `receive_…` are its part in `dcshap.protocol.steps.training`.
    """

    kind: ClassVar[str] = "horizontal party"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.secret: bytes | None = None  # of one training: its keys come from it, where it may be resumed
        self._labels: Array | None = None
        self._weights: FloatArray = np.zeros(0)
        self._keys: dict[str, bytes] = {}
        self._moments: dict[str, MaskedMoments] = {}
        self._basis: FloatArray | None = None
        self._supervision: Supervision | None = None
        self._total: Moments | None = None
        self.alignment_: Alignment | None = None
        self.model_: Any = None

    def take(self, X: Any, y: Any, sample_weight: Any = None) -> None:
        """Take the party's own table (n, M) and labels (n,), and how many rows each row counts as (n,)."""
        labels = as_labels(y)
        self._take_rows(X)
        if len(labels) != len(self.codes):
            raise InputError(
                f"Party {self.name!r} must have one label per row. Got {len(self.codes)} rows and {len(labels)} labels."
            )
        self.target = target_name(y)
        self._labels, self._weights = labels, as_weights(sample_weight, n_labels=len(labels))

    @property
    def labels(self) -> Array:
        """The party's training labels (n,)."""
        if self._labels is None:
            raise NotFittedError(f"Party {self.name!r} has no labels at hand: it must take its table first.")
        return self._labels

    @property
    def weights(self) -> FloatArray | None:
        """How many rows each training row counts as (n,); None where all count alike."""
        return self._weights if len(self._weights) else None

    # --- the shared span, by secure summation ---------------------------------------------------------------

    def send_pair_key(self, to: str) -> PairKey:
        """A key to be shared with another party. Of two parties the first by name sends it.

        It is new in every training: two under one mask would show how the moments changed.
        """
        self._moments.pop(self.name, None)
        self._keys[to] = random_bytes(32) if self.secret is None else hmac.digest(self.secret, to.encode(), "sha256")
        return PairKey(self.name, self._keys[to])

    def receive_pair_key(self, message: PairKey) -> None:
        """Keep the key shared with the sender."""
        self._moments.pop(self.name, None)
        self._keys[message.party] = message.key

    def send_targets(self, to: str) -> Targets:  # noqa: ARG002 - all are sent the same
        """What this party's labels can be, for a supervised span."""
        return self.supervision.target

    def receive_targets(self, message: Targets) -> None:
        """What another party's labels can be."""
        self.supervision.add_target(message)

    def send_sums(self, to: str) -> MaskedMoments:  # noqa: ARG002
        """The party's class counts, class sums and second moments, under its masks, for every other party."""
        return self.supervision.masked_moments()

    def receive_sums(self, message: MaskedMoments) -> None:
        """Another party's, under its masks."""
        self.supervision.add("moments", message)

    def send_newton(self, to: str, step: str) -> MaskedMoments:  # noqa: ARG002
        """The party's part of a Newton round, under its masks, for every other party."""
        return self.supervision.masked_round(step)

    def receive_newton(self, message: MaskedMoments, step: str) -> None:
        """Another party's part of a Newton round."""
        self.supervision.add(step, message)

    def send_bends(self, to: str) -> MaskedMoments:  # noqa: ARG002
        """How the party's residuals curve, under its masks, for every other party."""
        return self.supervision.masked_bends()

    def receive_bends(self, message: MaskedMoments) -> None:
        """Another party's."""
        self.supervision.add("bends", message)

    def send_bend_checks(self, to: str) -> MaskedMoments:  # noqa: ARG002
        """What the party's rows say of the bends that were proposed, under its masks, for every other party."""
        return self.supervision.masked_bend_checks()

    def receive_bend_checks(self, message: MaskedMoments) -> None:
        """Another party's."""
        self.supervision.add("bend checks", message)

    def recall_sums(self, message: Any, name: str | None) -> None:
        """Take back what this party has sent in a round of a supervised span, or for a shared one, before a restart."""
        if name is None:
            self._moments[self.name] = message
        else:
            self.supervision.recall(name, message)

    @property
    def supervision(self) -> Supervision:
        """The party's part in finding a supervised span, once it shares keys with all others."""
        if self._supervision is None:
            if self._labels is None or not self._keys or self.anchor_seed is None:
                raise ProtocolError(f"Party {self.name!r} must have its table, the anchor and the others' keys first.")
            self._supervision = Supervision(
                self.name,
                self.agreement,
                chunks=self._encoded,
                labels=self._labels,
                weights=self.weights,
                names=self.anchor.encoder.coordinate_names,
                keys=dict(self._keys),
                seed=self.anchor_seed,
            )
        return self._supervision

    @property
    def moments(self) -> Moments:
        """The moments of all parties' rows together, as they were when the supervised span was found."""
        if self._total is None and self._supervision is not None:
            self._total = self._supervision.moments
        if self._total is None:
            raise InputError(
                "A background is drawn from the moments of all parties' rows, which they know with span='supervised' "
                "only. Give a table of rows as `reference` instead."
            )
        return self._total

    def keep_maps(self, earlier: Party) -> None:
        """Use the maps of an earlier training again, and the moments that they were found from."""
        super().keep_maps(earlier)
        if isinstance(earlier, HorizontalParty) and self.has_maps and self.agreement.span == "supervised":
            self._total = earlier.moments

    def send_moments(self, to: str) -> MaskedMoments:  # noqa: ARG002 - all are sent the same
        """The party's moments `[1 X]ᵀ [1 X]`, upper triangle, under the masks it shares with every other party."""
        if not self._keys:
            raise ProtocolError(f"Party {self.name!r} must share keys with the other parties before it sends moments.")
        if self.name not in self._moments:
            moments = moment_matrix(self._encoded(), self.weights)
            upper = moments[np.triu_indices(len(moments))]
            self._moments[self.name] = MaskedMoments(self.name, masked(upper, party=self.name, keys=self._keys))
        return self._moments[self.name]

    def receive_moments(self, message: MaskedMoments) -> None:
        """Keep another party's moments, under its masks."""
        self._moments[message.party] = message

    def leading_subspace(self) -> FloatArray:
        """The leading subspace (p, m) of all parties' rows together: everybody finds it from the same total."""
        expected, given = sorted({self.name, *self._keys}), sorted(self._moments)
        if len(expected) < 2 or given != expected:
            raise ProtocolError(f"Moments must come from each of {expected}. Got those of {given}.")
        size = self.anchor.encoder.n_coordinates + 1
        matrix = np.zeros((size, size))
        matrix[np.triu_indices(size)] = unmasked_sum([each.words for each in self._moments.values()])
        matrix += np.triu(matrix, 1).T
        return oriented(leading_eigenvectors(covariance(matrix), self.agreement.dimensions), matrix[0, 1:])

    # --- training -------------------------------------------------------------------------------------------

    def send_representation(self, to: str) -> Representation:  # noqa: ARG002 - there is one analyst
        """Reduce the anchor and the rows, for the analyst; rows and labels come in an order of their own."""
        if self._labels is None:
            raise NotFittedError(f"Party {self.name!r} must take its table before it can represent it.")
        offset = None
        if self.agreement.span == "shared" and self._reduction is None:
            self._basis = self.leading_subspace()
        if self.agreement.span == "supervised" and self._reduction is None:
            span = self.supervision.span()
            self._basis, offset, self._usual_spread = span.weights, span.offset, span.rms
        new_maps = not self.has_maps
        anchor, rows = self._reduce(self._basis, offset)
        if new_maps:
            classes = self.agreement.task == "classes"
            responses = Target(self._labels, classes=classes).responses(self._labels)
            own = Moments.of(self._encoded(), responses, classes=classes, weights=self.weights)
            self._warn_of_lost_columns(own)
        order = self.private_order
        weights = self._weights[order] if len(self._weights) else self._weights
        return Representation(self.name, anchor, rows[order], self._labels[order], self.instance_models, weights)

    @property
    def private_order(self) -> IntArray:
        """The order (n,) in which rows are sent: nobody can tell it from a random one, whatever that of the table.

        The same rows come in the same order again, so that a training with one more row does not show two orders.
        """
        _, classes = np.unique(self.labels, return_inverse=True)
        weights = (self._weights,) if len(self._weights) else ()
        return np.lexsort((*weights, classes, *self._digests(self.codes).T))

    def receive_integration(self, message: Integration) -> None:
        """Keep the alignment and the model; from now on the party needs nobody."""
        self.alignment_, self.model_ = message.alignment, message.model

    def _anchor_digest(self) -> bytes:
        # Rounded: sums in another order may differ in the last digits.
        return hashlib.sha256(np.round(self.anchor.rows, 6).tobytes()).digest()

    # --- prediction -----------------------------------------------------------------------------------------

    @property
    def alignment(self) -> Alignment:
        """The party's map to the common space."""
        if self.alignment_ is None:
            raise NotFittedError(f"Party {self.name!r} has not received its alignment and the model yet.")
        return self.alignment_

    def points(self, X: Any, **absent: Unpack[Absent]) -> FloatArray:
        """Rows (n, M) as points of the common space (n, d): `G_i(F_i(x))`."""
        alignment, encoded = self.alignment, self.encode(X, **absent)
        if not len(encoded):
            raise InputError("At least one row must be asked for. Got none.")
        return alignment.transform(self.reduction.transform(encoded))

    def predict(self, X: Any, **absent: Unpack[Absent]) -> Array:
        """Predict rows (n, M): `h(G_i(F_i(x)))`."""
        points = self.points(X, **absent)
        return np.asarray(self.model_.predict(points))

    def predict_proba(self, X: Any, **absent: Unpack[Absent]) -> FloatArray:
        """Class probabilities (n, K) of rows (n, M)."""
        points = self.points(X, **absent)
        if not hasattr(self.model_, "predict_proba"):
            raise ModelError(f"{type(self.model_).__name__} gives no probabilities: use `predict`.")
        return np.asarray(self.model_.predict_proba(points), dtype=np.float64)

    # --- on disk --------------------------------------------------------------------------------------------

    def state(self) -> State:
        """What the party is made of, with its alignment and the model."""
        state = super().state()
        alignment = self.alignment
        state.content["resolution"] = alignment.resolution
        state.arrays.update(alignment_weights=alignment.weights, alignment_intercept=alignment.intercept)
        state.models["model"] = self.model_
        if self.agreement.span == "supervised":
            state.content["n_responses"] = len(self.moments.responses)
            state.arrays["moments"] = self.moments.flat()
        return state

    @classmethod
    def _from_state(cls, state: State) -> Self:
        party = super()._from_state(state)
        weights, intercept = state.arrays["alignment_weights"], state.arrays["alignment_intercept"]
        party.alignment_ = Alignment(weights, intercept, state.content["resolution"])
        party.model_ = state.models["model"]
        if "moments" in state.arrays:
            party._total = Moments.from_flat(
                state.arrays["moments"],
                n_responses=state.content["n_responses"],
                n_coordinates=party.anchor.encoder.n_coordinates,
                classes=party.agreement.task == "classes",
            )
        return party
