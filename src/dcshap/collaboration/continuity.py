"""Which models answer alike at points that are alike, and so need no grid in the common space.

The grid (see `dcshap.collaboration.alignment`) is for models that jump: where rounding alone decides between two
neighbours or two leaves, parties would answer differently. A continuous model's answers differ as little as the points
do, and without the grid its coalitions' points are exact sums, which is what fast exact explanations need.
"""

from __future__ import annotations

from typing import Any

from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    LogisticRegression,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
    SGDRegressor,
    TweedieRegressor,
)
from sklearn.linear_model._base import LinearModel
from sklearn.linear_model._glm import GammaRegressor, PoissonRegressor
from sklearn.model_selection._search import BaseSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR

__all__ = ["is_continuous"]

_CONTINUOUS = (
    *(LinearModel, LogisticRegression, RidgeClassifier, RidgeClassifierCV, SGDClassifier, SGDRegressor),
    *(TweedieRegressor, PoissonRegressor, GammaRegressor, LinearSVC, LinearSVR, SVC, SVR, NuSVC, NuSVR),
    *(LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianNB, MLPClassifier, MLPRegressor),
    *(GaussianProcessClassifier, GaussianProcessRegressor, KernelRidge),
    *(StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, PCA, IncrementalPCA, TruncatedSVD),
    *(RBFSampler, Nystroem),
)


def is_continuous(model: Any) -> bool:
    """Whether a fitted model's scores or probabilities are known to be continuous; any other may jump."""
    if isinstance(model, BaseSearchCV):
        return is_continuous(model.best_estimator_)
    if isinstance(model, Pipeline):
        return all(step in (None, "passthrough") or is_continuous(step) for _, step in model.steps)
    if isinstance(model, CalibratedClassifierCV):
        return model.method == "sigmoid" and all(is_continuous(c.estimator) for c in model.calibrated_classifiers_)
    return isinstance(model, _CONTINUOUS)
