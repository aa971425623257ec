"""One party's part in finding the supervised common span: sums under masks, and what everybody computes from the total.

All parties send their masked sums to all others, so that everybody adds up the same total and nobody has to take the
span on trust. Each sum hides under masks that cancel only if every party is in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from dcshap._typing import Array, FloatArray
from dcshap.collaboration.agreement import Agreement
from dcshap.collaboration.bends import Bends, Held
from dcshap.collaboration.labels import require_trainable, target_values
from dcshap.collaboration.mechanism import MomentPrivacy
from dcshap.collaboration.messages import MaskedMoments, Targets
from dcshap.collaboration.moments import Moments, class_responses, number_responses
from dcshap.collaboration.newton import Logits
from dcshap.collaboration.span import CommonSpan, common_span, n_predictive
from dcshap.collaboration.summation import masked, unmasked_sum
from dcshap.exceptions import ProtocolError
from dcshap.schema.encoding import sensitive_coordinates, straight_coordinates

__all__ = ["Supervision"]

Chunks = Callable[[], Iterable[FloatArray]]


class Supervision:
    """A party on the way to the supervised common span.

    Parameters
    ----------
    party : str
    agreement : Agreement
    chunks : callable
        Gives the party's encoded rows, some at a time.
    labels : array of shape (n,)
    weights : array of shape (n,) or None
        How often each row counts in the sums. With ε all count once: a row must not weigh more than its noise covers.
    names : sequence of str
        A name for each of the p coordinates.
    keys : mapping of each other party to the key shared with it
    seed : int
        The seed that all parties share.
    """

    def __init__(
        self,
        party: str,
        agreement: Agreement,
        *,
        chunks: Chunks,
        labels: Array,
        weights: FloatArray | None = None,
        names: Sequence[str],
        keys: Mapping[str, bytes],
        seed: int,
    ) -> None:
        self._party, self._agreement, self._names, self._keys, self._seed = party, agreement, names, keys, seed
        self._chunks, self._labels, self._classifier = chunks, labels, agreement.task == "classes"
        self._weights = weights if agreement.epsilon is None else None
        self._targets: dict[str, Array] = {party: target_values(labels, classes=self._classifier, party=party)}
        self._received: dict[str, list[MaskedMoments]] = {}
        self._sent: dict[str, MaskedMoments] = {}
        self._moments: Moments | None = None

    # --- what is predicted ----------------------------------------------------------------------------------

    @property
    def target(self) -> Targets:
        """The classes, or the range, of this party's labels."""
        return Targets(self._party, self._targets[self._party])

    def add_target(self, message: Targets) -> None:
        """Take another party's classes, or range."""
        self._targets[message.party] = message.values

    def _responses(self) -> FloatArray:
        self._require_all(self._targets)
        if self._classifier:
            return class_responses(self._labels, self._classes())
        low, high = (f(values) for f, values in ((np.min, self._ends()[:, 0]), (np.max, self._ends()[:, 1])))
        return number_responses(self._labels, low=float(low), high=float(high if high > low else low + 1.0))

    def _ends(self) -> FloatArray:
        return np.stack([np.asarray(values, dtype=np.float64) for values in self._targets.values()])

    def _classes(self) -> Array:
        return np.unique(require_trainable(list(self._targets.values()), classifier=True))

    @property
    def _n_responses(self) -> int:
        return len(self._classes()) if self._classifier else 2

    # --- sums under masks -----------------------------------------------------------------------------------

    def masked_moments(self) -> MaskedMoments:
        """The party's class counts, class sums and second moments; noisy where they are to be private."""
        if "moments" not in self._sent:
            self._sent["moments"] = self._masked("moments", self._own_moments())
        return self._sent["moments"]

    def masked_round(self, name: str) -> MaskedMoments:
        """The party's gradient and curvature at the coefficients that the rounds before have led to."""
        if name not in self._sent:
            contribution = self._current().contribution(self._chunks(), self._responses(), self._weights)
            self._sent[name] = self._masked(name, contribution)
        return self._sent[name]

    def masked_bends(self) -> MaskedMoments:
        """How the party's residuals of the regression curve."""
        if "bends" not in self._sent:
            self._sent["bends"] = self._masked("bends", self._bends().curvature(self._held()))
        return self._sent["bends"]

    def masked_bend_checks(self) -> MaskedMoments:
        """What the party's rows say of the bends that were proposed."""
        if "bend checks" not in self._sent:
            checks = self._bends().checks(self._held(), self._total("bends"))
            self._sent["bend checks"] = self._masked("bend checks", checks)
        return self._sent["bend checks"]

    def recall(self, name: str, message: MaskedMoments) -> None:
        """Take back what was sent in a step before."""
        self._sent[name] = message

    def add(self, name: str, message: MaskedMoments) -> None:
        """Take another party's masked sums of a step."""
        self._received.setdefault(name, []).append(message)

    def _own_moments(self) -> FloatArray:
        responses, privacy = self._responses(), self._privacy()
        if privacy is None:
            return Moments.of(self._chunks(), responses, classes=self._classifier, weights=self._weights).flat()
        bounded = (privacy.bounded(rows) for rows in self._chunks())
        return privacy.noised(Moments.of(bounded, responses, classes=self._classifier).flat())

    def _masked(self, name: str, values: FloatArray) -> MaskedMoments:
        self._require_all({**self._targets})
        # Two sums under one mask would show their difference, so every step has masks of its own.
        keys = {other: hashlib.sha256(name.encode() + key).digest() for other, key in self._keys.items()}
        return MaskedMoments(self._party, masked(values, party=self._party, keys=keys))

    def _total(self, name: str) -> FloatArray:
        received = {message.party: message for message in self._received.get(name, [])}
        self._require_all({self._party: None, **received})
        return unmasked_sum([self._sent[name].words, *(message.words for message in received.values())])

    def _require_all(self, given: Mapping[str, object]) -> None:
        expected = sorted({self._party, *self._keys})
        if sorted(given) != expected:
            raise ProtocolError(f"A sum needs every party of {expected}. Got {sorted(given)}.")

    # --- what everybody computes ----------------------------------------------------------------------------

    @property
    def moments(self) -> Moments:
        """The moments of all parties together."""
        if self._moments is None:
            total = Moments.from_flat(
                self._total("moments"),
                n_responses=self._n_responses,
                n_coordinates=len(self._names),
                classes=self._classifier,
            )
            privacy = self._privacy()
            self._moments = total if privacy is None else privacy.restored(total)
        return self._moments

    def span(self) -> CommonSpan:
        """The common span."""
        moments, privacy = self.moments, self._privacy()
        rounds = self._rounds()
        return common_span(
            moments,
            names=self._names,
            n_components=self._agreement.components(n_predictive(moments)),
            seed=self._seed,
            logits=self._current().weights if rounds else None,
            bends=self._bends().directions(self._total("bends"), self._total("bend checks")) if rounds else None,
            floor=0.0 if privacy is None else privacy.floor(moments.n_rows),
            sensitive=sensitive_coordinates(self._agreement.schema),
        )

    def _rounds(self) -> int:
        return self._agreement.rounds if self._classifier and len(self.moments.present().responses) > 1 else 0

    def _current(self) -> Logits:
        """The coefficients after all rounds whose sums are complete."""
        logits = Logits.first(self.moments.present())
        for name in self._sent:  # in the order of the rounds
            if name.startswith("newton") and len(self._received.get(name, [])) == len(self._keys):
                logits = logits.updated(self._total(name))
        return logits

    def _held(self) -> Held:
        return Held(self._chunks(), self._responses(), self._weights)

    def _bends(self) -> Bends:
        schema, predictive = self._agreement.schema, n_predictive(self.moments)
        room = self._agreement.components(predictive) - predictive
        return Bends(self._current(), straight_coordinates(schema), self._names, room)

    def _privacy(self) -> MomentPrivacy | None:
        if self._agreement.epsilon is None:
            return None
        return MomentPrivacy(
            epsilon=float(self._agreement.epsilon),
            n_parties=len(self._keys) + 1,
            n_columns=len(self._agreement.schema),
            n_responses=self._n_responses,
            n_coordinates=len(self._names),
            classes=self._classifier,
        )
