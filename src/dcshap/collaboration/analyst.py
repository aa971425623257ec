"""The analyst: integrates representations and trains the model. It sees no raw data and never the anchor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone, is_classifier

from dcshap._machine import random_bytes
from dcshap._typing import Array, FloatArray
from dcshap.collaboration.alignment import Alignment, AlignmentKind, align, grid_step, to_grid
from dcshap.collaboration.arrivals import check_representation, matched, require_parties, rows_in_common
from dcshap.collaboration.consent import carries_rows, refuse, require_consent
from dcshap.collaboration.continuity import is_continuous
from dcshap.collaboration.labels import common_weights, require_trainable
from dcshap.collaboration.messages import (
    Commit,
    CommonRecords,
    GuestTriple,
    HolderTriple,
    Integration,
    JoinReport,
    Prepared,
    RecordLabels,
    RecordPseudonyms,
    RecordRepresentation,
    Representation,
    SharedModel,
)
from dcshap.collaboration.records import Pseudonyms
from dcshap.collaboration.stacking import KEY_WIDTH, side_by_side, stack
from dcshap.collaboration.triples import SEED_BYTES, deal, seed_for
from dcshap.exceptions import InputError, ModelError, NotFittedError, ProtocolError
from dcshap.storage import State, interpreting, read_folder, write_folder

__all__ = ["Analyst"]


class Analyst:
    """Integrates and trains.

    Parameters
    ----------
    model : scikit-learn compatible estimator
        Cloned before it is fitted.
    alignment : {"affine", "svd", "orthogonal"}
        How horizontal parties' representations are brought to a common space.

    Attributes
    ----------
    workspace : path, optional
        A folder for tables that are too large for memory.
    cluster : callable
        A context in which models are trained: on other machines, say.
    """

    kind: ClassVar[str] = "analyst"

    def __init__(self, model: Any, *, alignment: AlignmentKind = "affine") -> None:
        # Asked of the type: some models have `predict` only once they are fitted.
        if not hasattr(type(model), "fit") or not hasattr(type(model), "predict"):
            raise InputError(f"The model must have `fit` and `predict`. {type(model).__name__} has not.")
        self.model = model
        self.alignment = alignment
        self.alignments_: dict[str, Alignment] = {}
        self.widths_: dict[str, int] = {}
        self.resolution_ = 0.0
        self.refusing_: list[str] = []
        self.carries_rows_ = False
        self.run = ""  # the training that all parties use once they have committed
        self.held_: dict[str, tuple[FloatArray, Array, FloatArray]] = {}  # rows, labels, weights; not kept on disk
        self.workspace: Path | None = None
        self.cluster: Callable[[], AbstractContextManager[Any]] = nullcontext
        self.secret: bytes | None = None  # what is dealt to parties comes from it, where a training may be resumed
        self._fitted: Any = None
        self._received: dict[str, Any] = {}
        self._labels: RecordLabels | None = None
        self._matching: dict[str, RecordPseudonyms] = {}
        self._common: Pseudonyms | None = None
        self._guest_seeds: dict[str, bytes] = {}
        self._integrations: dict[str, Integration] = {}
        self._report: JoinReport | None = None
        self._shared: SharedModel | None = None

    @property
    def joined(self) -> JoinReport:
        """How many records all vertical parties hold, and how many of each party's were left out."""
        if self._report is None:
            raise NotFittedError("The analyst has not joined any records yet.")
        return self._report

    @property
    def model_(self) -> Any:
        """The fitted model."""
        if self._fitted is None:
            raise NotFittedError("The analyst has not trained a model yet.")
        return self._fitted

    # --- its part in `dcshap.protocol.steps.training` -----------------------------------------------------

    def receive_representation(self, message: Representation) -> None:
        """Keep a horizontal party's representation until all are there."""
        self._received[message.party] = message

    def send_integration(self, to: str) -> Integration:
        """Train on all representations, once, and give a party its alignment and the model."""
        if not self._integrations:
            self._integrations = self.integrate(self._taken())
        return self._integrations[to]

    def receive_pseudonyms(self, message: RecordPseudonyms) -> None:
        """Keep the pseudonyms of a vertical party's records until all are there."""
        self._matching[message.party] = message

    def send_common(self, to: str) -> CommonRecords:  # noqa: ARG002 - all are sent the same
        """The records that all parties hold, in the order of their pseudonyms, which nobody chose."""
        if self._common is None:
            require_parties(list(self._matching))
            found, _ = matched([(name, each.pseudonyms) for name, each in self._matching.items()])
            if not len(found):
                raise InputError("The parties must have records in common. None is held by all of them and labelled.")
            self._common = found
        return CommonRecords(self._common)

    def send_holder_triple(self, to: str) -> HolderTriple:
        """Deal the randomness for products of guests' columns with labels: the part of the labels' holder."""
        n_rows, secret = len(self.send_common(to).pseudonyms), self.secret or random_bytes(SEED_BYTES)
        first, seed, n_labels = seed_for(secret, "first"), seed_for(secret, "second"), self._matching[to].width
        widths = {name: each.width for name, each in self._matching.items() if name != to}
        triples = {
            name: deal(n_rows, width, n_labels, first=seed_for(first, name), second=seed_for(seed, name))
            for name, width in widths.items()
        }
        self._guest_seeds = {name: triple.first for name, triple in triples.items()}
        return HolderTriple(seed, widths, np.concatenate([triple.share for triple in triples.values()]))

    def send_guest_triple(self, to: str) -> GuestTriple:
        """A guest's part of the randomness that was dealt; it is forgotten here."""
        return GuestTriple(self._guest_seeds.pop(to))

    def receive_records(self, message: RecordRepresentation) -> None:
        """Keep a vertical party's representation until all are there."""
        self._received[message.party] = message

    def receive_labels(self, message: RecordLabels) -> None:
        """Keep the labels until all representations are there."""
        self._labels = message

    def send_joined(self, to: str) -> JoinReport:  # noqa: ARG002 - all are sent the same
        """Train on the records that all parties hold, once, and say how many they are."""
        if self._labels is None:
            raise ProtocolError("The analyst must receive the labels before it joins the records.")
        if self._report is None:
            self._report = self.join(self._taken(), self._labels)
        return self._report

    def send_model(self, to: str) -> SharedModel:  # noqa: ARG002
        """The model for a party to explain with; one message for all, so that it is packed once."""
        if self._shared is None:
            self._shared = self.share_model()
        return self._shared

    def receive_prepared(self, message: Prepared) -> None:
        """A party has all it needs."""

    def send_commit(self, to: str) -> Commit:  # noqa: ARG002
        """Everybody is prepared."""
        return Commit(self.run)

    def receive_committed(self, message: Prepared) -> None:
        """A party uses what was trained."""

    def _taken(self) -> list[Any]:
        """What the parties have sent, by their names; it is not needed again."""
        taken, self._received = self._received, {}
        return [taken[name] for name in sorted(taken)]

    # --- horizontal ---------------------------------------------------------------------------------------

    def integrate(self, representations: Sequence[Representation]) -> dict[str, Integration]:
        """Align all parties' representations, train the model, and give each party its alignment and the model."""
        require_parties([r.party for r in representations])
        for representation in representations:
            check_representation(representation, n_anchor=len(representations[0].anchor))
        refusing = [r.party for r in representations if not r.instance_models]
        require_consent(self.model, refusing)
        labels = require_trainable([r.labels for r in representations], classifier=is_classifier(self.model))
        found = align([r.anchor for r in representations], kind=self.alignment)
        pairs = list(zip(representations, found, strict=True))
        points, labels, weights = stack(
            chain.from_iterable(alignment.leading(KEY_WIDTH).chunks(r.rows) for r, alignment in pairs),
            chain.from_iterable(alignment.chunks(r.rows) for r, alignment in pairs),
            labels,
            common_weights([(r.weights, len(r.rows)) for r in representations]),
            folder=self.workspace,
        )
        fitted = self._fit(points, labels, weights)
        require_consent(fitted, refusing, points)
        self._fitted = fitted
        # Trained on the grid like any other, a continuous model is asked about exact points.
        kept = [replace(each, resolution=0.0) if is_continuous(fitted) else each for each in found]
        self.alignments_ = {r.party: a for r, a in zip(representations, kept, strict=True)}
        self.held_ = {r.party: (r.rows, r.labels, r.weights) for r in representations}
        return self._integration_of_each()

    def _integration_of_each(self) -> dict[str, Integration]:
        return {party: Integration(party, alignment, self.model_) for party, alignment in self.alignments_.items()}

    # --- vertical -----------------------------------------------------------------------------------------

    def join(self, representations: Sequence[RecordRepresentation], labels: RecordLabels) -> JoinReport:
        """Join the parties' representations record by record and train the model on them side by side."""
        require_parties([r.party for r in representations])
        n_common, rows = rows_in_common([labels, *representations], expected=self._common)
        y = require_trainable([labels.labels[rows[0]]], classifier=is_classifier(self.model))
        weights = labels.weights[rows[0]] if len(labels.weights) else labels.weights
        self.held_ = {r.party: (r.rows[at], y, weights) for r, at in zip(representations, rows[1:], strict=True)}
        self.widths_ = {r.party: r.rows.shape[1] for r in representations}
        self.refusing_ = [r.party for r in representations if not r.instance_models]
        tables = [rows for rows, *_ in self.held_.values()]
        self.resolution_ = grid_step(side_by_side(tables))
        points, y, counted = stack(
            (to_grid(part, self.resolution_)[:, :KEY_WIDTH] for part in side_by_side(tables)),
            (to_grid(part, self.resolution_) for part in side_by_side(tables)),
            y,
            common_weights([(weights, len(y))]),
            folder=self.workspace,
        )
        self._fitted = self._fit(points, y, counted)
        self.carries_rows_ = bool(self.refusing_) and carries_rows(self._fitted, points)
        if is_continuous(self._fitted):
            self.resolution_ = 0.0
        held = {r.party: len(r.rows) for r in representations}
        held |= {party: each.n_records for party, each in self._matching.items()}
        return JoinReport(n_common, {r.party: held[r.party] - n_common for r in representations})

    def share_model(self) -> SharedModel:
        """The model for the parties to explain with, where all of them agree to what it contains."""
        if self.carries_rows_:
            refuse(self.model_, self.refusing_)
        return SharedModel(self.model_, dict(self.widths_), self.resolution_)

    def predict_records(self, representations: Sequence[RecordRepresentation], *, probabilities: bool) -> Array:
        """Predict the records that all parties represent, in the order of the first party's."""
        points = self.points_of(representations)
        predict = self.model_.predict_proba if probabilities else self.model_.predict
        return np.asarray(predict(points))

    def points_of(self, representations: Sequence[RecordRepresentation]) -> FloatArray:
        """The parties' representations of the same records side by side (n, d), in the order of the first's."""
        given = {r.party: r for r in representations}
        if set(given) != set(self.widths_):
            raise ProtocolError(
                f"A prediction needs a representation from each of {sorted(self.widths_)}. Got {sorted(given)}."
            )
        first, columns = representations[0], []
        for party, width in self.widths_.items():
            representation = given[party]
            pair = [(each.party, each.pseudonyms) for each in (first, representation)]
            common, (places, rows) = matched(pair)
            held = len(representation.pseudonyms)
            if representation.rows.shape[1] != width or not len(first.pseudonyms) == len(common) == held:
                raise ProtocolError(
                    f"Party {party!r} must represent the same {len(first.pseudonyms)} records in {width} dimensions. "
                    f"Got {held} records, {len(common)} of them the same, in {representation.rows.shape[1]} dimensions."
                )
            columns.append(representation.rows[rows[np.argsort(places)]])
        return to_grid(np.concatenate(columns, axis=1), self.resolution_)

    def forget_rows(self) -> None:
        """Drop what parties have sent to be trained on; a trained analyst needs none of it."""
        self.held_, self._received, self._labels, self._matching, self._common = {}, {}, None, {}, None

    # --- on disk ------------------------------------------------------------------------------------------

    def adopt(self, trained: Analyst) -> None:
        """Go on with what an earlier attempt at the same training has found."""
        self._fitted, self.alignments_, self.widths_ = trained.model_, trained.alignments_, trained.widths_
        self.resolution_, self.refusing_ = trained.resolution_, trained.refusing_
        self.carries_rows_, self._report = trained.carries_rows_, trained._report
        self._integrations = self._integration_of_each()

    def save(self, folder: str | Path) -> None:
        """Write the trained model and the alignments to a folder."""
        write_folder(folder, self.state())

    def state(self) -> State:
        """What the analyst is made of, to be written to disk."""
        content = {
            "run": self.run,
            "alignment": self.alignment,
            "resolutions": {name: a.resolution for name, a in self.alignments_.items()},
            "widths": self.widths_,
            "refusing": self.refusing_,
            "carries_rows": self.carries_rows_,
            "resolution": self.resolution_,
            "joined": None if self._report is None else asdict(self._report),
        }
        arrays: dict[str, Array] = {}
        for position, alignment in enumerate(self.alignments_.values()):
            arrays[f"weights_{position}"], arrays[f"intercept_{position}"] = alignment.weights, alignment.intercept
        return State(self.kind, content, arrays, {"model": self.model_})

    @classmethod
    def load(cls, folder: str | Path, *, trusted: Sequence[str] = ()) -> Self:
        """Read an analyst from its folder."""
        state = read_folder(folder, kind=cls.kind, trusted=trusted)
        with interpreting(folder):
            return cls._from_state(state)

    @classmethod
    def _from_state(cls, state: State) -> Self:
        analyst = cls(state.models["model"], alignment=state.content["alignment"])
        analyst.run, analyst._fitted = state.content["run"], state.models["model"]
        analyst.resolution_, analyst.carries_rows_ = state.content["resolution"], state.content["carries_rows"]
        analyst.widths_, analyst.refusing_ = state.content["widths"], state.content["refusing"]
        joined = state.content["joined"]
        analyst._report = None if joined is None else JoinReport(**joined)
        analyst.alignments_ = {
            name: Alignment(state.arrays[f"weights_{i}"], state.arrays[f"intercept_{i}"], resolution)
            for i, (name, resolution) in enumerate(state.content["resolutions"].items())
        }
        return analyst

    # --- both ---------------------------------------------------------------------------------------------

    def _fit(self, points: FloatArray, labels: Array, weights: FloatArray | None = None) -> Any:
        fitted = clone(self.model)
        try:
            with self.cluster():
                fitted.fit(points, labels, **({} if weights is None else {"sample_weight": weights}))
        except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError) as error:
            raise ModelError(
                f"{type(self.model).__name__} could not be trained on {points.shape[0]} points of {points.shape[1]} "
                f"dimensions."
            ) from error
        return fitted
