"""Which models may leave the analyst without every party's consent: those on a list of parametric ones.

A model that keeps training rows shows the aligned rows of every party to every other. A list of models that are known
to keep rows would not do: a pipeline of a scaler and as many cluster centres as rows keeps all of them. So the list is
of models whose size does not depend on the rows, or whose content is thresholds and weights of many of them; everything
else needs every party's consent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from sklearn import (
    compose,
    decomposition,
    discriminant_analysis,
    dummy,
    ensemble,
    impute,
    linear_model,
    multiclass,
    naive_bayes,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)
from sklearn.base import BaseEstimator
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
from sklearn.neighbors import NearestCentroid

from dcshap._typing import Array, FloatArray
from dcshap.collaboration.stacking import parts_of
from dcshap.exceptions import PrivacyError

__all__ = ["carries_rows", "refuse", "require_consent"]

# By module, so that the list can be read. Exact types: a subclass may keep whatever it likes.
_PARAMETRIC = {
    compose: ("ColumnTransformer",),
    decomposition: ("PCA", "TruncatedSVD"),
    discriminant_analysis: ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    dummy: ("DummyClassifier", "DummyRegressor"),
    ensemble: (
        *("AdaBoostClassifier", "AdaBoostRegressor", "BaggingClassifier", "BaggingRegressor"),
        *("ExtraTreesClassifier", "ExtraTreesRegressor", "RandomForestClassifier", "RandomForestRegressor"),
        *("GradientBoostingClassifier", "GradientBoostingRegressor"),
        *("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
        *("StackingClassifier", "StackingRegressor", "VotingClassifier", "VotingRegressor"),
    ),
    impute: ("SimpleImputer", "MissingIndicator"),
    linear_model: (
        *("ARDRegression", "BayesianRidge", "ElasticNet", "ElasticNetCV", "HuberRegressor", "Lasso", "LassoCV"),
        *("LinearRegression", "LogisticRegression", "LogisticRegressionCV", "Perceptron", "QuantileRegressor"),
        *("GammaRegressor", "PoissonRegressor", "TweedieRegressor", "Ridge", "RidgeClassifier", "RidgeClassifierCV"),
        *("RidgeCV", "SGDClassifier", "SGDRegressor"),
    ),
    multiclass: ("OneVsOneClassifier", "OneVsRestClassifier"),
    naive_bayes: ("BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"),
    neural_network: ("MLPClassifier", "MLPRegressor"),
    pipeline: ("FeatureUnion", "Pipeline"),
    preprocessing: (
        *("LabelBinarizer", "LabelEncoder", "MaxAbsScaler", "MinMaxScaler", "Normalizer", "OneHotEncoder"),
        *("OrdinalEncoder", "PolynomialFeatures", "PowerTransformer", "RobustScaler", "StandardScaler"),
    ),
    svm: ("LinearSVC", "LinearSVR"),
    tree: ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"),
}
_ALLOWED = {getattr(module, name) for module, names in _PARAMETRIC.items() for name in names}
_ALLOWED |= {NearestCentroid, _BinMapper}
# Boosted trees of other packages, which need not be installed.
_ALLOWED_ELSEWHERE = {
    *("lightgbm.sklearn.LGBMClassifier", "lightgbm.sklearn.LGBMRegressor"),
    *("xgboost.sklearn.XGBClassifier", "xgboost.sklearn.XGBRegressor"),
    *("catboost.core.CatBoostClassifier", "catboost.core.CatBoostRegressor"),
}
# Where parts of an allowed model may come from that are no estimators: trees, losses, optimisers, arrays.
_PACKAGES = {"_catboost", "builtins", "collections", "ctypes", "numpy", "scipy", "sklearn"}
_PACKAGES |= {name.partition(".")[0] for name in _ALLOWED_ELSEWHERE}
_SEARCH_TREES = ("sklearn.neighbors", "scipy.spatial")  # hold the rows that they find neighbours among


def require_consent(model: Any, refusing: list[str], rows: FloatArray | None = None) -> None:
    """Refuse a model that may carry training rows (n, d), fitted or not, where some party has not agreed to it."""
    if refusing and carries_rows(model, rows):
        refuse(model, refusing)


def refuse(model: Any, refusing: list[str]) -> NoReturn:
    """Say that a model cannot leave the analyst, and what would help."""
    raise PrivacyError(
        f"{type(model).__name__} contains training rows, or parts that are not on the list of parametric models, so "
        f"every party must agree that it leaves the analyst. Not agreed: {refusing}. Set instance_models=True at these "
        f"parties, or use a parametric model (logistic regression, trees, neural network)."
    )


def carries_rows(model: Any, rows: FloatArray | None = None) -> bool:
    """Whether an estimator, or any part of it, is not on the list, or holds one of the training rows (n, d)."""
    parts = list(_parts(model, seen=set()))
    if not _allowed(type(model)) or not all(_harmless(part) for part in parts):
        return True
    arrays = [part for part in parts if isinstance(part, np.ndarray) and part.dtype.kind == "f" and part.ndim in (1, 2)]
    return rows is not None and _hold_one_of([a for a in arrays if a.shape[-1] == rows.shape[1]], rows)


def _allowed(kind: type) -> bool:
    return kind in _ALLOWED or f"{kind.__module__}.{kind.__qualname__}" in _ALLOWED_ELSEWHERE


def _harmless(part: Any) -> bool:
    """Whether a part of a model is an estimator on the list, or none and of a package that has no rows to hide."""
    kind = part if isinstance(part, type) else type(part)
    if isinstance(part, BaseEstimator):
        return _allowed(kind)
    return kind.__module__.partition(".")[0] in _PACKAGES and not kind.__module__.startswith(_SEARCH_TREES)


def _hold_one_of(arrays: list[FloatArray], rows: FloatArray) -> bool:
    """Whether one of the rows (n, d) stands in one of the arrays (k, d) or (d,), to single precision."""
    if not arrays:
        return False
    held = np.unique(np.concatenate([_as_items(np.atleast_2d(array)) for array in arrays]))
    # Rows are many and arrays few: rows are looked up some at a time.
    return any(bool(np.isin(_as_items(part), held).any()) for part in parts_of(rows))


def _as_items(rows: FloatArray) -> Array:
    """Rows (n, d) in single precision as one item each (n,), to be compared as a whole."""
    plain = np.ascontiguousarray(rows, dtype=np.float32)
    return plain.view(np.dtype((np.void, plain.shape[1] * plain.itemsize)))[:, 0]


def _parts(value: Any, seen: set[int]) -> Iterator[Any]:
    if id(value) in seen or isinstance(value, str | bytes | int | float | bool | type(None)):
        return
    seen.add(id(value))
    yield value
    if isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, list | tuple | set):
        inner = list(value)
    elif isinstance(value, np.ndarray):
        inner = list(value.ravel()) if value.dtype == object else []
    else:
        inner = list(getattr(value, "__dict__", {}).values())
    for part in inner:
        yield from _parts(part, seen)
