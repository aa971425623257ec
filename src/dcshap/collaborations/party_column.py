"""A collaboration as an estimator of one table, for studies that simulate parties: a column says whose each row is."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from dcshap._typing import Array, FloatArray, IntArray
from dcshap.collaboration.labels import target_name
from dcshap.collaborations.horizontal import HorizontalCollaboration
from dcshap.exceptions import InputError

__all__ = ["PartyColumnClassifier", "PartyColumnRegressor"]


class _PartyColumn(BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """What the two have in common: whose each row is, and a collaboration of these parties."""

    def __init__(
        self,
        party_column: str | None = None,
        *,
        collaboration: HorizontalCollaboration | None = None,
        n_parties: int = 2,
        random_state: int | None = 0,
    ) -> None:
        self.party_column = party_column
        self.collaboration = collaboration
        self.n_parties = n_parties
        self.random_state = random_state

    def _train(self, X: Any, y: Array, sample_weight: Any, name: str | None) -> None:
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
            counted = np.flatnonzero(weights)  # a row that counts nothing is not there
            X, y, weights = _taken(X, counted), y[counted], weights[counted]
        parties = self._parties_of(X)
        rows = {str(party): np.flatnonzero(parties == party) for party in np.unique(parties)}
        table, labels = self._columns(X), pd.Series(y, name=name)
        data = {party: (_taken(table, at), labels.iloc[at]) for party, at in rows.items()}
        given = None if weights is None else {party: weights[at] for party, at in rows.items()}
        self.collaboration_ = clone(self._collaboration()).fit(data, sample_weight=given)

    def _collaboration(self) -> HorizontalCollaboration:
        if self.collaboration is not None:
            return self.collaboration
        return HorizontalCollaboration(self._default_model(), random_state=self.random_state)

    def _default_model(self) -> Any:
        raise NotImplementedError

    def _parties_of(self, X: Any) -> Array:
        """Whose each row is; without a column rows are dealt out in turn."""
        if self.party_column is None:
            return np.array([f"party {at % self.n_parties + 1}" for at in range(len(X))])
        if not isinstance(X, pd.DataFrame) or self.party_column not in X.columns:
            raise InputError(
                f"Rows must be a DataFrame with the column {self.party_column!r}, which says whose each is."
            )
        return np.asarray(X[self.party_column].astype(str))

    def _columns(self, X: Any) -> Any:
        return X if self.party_column is None else X.drop(columns=self.party_column)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """A frame whose columns have names as it is, anything else as numbers."""
        if _is_named(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(self, X, reset=reset)

    def _by_party(self, X: Any, method: str) -> Array:
        """Every row's prediction with its own party's maps; rows of others with those of the first."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        known = list(self.collaboration_.parties_)
        parties = np.array([party if party in known else known[0] for party in self._parties_of(X)])
        table, found = self._columns(X), dict[int, Any]()
        for party in np.unique(parties):
            at = np.flatnonzero(parties == party)
            answers = getattr(self.collaboration_, method)(_taken(table, at), party=str(party))
            found |= dict(zip(at.tolist(), answers, strict=True))
        return np.array([found[at] for at in range(len(parties))])


class PartyColumnClassifier(ClassifierMixin, _PartyColumn):  # type: ignore[misc]
    """A horizontal collaboration of simulated parties, as a classifier of one table.

    For studies in one place: `cross_val_score`, `GridSearchCV` and pipelines work as with any other classifier.

    Parameters
    ----------
    party_column : str, optional
        The column that says whose each row is; it is no feature. Without it, rows are dealt out in turn.
    collaboration : HorizontalCollaboration, optional
        What the parties agree on; cloned. Its parameters are `collaboration__noise` and so on.
    n_parties : int, default 2
        How many parties rows are dealt out to, where no column says whose they are.
    random_state : int, optional
        Of the default collaboration.

    Attributes
    ----------
    collaboration_ : HorizontalCollaboration
    classes_ : array of shape (K,)
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows (n, M) and labels (n,), and how many rows each counts as (n,)."""
        name = target_name(y)
        X, y = _checked_labels(self, X, y, numeric=False)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        self._train(X, y, sample_weight, name)
        return self

    def predict(self, X: Any) -> Array:
        """The class (n,) of rows (n, M)."""
        return self._by_party(X, "predict")

    def predict_proba(self, X: Any) -> FloatArray:
        """The classes' probabilities (n, K) of rows (n, M)."""
        return self._by_party(X, "predict_proba")

    def _default_model(self) -> Any:
        return LogisticRegression(max_iter=1000)


class PartyColumnRegressor(RegressorMixin, _PartyColumn):  # type: ignore[misc]
    """A horizontal collaboration of simulated parties, as a regressor of one table; see `PartyColumnClassifier`.

    Parameters
    ----------
    party_column : str, optional
    collaboration : HorizontalCollaboration, optional
    n_parties : int, default 2
    random_state : int, optional

    Attributes
    ----------
    collaboration_ : HorizontalCollaboration
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows (n, M) and numbers (n,), and how many rows each counts as (n,)."""
        name = target_name(y)
        X, y = _checked_labels(self, X, y, numeric=True)
        self._train(X, y, sample_weight, name)
        return self

    def predict(self, X: Any) -> FloatArray:
        """The number (n,) of rows (n, M)."""
        return self._by_party(X, "predict")

    def _default_model(self) -> Any:
        return Ridge()


def _checked_labels(estimator: Any, X: Any, y: Any, *, numeric: bool) -> tuple[Any, Array]:
    if not _is_named(X):
        least = {"ensure_min_samples": 2, "ensure_min_features": 2}  # of two parties; one column cannot be hidden
        found: tuple[Any, Array] = validate_data(estimator, X, y, y_numeric=numeric, **least)
        return found
    validate_data(estimator, X, skip_check_array=True)
    labels: Array = column_or_1d(y, warn=True)
    check_consistent_length(X, labels)
    return X, labels


def _is_named(X: Any) -> bool:
    return isinstance(X, pd.DataFrame) and all(isinstance(name, str) for name in X.columns)


def _taken(table: Any, rows: IntArray) -> Any:
    return table.iloc[rows] if isinstance(table, pd.DataFrame) else table[rows]
