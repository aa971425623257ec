"""Horizontal Data Collaboration in one process: the parties hold the same columns of different rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, Unpack

import pandas as pd
from sklearn.base import is_classifier

from dcshap._typing import Array, FloatArray
from dcshap.collaboration.agreement import Span
from dcshap.collaboration.alignment import AlignmentKind
from dcshap.collaboration.analyst import Analyst
from dcshap.collaboration.anchor import AnchorKind
from dcshap.collaboration.cautions import warn_of_new_maps, warn_of_no_noise
from dcshap.collaboration.horizontal_party import HorizontalParty
from dcshap.collaboration.labels import as_weights, goodness
from dcshap.collaboration.newton import ROUNDS
from dcshap.collaboration.noise import NOISE
from dcshap.collaboration.party import Party, require_name
from dcshap.collaboration.reduction import ReductionKind
from dcshap.collaborations.contributions import contributions_of, scorer_of, worth_of_rows
from dcshap.collaborations.estimator import CollaborationEstimator, for_each
from dcshap.collaborations.quality import Quality, measure_rows
from dcshap.exceptions import InputError
from dcshap.explanation.background import N_BACKGROUND
from dcshap.explanation.disagreement import Disagreement, disagreement, sources_of
from dcshap.explanation.engine import RowOptions
from dcshap.explanation.reference import Reference, reference_rows
from dcshap.explanation.rows import explain_rows
from dcshap.explanation.statement import PartyExplanation
from dcshap.protocol.steps import training
from dcshap.schema import Absent, Missing, Schema

__all__ = ["HorizontalCollaboration"]


class HorizontalCollaboration(CollaborationEstimator):
    """Train one model on the rows of several parties, none of whom shows its rows.

    Parameters
    ----------
    model : scikit-learn compatible estimator, optional
        Logistic regression by default, ridge regression where labels are numbers with fractions: the models whose joint
        explanation is also that of the model on pooled rows.
    n_components : int, float or "auto", default "auto"
        Dimensions of the representations, as a number or a fraction of the columns, rounded. The fewer, the less can
        be reconstructed. "auto" is about a quarter with a supervised span, three quarters otherwise.
    span : {"supervised", "private", "shared", "random"}, default "supervised"
        Which directions the reductions keep. `"supervised"`: those that predict, and random ones, the same at all
        parties, found by secure summation; everybody then explains alike, to machine precision, and close to the pooled
        model. `"shared"`: the leading ones of all rows together. `"random"`: random ones, with nothing exchanged.
        `"private"`: each party's own, as in the paper; parties then explain differently.
    alignment : {"auto", "affine", "svd", "orthogonal"}, default "auto"
        Orthogonal where all parties have one span, affine otherwise.
    noise : float, default 0.2
        Noise on every row that leaves a party, as a fraction of each dimension's root mean square. A row always gets
        the same noise. Without noise the analyst can decode rows by lattice reduction.
    epsilon : float, optional
        Differential privacy of the sums that a supervised span is found from.
    span_rounds : int, default 3
        Newton rounds in which the predicting directions are found; 0 takes Fisher's.
    reduction : {"svd", "pca", "random", "lpp"} or scikit-learn transformer, default "svd"
        Of a private span.
    anchor : {"gaussian", "uniform"} or table, default "gaussian"
    n_anchor : int, default 2000
    schema : Schema, optional
        The agreed data dictionary; built from the parties' tables by default. With a supervised span categories are
        then one-hot, ranges robust, and numbers of large tables may bend.
    scaled : bool, default True
        Whether columns are centred and scaled by the anchor's mean and spread.
    missing : {"error", "reference"}, default "error"
        What a missing value means: a mistake, or that the feature is absent.
    instance_models : bool, default True
        Whether the parties agree that a model which contains training rows leaves the analyst.
    random_state : int, Generator or None

    Attributes
    ----------
    parties_ : dict of str to HorizontalParty
    analyst_ : Analyst
    schema_ : Schema
    sent_ : list of Sent
        What travelled.
    """

    kind: ClassVar[str] = "horizontal collaboration"
    party_class: ClassVar[type[Party]] = HorizontalParty

    def __init__(
        self,
        model: Any = None,
        n_components: int | float | Literal["auto"] = "auto",
        *,
        span: Span = "supervised",
        alignment: AlignmentKind | Literal["auto"] = "auto",
        noise: float = NOISE,
        epsilon: float | None = None,
        span_rounds: int = ROUNDS,
        reduction: ReductionKind | Any = "svd",
        anchor: AnchorKind | Any = "gaussian",
        n_anchor: int = 2000,
        schema: Schema | None = None,
        scaled: bool = True,
        missing: Missing = "error",
        instance_models: bool = True,
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.n_components = n_components
        self.span = span
        self.alignment = alignment
        self.noise = noise
        self.epsilon = epsilon
        self.span_rounds = span_rounds
        self.reduction = reduction
        self.anchor = anchor
        self.n_anchor = n_anchor
        self.schema = schema
        self.scaled = scaled
        self.missing = missing
        self.instance_models = instance_models
        self.random_state = random_state

    def fit(
        self,
        data: Mapping[str, tuple[Any, Any]],
        *,
        sample_weight: Mapping[str, Any] | None = None,
        refit_span: bool = False,
    ) -> Self:
        """Train on each party's rows and labels.

        Trained again, a party keeps its private maps, unless a whole number as `random_state` draws them anew: a row
        that was sent before is sent as it was then.

        Parameters
        ----------
        data : mapping of party name to (X, y)
            Tables of shape (n_i, M) and labels (n_i,): DataFrames, or arrays in schema order with category codes.
        sample_weight : mapping of party name to weights (n_i,), optional
            How many rows each row counts as, 1 at a party that is not named: in the sums behind a common span, unless
            these are private by `epsilon`, and when the model is trained. The analyst sees the weights.
        refit_span : bool, default False
            Find new maps. Who has seen rows through two maps knows more of them than through one.
        """
        data = _require_data(data)
        for name in data:
            require_name(name)
        self._start()
        estimator = self._estimator([y for _, y in data.values()])
        analyst = Analyst(estimator, alignment=self._alignment())
        weights = _require_weights(sample_weight, data, estimator)
        parties = self._gather(data, weights, self._schema_of(data, refit_span=refit_span), estimator)
        kept = not refit_span and self._all_keep_maps(parties)
        if not kept and self._known_parties():
            warn_of_new_maps()
        table = training("horizontal", span=self.span, rounds=self._rounds(estimator), kept=kept)
        self._train(table, parties, analyst)
        return self

    def _schema_of(self, data: Mapping[str, tuple[Any, Any]], *, refit_span: bool) -> Schema:
        """The schema that was given, the one of an earlier training, or a new one."""
        if self.schema is not None:
            return self.schema
        tables = {name: X for name, (X, _) in data.items()}
        known = () if refit_span else self._known_parties().values()
        return self._schema_from(tables, next(iter(known), None))

    def _rounds(self, estimator: Any) -> int:
        return self.span_rounds if is_classifier(estimator) and self.epsilon is None else 0

    def _alignment(self) -> AlignmentKind:
        if self.alignment != "auto":
            return self.alignment
        return "affine" if self.span == "private" else "orthogonal"

    def _all_keep_maps(self, parties: Mapping[str, HorizontalParty]) -> bool:
        """Whether all parties could take over the maps of an earlier training."""
        kept = self._keep_maps(parties)
        if any(kept) and not all(kept):
            raise InputError(
                "A party that was not there before has no maps that the others know. Pass refit_span=True to find new "
                "ones for all."
            )
        return all(kept)

    @property
    def schema_(self) -> Schema:
        """The dictionary that all parties agreed on."""
        self._require_fitted()
        schema: Schema = next(iter(self.parties_.values())).agreement.schema
        return schema

    def _gather(
        self, data: Mapping[str, tuple[Any, Any]], weights: Mapping[str, FloatArray], schema: Schema, estimator: Any
    ) -> dict[str, HorizontalParty]:
        warn_of_no_noise(self.noise)
        agreement = self._agreed(
            schema, estimator, n_components=self.n_components, span_rounds=self.span_rounds, epsilon=self.epsilon
        )
        parties = {
            name: HorizontalParty(
                name, agreement, private_seed=self._private_seed(name), instance_models=self.instance_models
            )
            for name in data
        }
        for_each(data, lambda name: parties[name].take(*data[name], weights.get(name)))
        return parties

    # --- prediction: a party needs nobody any more ------------------------------------------------------------

    def predict(self, X: Any, *, party: str, **absent: Unpack[Absent]) -> Array:
        """Predict rows (n, M) with one party's maps and the model.

        `missing="reference"` and `unknown="reference"` predict rows with missing values or unknown categories as if
        these features were absent.
        """
        prediction: Array = self._party(party).predict(X, **absent)
        return prediction

    def predict_proba(self, X: Any, *, party: str, **absent: Unpack[Absent]) -> FloatArray:
        """Class probabilities (n, K) of rows (n, M) with one party's maps and the model; options as of `predict`."""
        probabilities: FloatArray = self._party(party).predict_proba(X, **absent)
        return probabilities

    def score(self, X: Any, y: Any, *, party: str) -> float:
        """Accuracy of one party's predictions, or R² for a regressor."""
        return goodness(self._party(party).model_, y, self.predict(X, party=party))

    def quality(self, X: Any, y: Any, *, party: str) -> Quality:
        """Whether collaborating is worth it for a party, on held-out rows (n, M) and labels (n,).

        Accuracy, AUC and calibration of its model alone, of the joint one, and of the one on pooled rows; and how far
        the joint model's explanations are from those of the other two. It needs the rows that were trained with, so
        a run that was loaded from disk cannot tell.
        """
        self._party(party)
        return measure_rows(self.parties_, party, X, y)

    def contributions(self, X: Any, y: Any, *, metric: str | None = None) -> pd.DataFrame:
        """What each party's rows are worth: its Shapley value to the joint model's score on rows (n, M), labels (n,).

        The analyst trains on every coalition of parties from what it holds; no further message travels. Exact up to
        12 parties, sampled with standard errors beyond.

        Parameters
        ----------
        X : table of shape (n, M)
        y : labels (n,)
        metric : str, optional
            A scorer's name as scikit-learn has it; accuracy of a classifier, R² of a regressor by default.
        """
        held, alignments = self._held(), self.analyst_.alignments_
        aligned = {name: (alignments[name].transform(rows), own, w) for name, (rows, own, w) in held.items()}
        points = next(iter(self.parties_.values())).points(X)
        worth = worth_of_rows(aligned, self.analyst_.model_, scorer_of(metric, y), points)
        return contributions_of(list(aligned), worth)

    # --- explanation ------------------------------------------------------------------------------------------

    def explain(
        self,
        X: Any,
        *,
        party: str,
        reference: Any = "anchor",
        n_background: int = N_BACKGROUND,
        **options: Unpack[RowOptions],
    ) -> PartyExplanation:
        """Explain one party's predictions of rows (n, M).

        Parameters
        ----------
        X : table of shape (n, M)
        party : str
            Whose maps to use; nobody else is asked.
        reference : {"anchor", "background", "own", "mean", "medoid"}, row or rows, default "anchor"
            What stands for "feature absent". `"anchor"`, Algorithm 2: the anchor's median, the same for all parties, so
            that values compare with the typical case. `"background"`: a synthetic population, the same for all parties
            too, so that they compare with everybody, and the base value is the average prediction.
            `"own"`, Algorithm 1: the median of the party's own rows, as plain KernelSHAP has it; `"mean"` and
            `"medoid"` are other choices from its own rows. Or a given row, or several.
        n_background : int, default 100
            How many rows a background has. Values are averaged over them.
        **options
            `groups`, `method`, `max_evals`, `tol`, `batch_size`, `n_jobs`, `random_state`, `progress`, as in
            `shapley_values`; `missing` and `unknown` as in `predict`.
        """
        return explain_rows(self._party(party), X, reference=reference, n_background=n_background, **options)

    def disagreement(
        self, X: Any, *, reference: Any = "anchor", threshold: float = 0.05, **options: Unpack[RowOptions]
    ) -> Disagreement:
        """Explain rows at every party, and say how far the explanations differ, and why.

        Beside what `dcshap.disagreement` tells, every party's maps are tried with every other's reference, so that
        the difference can be split into what the references and what the maps make of it. That shows parties'
        references to each other: it is for an audit in one process.
        """
        self._require_fitted()
        own = {name: Reference(reference_rows(each, reference, warn=True)) for name, each in self.parties_.items()}

        def explained(maps: str, reference_from: str) -> PartyExplanation:
            return explain_rows(self.parties_[maps], X, reference=own[reference_from], **options)

        straight = {name: explained(name, name) for name in own}
        return disagreement(straight, threshold=threshold, sources=sources_of(straight, explained))


def _require_data(data: Any) -> Mapping[str, tuple[Any, Any]]:
    if not isinstance(data, Mapping) or not all(isinstance(e, tuple | list) and len(e) == 2 for e in data.values()):
        raise InputError("Data must be a mapping of party name to (X, y).")
    if len(data) < 2:
        raise InputError(f"A collaboration needs at least two parties. Got {len(data)}.")
    return data


def _require_weights(sample_weight: Any, data: Mapping[str, tuple[Any, Any]], estimator: Any) -> dict[str, FloatArray]:
    """Every party's weights, of those that have any."""
    if sample_weight is None:
        return {}
    if not isinstance(sample_weight, Mapping) or not set(sample_weight) <= set(data):
        raise InputError(f"`sample_weight` must be a mapping of some of {list(data)} to weights.")
    return {name: as_weights(w, n_labels=len(data[name][1]), model=estimator) for name, w in sample_weight.items()}
