"""Vertical Data Collaboration in one process: the parties hold different columns of the same records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Self

import pandas as pd

from dcshap._tables import as_frame, is_array
from dcshap._typing import Array, FloatArray
from dcshap.collaboration.agreement import Agreement
from dcshap.collaboration.analyst import Analyst
from dcshap.collaboration.anchor import AnchorKind
from dcshap.collaboration.messages import ANALYST, JoinReport
from dcshap.collaboration.party import Party
from dcshap.collaboration.randomness import SEED_BITS, derived_seed
from dcshap.collaboration.records import identifiers
from dcshap.collaboration.reduction import ReductionKind
from dcshap.collaboration.training import Training, for_each, goodness
from dcshap.collaboration.vertical_party import VerticalParty, require_same_records
from dcshap.exceptions import InputError, ModelError, SchemaError
from dcshap.schema import Missing, Schema

__all__ = ["VerticalTraining"]


class VerticalTraining(Training):
    """Train one model on the columns of several parties, none of whom shows its columns.

    Parameters
    ----------
    model : scikit-learn compatible estimator
    n_components : int, float or mapping of party name to either, default 0.75
        Dimensions of each party's representation, as a number or a fraction of its columns, rounded.
    reduction : {"svd", "pca", "random", "lpp"} or scikit-learn transformer, default "svd"
    anchor : {"gaussian", "uniform"}, default "gaussian"
        Where the reference is taken from; vertical parties need no alignment.
    n_anchor : int, default 2000
    schema : Schema, optional
        The dictionary of all parties' columns; built from the tables by default.
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
        model: Any,
        n_components: int | float | Mapping[str, int | float] = 0.75,
        *,
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
        self.reduction = reduction
        self.anchor = anchor
        self.n_anchor = n_anchor
        self.schema = schema
        self.scaled = scaled
        self.missing = missing
        self.instance_models = instance_models
        self.random_state = random_state

    def fit(self, X: Mapping[str, Any], y: Any, *, label_party: str | None = None) -> Self:
        """Train on each party's columns, and the labels of the one party that holds them.

        Records are matched by a DataFrame's index, or by position in arrays of the same length; those that not all
        parties hold are left out and counted in `joined_`.

        Parameters
        ----------
        X : mapping of party name to table (n_i, M_i)
        y : labels
            A Series is matched by its index, anything else row by row with the label party's table.
        label_party : str, optional
            Who holds the labels; the first party by default.
        """
        X = _require_tables(X)
        if y is None:
            raise InputError("One party must bring labels. Got None as `y`.")
        holder = next(iter(X)) if label_party is None else label_party
        if holder not in X:
            raise InputError(f"`label_party` must be one of {list(X)}. Got {holder!r}.")
        self._start()
        parties = self._gather(X, y, holder)
        analyst = Analyst(self.model)
        ordered = [parties[name] for name in sorted(parties)]
        self._agree_on_anchor(ordered)
        self._agree_on_key(ordered)
        received = [self._deliver(party.name, ANALYST, party.represent()) for party in ordered]
        report = analyst.join(received, self._deliver(holder, ANALYST, parties[holder].labels()))
        for party in ordered:
            self._deliver(ANALYST, party.name, report)
        self.parties_, self.analyst_, self.joined_ = parties, analyst, report
        return self

    def _more_content(self) -> dict[str, Any]:
        return {"joined": asdict(self.joined_)}

    def _restore(self, content: dict[str, Any]) -> None:
        self.joined_ = JoinReport(**content["joined"])

    def _gather(self, X: Mapping[str, Any], y: Any, holder: str) -> dict[str, VerticalParty]:
        parties: dict[str, VerticalParty] = {}

        def gather(name: str) -> None:
            parties[name] = VerticalParty(
                name,
                self._agreement(name, X[name]),
                private_seed=self._private_seed(name),
                instance_models=self.instance_models,
            )
            parties[name].take(X[name], y if name == holder else None)

        for_each(X, gather)
        _require_disjoint(parties)
        if self.schema is not None:
            held = {column for party in parties.values() for column in party.agreement.schema.names}
            unheld = [column for column in self.schema.names if column not in held]
            if unheld:
                raise SchemaError(f"Each column of the schema must belong to a party. Nobody brings {unheld}.")
        return parties

    def _agreement(self, name: str, table: Any) -> Agreement:
        if self.schema is None:
            schema = Schema.from_frames({name: table})
        elif is_array(table):
            raise InputError(f"With a given schema, party {name!r} must bring a DataFrame, so that columns are known.")
        else:
            held = set(as_frame(table).columns)
            schema = self.schema.select([column for column in self.schema.names if column in held])
        n_components = self.n_components
        if isinstance(n_components, Mapping):
            if name not in n_components:
                raise InputError(f"`n_components` must name every party. It names {sorted(map(str, n_components))}.")
            n_components = n_components[name]
        return Agreement(
            schema,
            n_components=n_components,
            reduction=self.reduction,
            anchor=self.anchor,
            n_anchor=self.n_anchor,
            scaled=self.scaled,
            missing=self.missing,
        )

    def _agree_on_key(self, parties: Sequence[VerticalParty]) -> None:
        lead, *others = parties
        # From the root, so that a run can be repeated: records are joined in the order of their pseudonyms.
        key = derived_seed(self._root, "pseudonyms").to_bytes(SEED_BITS // 8, "big")
        proposal = lead.propose_key(key)
        for party in others:
            party.receive_key(self._deliver(lead.name, party.name, proposal))

    # --- prediction: needs every party's representation of the record -----------------------------------------

    def predict(self, X: Mapping[str, Any]) -> Array:
        """Predict records, each party bringing its columns (n, M_i); in the order of the first table."""
        return self._predict(X, probabilities=False)

    def predict_proba(self, X: Mapping[str, Any]) -> FloatArray:
        """Class probabilities (n, K) of records, each party bringing its columns (n, M_i)."""
        self._require_fitted()
        if not hasattr(self.analyst_.model_, "predict_proba"):
            raise ModelError(f"{type(self.model).__name__} gives no probabilities: use `predict`.")
        return self._predict(X, probabilities=True)

    def score(self, X: Mapping[str, Any], y: Any) -> float:
        """Accuracy, or R² for a regressor; labels in the order of the first table."""
        return goodness(self.model, y, self.predict(X))

    def _predict(self, X: Mapping[str, Any], *, probabilities: bool) -> Array:
        self._require_records(X)
        received = [self._deliver(name, ANALYST, self.parties_[name].represent_records(X[name])) for name in X]
        return self.analyst_.predict_records(received, probabilities=probabilities)

    def _require_records(self, X: Mapping[str, Any]) -> None:
        """Every party must bring a table, and all tables must be of the same records."""
        self._require_fitted()
        if not isinstance(X, Mapping) or set(X) != set(self.parties_):
            given = sorted(map(str, X)) if isinstance(X, Mapping) else type(X).__name__
            raise InputError(f"Each of {list(self.parties_)} must bring its columns. Got {given}.")
        require_same_records({name: identifiers(table) for name, table in X.items()})


def _require_tables(X: Any) -> Mapping[str, Any]:
    if not isinstance(X, Mapping):
        raise InputError("Data must be a mapping of party name to table.")
    if len(X) < 2:
        raise InputError(f"A collaboration needs at least two parties. Got {len(X)}.")
    lengths = {name: len(table) for name, table in X.items() if not isinstance(table, pd.DataFrame)}
    if len(set(lengths.values())) > 1:
        raise InputError(
            f"Arrays are matched row by row and must have the same length. Got {lengths}. Pass pandas DataFrames with "
            f"the record identifier as index to match by it."
        )
    return {name: _with_names(name, table) if is_array(table) else table for name, table in X.items()}


def _with_names(party: str, array: Any) -> pd.DataFrame:
    """An array's columns carry the party's name, or two parties' x0 would be two features of one name."""
    frame = as_frame(array)
    return frame.set_axis([f"{party}.{column}" for column in frame.columns], axis=1)


def _require_disjoint(parties: Mapping[str, VerticalParty]) -> None:
    names = [column for party in parties.values() for column in party.agreement.schema.names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SchemaError(f"Each column must belong to one party. Held by several: {twice}. Rename or drop them.")
