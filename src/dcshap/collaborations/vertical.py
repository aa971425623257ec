"""Vertical Data Collaboration in one process: the parties hold different columns of the same records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, Unpack

import pandas as pd

from dcshap._machine import new_identifier
from dcshap._tables import as_frame
from dcshap._typing import Array, FloatArray
from dcshap.collaboration.agreement import Agreement, Span, require_one_holder
from dcshap.collaboration.analyst import Analyst
from dcshap.collaboration.anchor import AnchorKind
from dcshap.collaboration.cautions import warn_of_new_maps, warn_of_no_noise
from dcshap.collaboration.labels import as_weights, goodness
from dcshap.collaboration.messages import ANALYST, REQUESTER, JoinReport, PseudonymKey
from dcshap.collaboration.noise import NOISE
from dcshap.collaboration.party import FULL, Party
from dcshap.collaboration.randomness import SEED_BITS, derived_seed
from dcshap.collaboration.records import Records, in_one_order
from dcshap.collaboration.reduction import ReductionKind
from dcshap.collaboration.vertical_party import VerticalParty
from dcshap.collaborations import held_columns
from dcshap.collaborations.contributions import contributions_of, scorer_of, worth_of_columns
from dcshap.collaborations.estimator import CollaborationEstimator, for_each
from dcshap.collaborations.quality import Quality, measure_records
from dcshap.exceptions import InputError, ModelError, ProtocolError
from dcshap.explanation.answering import AnsweringAnalyst, AnsweringParty, Asking
from dcshap.explanation.background import N_BACKGROUND
from dcshap.explanation.disclosures import Request
from dcshap.explanation.enclosure import Enclosure, enclosed
from dcshap.explanation.engine import RowOptions, parts_of
from dcshap.explanation.reference import kind_of
from dcshap.explanation.statement import PartyExplanation
from dcshap.protocol import Cast, Protocol, run_in_memory
from dcshap.protocol.steps import ALGORITHM_3, ALGORITHM_4, PARTY_VIEWS, PREDICT, SHARE_MODEL, training
from dcshap.schema import Absent, Missing, Schema

__all__ = ["VerticalCollaboration"]


class VerticalCollaboration(CollaborationEstimator):
    """Train one model on the columns of several parties, none of whom shows its columns.

    Parameters
    ----------
    model : scikit-learn compatible estimator, optional
        Logistic regression by default, ridge regression where labels are numbers with fractions.
    n_components : int, float, "auto" or mapping of party name to either, default "auto"
        Dimensions of each party's representation, as a number or a fraction of its columns, rounded. "auto" is about a
        quarter with a supervised span, three quarters otherwise.
    span : {"supervised", "private", "random"}, default "supervised"
        Which directions a party's reduction keeps. `"supervised"`: those that predict the labels, and random ones. A
        party without labels learns the sums of its columns with them, which nobody else does. `"private"`: those of
        the `reduction`, as in the paper. `"random"`: random ones.
    noise : float, default 0.2
        Noise on everything that leaves a party, as a fraction of each dimension's root mean square. A record always
        gets the same noise. Without noise the analyst can decode rows by lattice reduction.
    reduction : {"svd", "pca", "random", "lpp"} or scikit-learn transformer, default "svd"
        Of a private span.
    anchor : {"gaussian", "uniform"}, default "gaussian"
        Where the reference is taken from; vertical parties need no alignment.
    n_anchor : int, default 2000
    schema : Schema, optional
        The dictionary of all parties' columns; built from each party's table by default. With a supervised span
        categories are then one-hot, ranges robust, and numbers of large tables may bend.
    scaled : bool, default True
    missing : {"error", "reference"}, default "error"
    instance_models : bool, default True
        Whether the parties agree that a model which contains training rows leaves the analyst.
    random_state : int, Generator or None

    Attributes
    ----------
    parties_ : dict of str to VerticalParty
    analyst_ : Analyst
    joined_ : JoinReport
        How many records all parties hold, and how many of each were left out.
    sent_ : list of Sent
        What travelled.
    """

    kind: ClassVar[str] = "vertical collaboration"
    party_class: ClassVar[type[Party]] = VerticalParty

    def __init__(
        self,
        model: Any = None,
        n_components: int | float | Literal["auto"] | Mapping[str, int | float] = "auto",
        *,
        span: Span = "supervised",
        noise: float = NOISE,
        reduction: ReductionKind | Any = "svd",
        anchor: AnchorKind = "gaussian",
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
        self.noise = noise
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
        X: Mapping[str, Any],
        y: Any,
        *,
        label_party: str | None = None,
        sample_weight: Any = None,
        refit_span: bool = False,
    ) -> Self:
        """Train on each party's columns, and the labels of the one party that holds them.

        Records are matched by a DataFrame's index, or by position in arrays of the same length; those that not all
        parties hold are left out and counted in `joined_`: nothing of them but their pseudonyms leaves a party.

        Trained again, a party keeps its private maps, unless a whole number as `random_state` draws them anew: a record
        that was sent before is sent as it was then.

        Parameters
        ----------
        X : mapping of party name to table (n_i, M_i)
        y : labels
            A Series is matched by its index, anything else row by row with the label party's table.
        label_party : str, optional
            Who holds the labels; the first party by default.
        sample_weight : array of shape (n,), optional
            How many records each counts as, in the labels' order. The analyst sees them. A guest gets its sums with
            the labels by weight, and with them what the weights add up to.
        refit_span : bool, default False
            Find new maps. Who has seen records through two maps knows more of them than through one.
        """
        X = held_columns.require_tables(X, self.schema)
        holder = held_columns.require_holder(X, y, label_party)
        self._start()
        estimator = self._estimator([y])
        analyst = Analyst(estimator)
        brought = {holder: (y, as_weights(sample_weight, n_labels=len(y), model=estimator))}
        parties = self._gather(X, brought, estimator, refit_span=refit_span)
        kept = not refit_span and all(self._keep_maps(parties))  # each party's are its own
        if not kept and self._known_parties():
            warn_of_new_maps()
        parties[min(parties)].receive_pseudonym_key(PseudonymKey(self._pseudonym_key()))
        # The model is shared when the first view needs it: not everybody may agree to what it contains.
        self._train(training("vertical", span=self.span, kept=kept, share=False), parties, analyst, holder=holder)
        return self

    def _pseudonym_key(self) -> bytes:
        """The key of an earlier training, or from the root: records are joined in the order of their pseudonyms."""
        for party in self._known_parties().values():
            return bytes(party.key)
        return derived_seed(self._root, "pseudonyms").to_bytes(SEED_BITS // 8, "big")

    @property
    def joined_(self) -> JoinReport:
        """How many records all parties hold, and how many of each were left out."""
        self._require_fitted()
        return self.analyst_.joined

    def _gather(
        self, X: Mapping[str, Any], brought: Mapping[str, tuple[Any, FloatArray]], estimator: Any, *, refit_span: bool
    ) -> dict[str, VerticalParty]:
        warn_of_no_noise(self.noise)
        parties: dict[str, VerticalParty] = {}

        def gather(name: str) -> None:
            parties[name] = VerticalParty(
                name,
                self._agreement(name, X[name], estimator, refit_span=refit_span),
                private_seed=self._private_seed(name),
                instance_models=self.instance_models,
            )
            parties[name].take(X[name], *brought.get(name, ()))

        for_each(X, gather)
        columns = [column for party in parties.values() for column in party.agreement.schema.names]
        require_one_holder(columns, self.schema)
        return parties

    def _agreement(self, name: str, table: Any, estimator: Any, *, refit_span: bool) -> Agreement:
        if self.schema is None:
            schema = self._schema_from({name: table}, None if refit_span else self._known_parties().get(name))
        else:
            held = set(as_frame(table).columns)
            schema = self.schema.select([column for column in self.schema.names if column in held])
        n_components = held_columns.components_of(self.n_components, name)
        return self._agreed(schema, estimator, n_components=n_components, span_rounds=0)

    # --- prediction: needs every party's representation of the record -----------------------------------------

    def predict(self, X: Mapping[str, Any], **absent: Unpack[Absent]) -> Array:
        """Predict records, each party bringing its columns (n, M_i), in the first's order; options as horizontally."""
        return self._predict(X, absent, probabilities=False)

    def predict_proba(self, X: Mapping[str, Any], **absent: Unpack[Absent]) -> FloatArray:
        """Class probabilities (n, K) of records, each party bringing its columns (n, M_i)."""
        self._require_fitted()
        if not hasattr(self.analyst_.model_, "predict_proba"):
            raise ModelError(f"{type(self.analyst_.model_).__name__} gives no probabilities: use `predict`.")
        return self._predict(X, absent, probabilities=True)

    def score(self, X: Mapping[str, Any], y: Any) -> float:
        """Accuracy, or R² for a regressor; labels in the order of the first table."""
        predicted = self.predict(X)
        return goodness(self.analyst_.model_, y, predicted)

    def quality(self, X: Mapping[str, Any], y: Any, *, party: str) -> Quality:
        """Whether collaborating is worth it for a party, on held-out records, and labels in the first table's order.

        Accuracy, AUC and calibration of a model of the party's columns alone, of the joint one, and of one of all
        columns; and how far the joint model's explanations are from those of the other two. The party with the labels
        and all tables must be at hand, so a run that was loaded from disk cannot tell.
        """
        self._party(party)
        return measure_records(self.parties_, self.analyst_, party, self._records(X), y)

    def contributions(self, X: Mapping[str, Any], y: Any, *, metric: str | None = None) -> pd.DataFrame:
        """What each party's columns are worth: its Shapley value to the joint model's score on records and labels (n,).

        The analyst trains on every coalition of parties from what it holds. As `HorizontalCollaboration.contributions`;
        what is held out is represented as for a prediction.
        """
        held, asked = self._held(), self._records(X)
        points = {name: self.parties_[name].represent(asked[name]).rows for name in held}
        worth = worth_of_columns(held, self.analyst_.model_, scorer_of(metric, y), points)
        return contributions_of(list(held), worth)

    def _predict(self, X: Mapping[str, Any], absent: Absent, *, probabilities: bool) -> Array:
        self._require_fitted()
        asking = self._ask(
            self._records(X, **absent), PREDICT, AnsweringAnalyst(self.analyst_, probabilities=probabilities)
        )
        if asking.prediction is None:
            raise ProtocolError("The analyst must answer a request for a prediction. It did not.")
        return asking.prediction.values

    # --- explanation ------------------------------------------------------------------------------------------

    def explain(
        self,
        X: Mapping[str, Any],
        *,
        view: str = FULL,
        index: Literal["shapley", "owen"] = "owen",
        merged: bool = False,
        reference: Any = "anchor",
        n_background: int = N_BACKGROUND,
        **options: Unpack[RowOptions],
    ) -> PartyExplanation:
        """Explain the predictions of records, each party bringing its columns (n, M_i).

        - `view="full", index="owen"`: the union of the party views
        - a party, `index="owen"`: its party view, its features and a "DC Features" bar per other party
        - a party, `index="shapley"`: Algorithm 4, the same players; views differ a little from each other
        - `view="full", index="shapley"`: Algorithm 3, which shows the analyst what columns add, and so decodes records

        Parameters
        ----------
        X : mapping of party name to table (n, M_i)
            Of the same records, known by a DataFrame's index or by position.
        view : str, default "full"
        index : {"owen", "shapley"}, default "owen"
        merged : bool, default False
            Algorithm 4 with one bar for all other parties together.
        reference : {"anchor", "background", "own", "mean", "medoid"} or mapping, default "anchor"
            Each party's reference for its own columns. `"background"`: a synthetic population, of which each party
            draws its own columns; values compare with everybody, and the base value is the average prediction. Or a row
            or table for every party by its name, all of the same length: row b of all of them is one reference.
        n_background : int, default 100
            How many rows a background has; 500 at most.
        **options
            `groups`, `method`, `max_evals`, `tol`, `batch_size`, `n_jobs`, `random_state`, `progress`, as in
            `shapley_values`; `missing` and `unknown` as in `predict`. A group holds columns of one party, of several
            in Algorithm 3 only; for one party's view it is enough to group its own.
        """
        if index not in ("shapley", "owen"):
            raise InputError(f"`index` must be 'shapley' or 'owen'. Got {index!r}.")
        self._require_fitted()
        rows = None if isinstance(reference, str) else held_columns.require_references(reference, self.parties_)
        if view != FULL:
            self._party(view, "view")
        if merged and (view == FULL or index == "owen"):
            raise InputError("`merged` belongs to Algorithm 4: one party's view, with index='shapley'.")
        protocol = PARTY_VIEWS if index == "owen" else ALGORITHM_3 if view == FULL else ALGORITHM_4
        groups, absent, engine = parts_of(options)
        asked = Enclosure(groups=held_columns.groups_asked(groups, self.parties_, view=view))
        with_it = {name: {"rows": (rows or {}).get(name), **engine} for name in self.parties_}
        if protocol is not ALGORITHM_3:
            self._share_model()
        analyst = AnsweringAnalyst(self.analyst_, **engine)
        what = {"view": view, "merged": merged, "n_background": n_background}
        what["reference"] = reference if rows is None else "given"
        explained = self._ask(self._records(X, **absent), protocol, analyst, with_it, asked, **what).explanation()
        targets = [party.target for party in self.parties_.values() if party.target]
        return replace(explained, reference_choice=kind_of(reference)).of_target(next(iter(targets), None))

    # --- both: a request, and who answers it ------------------------------------------------------------------

    def _ask(
        self,
        held: Mapping[str, Records],
        protocol: Protocol,
        analyst: AnsweringAnalyst,
        with_it: Mapping[str, Mapping[str, Any]] | None = None,
        enclosure: Enclosure | None = None,
        **what: Any,
    ) -> Asking:
        """Have the parties, with what each is to answer with, and the analyst answer a request for records."""
        if protocol is PREDICT and not all(map(len, held.values())):
            raise InputError("At least one record must be asked for. Got none.")
        records = next(iter(held.values())).identifiers
        about = ("", new_identifier(), "", self.analyst_.run, protocol.name, tuple(records))
        request = enclosed(Request(*about, **({"view": FULL} | what)), enclosure or Enclosure())
        asking = Asking(request, list(self.parties_))
        roles: dict[str, Any] = {
            name: AnsweringParty(party, held[name], request, **(with_it or {}).get(name, {}))
            for name, party in self.parties_.items()
        }
        names = tuple(sorted(self.parties_))
        cast = Cast(names, viewers=names if request.view == FULL else (request.view,))
        roles |= {ANALYST: analyst, REQUESTER: asking}
        run_in_memory(protocol, cast, roles, conductor=REQUESTER, record=self._record)
        return asking

    def _share_model(self) -> None:
        """Give the parties their copy of the model, once, if all agree to what it contains."""
        if any(party.shared_model_ is None for party in self.parties_.values()):
            cast, roles = Cast(tuple(sorted(self.parties_))), {**self.parties_, ANALYST: self.analyst_}
            run_in_memory(SHARE_MODEL, cast, roles, conductor=ANALYST, record=self._record)

    def _records(self, X: Mapping[str, Any], **absent: Unpack[Absent]) -> dict[str, Records]:
        """Every party's records, which must be the same, in the order of the first table."""
        self._require_fitted()
        return in_one_order(held_columns.records_of(X, self.parties_, **absent))
