"""Horizontal Data Collaboration in one process: the parties hold the same columns of different rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, Unpack

from dcshap._typing import Array, FloatArray
from dcshap.collaboration.agreement import Agreement, Span
from dcshap.collaboration.alignment import AlignmentKind
from dcshap.collaboration.analyst import Analyst
from dcshap.collaboration.anchor import AnchorKind
from dcshap.collaboration.horizontal_party import HorizontalParty
from dcshap.collaboration.labels import goodness
from dcshap.collaboration.party import Party, require_name
from dcshap.collaboration.reduction import ReductionKind
from dcshap.collaborations.estimator import CollaborationEstimator, for_each
from dcshap.exceptions import InputError
from dcshap.explanation.disagreement import Disagreement, disagreement, sources_of
from dcshap.explanation.engine import EngineOptions
from dcshap.explanation.reference import reference_of
from dcshap.explanation.rows import explain_rows
from dcshap.explanation.statement import PartyExplanation
from dcshap.protocol.steps import training
from dcshap.schema import Missing, Schema

__all__ = ["HorizontalCollaboration"]


class HorizontalCollaboration(CollaborationEstimator):
    """Train one model on the rows of several parties, none of whom shows its rows.

    Parameters
    ----------
    model : scikit-learn compatible estimator
    n_components : int or float, default 0.75
        Dimensions of the representations, as a number or a fraction of the columns, rounded. The fewer, the less can
        be reconstructed.
    span : {"private", "shared", "random"}, default "private"
        Whose subspace the reductions keep. `"private"`: each party's own. `"shared"`: that of all rows together,
        found by secure summation; all parties then explain alike to machine precision, and the leading party learns
        the total's moments. `"random"`: a random one; the same agreement with nothing exchanged.
    alignment : {"affine", "svd", "orthogonal"}, default "affine"
    reduction : {"svd", "pca", "random", "lpp"} or scikit-learn transformer, default "svd"
    anchor : {"gaussian", "uniform"} or table, default "gaussian"
    n_anchor : int, default 2000
    schema : Schema, optional
        The agreed data dictionary; built from the parties' tables by default.
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
        model: Any,
        n_components: int | float = 0.75,
        *,
        span: Span = "private",
        alignment: AlignmentKind = "affine",
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
        self.reduction = reduction
        self.anchor = anchor
        self.n_anchor = n_anchor
        self.schema = schema
        self.scaled = scaled
        self.missing = missing
        self.instance_models = instance_models
        self.random_state = random_state

    def fit(self, data: Mapping[str, tuple[Any, Any]]) -> Self:
        """Train on each party's rows and labels.

        A party that was there before keeps its private maps: trained again on the same rows it sends the same again.

        Parameters
        ----------
        data : mapping of party name to (X, y)
            Tables of shape (n_i, M) and labels (n_i,): DataFrames, or arrays in schema order with category codes.
        """
        data = _require_data(data)
        for name in data:
            require_name(name)
        schema = self.schema or Schema.from_frames({name: X for name, (X, _) in data.items()})
        self._start()
        parties = self._gather(data, schema)
        analyst = Analyst(self.model, alignment=self.alignment)
        self._train(training("horizontal", span=self.span), parties, analyst)
        return self

    @property
    def schema_(self) -> Schema:
        """The dictionary that all parties agreed on."""
        self._require_fitted()
        schema: Schema = next(iter(self.parties_.values())).agreement.schema
        return schema

    def _gather(self, data: Mapping[str, tuple[Any, Any]], schema: Schema) -> dict[str, HorizontalParty]:
        agreement = Agreement(
            schema,
            n_components=self.n_components,
            reduction=self.reduction,
            span=self.span,
            anchor=self.anchor,
            n_anchor=self.n_anchor,
            scaled=self.scaled,
            missing=self.missing,
        )
        parties = {
            name: HorizontalParty(
                name, agreement, private_seed=self._private_seed(name), instance_models=self.instance_models
            )
            for name in data
        }
        for_each(data, lambda name: parties[name].take(*data[name]))
        return parties

    # --- prediction: a party needs nobody any more ------------------------------------------------------------

    def predict(self, X: Any, *, party: str) -> Array:
        """Predict rows (n, M) with one party's maps and the model."""
        prediction: Array = self._party(party).predict(X)
        return prediction

    def predict_proba(self, X: Any, *, party: str) -> FloatArray:
        """Class probabilities (n, K) of rows (n, M) with one party's maps and the model."""
        probabilities: FloatArray = self._party(party).predict_proba(X)
        return probabilities

    def score(self, X: Any, y: Any, *, party: str) -> float:
        """Accuracy of one party's predictions, or R² for a regressor."""
        return goodness(self.model, y, self.predict(X, party=party))

    # --- explanation ------------------------------------------------------------------------------------------

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


def _require_data(data: Any) -> Mapping[str, tuple[Any, Any]]:
    if not isinstance(data, Mapping) or not all(isinstance(e, tuple | list) and len(e) == 2 for e in data.values()):
        raise InputError("Data must be a mapping of party name to (X, y).")
    if len(data) < 2:
        raise InputError(f"A collaboration needs at least two parties. Got {len(data)}.")
    return data
