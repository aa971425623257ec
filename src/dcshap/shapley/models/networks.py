"""Networks with one hidden layer: a sum of functions of projections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from dcshap._typing import FloatArray
from dcshap.exceptions import InputError
from dcshap.shapley.game.forms import ProjectionForm, Smooth
from dcshap.shapley.models.transformers import Affine

__all__ = ["class_scores", "network_form"]

# A rectifier has a corner, which no short sum of exponentials follows.
_SMOOTH: dict[str, Callable[[FloatArray], FloatArray]] = {"tanh": np.tanh, "logistic": lambda u: np.asarray(expit(u))}
_ACTIVATIONS: dict[str, Callable[[FloatArray], FloatArray]] = {
    **_SMOOTH,
    "relu": lambda u: np.maximum(u, 0.0),
    "identity": lambda u: u,
}


def network_form(model: Any, name: str, before: Affine) -> ProjectionForm | None:
    """The form of a regression network's `predict`; None if it has several hidden layers, or corners."""
    layers = getattr(model, "coefs_", None)
    if layers is None or len(layers) != 2 or name != "predict" or model.out_activation_ != "identity":
        return None
    if model.activation not in _SMOOTH:
        return None
    first = before.then(layers[0], model.intercepts_[0])
    return ProjectionForm(
        first.weights[:, :, None],
        first.shift[:, None],
        Smooth(_SMOOTH[model.activation], bound=1.0),
        np.asarray(layers[1])[:, None, :],
        np.asarray(model.intercepts_[1]),
    )


def class_scores(model: Any) -> Callable[[Any], FloatArray]:
    """What a fitted classifier makes its probabilities from: log-odds of two classes, one score per class of more.

    It is the model's `decision_function` where it has one. Networks of scikit-learn have none, though their scores can
    be explained exactly for hundreds of features (one hidden layer, tanh or logistic), and their probabilities cannot.

    Parameters
    ----------
    model : classifier
        Fitted; a pipeline or a search may be around it.

    Returns
    -------
    callable
        For `shapley_values` and the like.

    Raises
    ------
    InputError
        If the model has neither a `decision_function` nor the layers of a network.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.neural_network import MLPClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from dcshap.shapley import class_scores, shapley_values
    >>> X, y = load_wine(return_X_y=True)
    >>> network = MLPClassifier((8,), activation="tanh", max_iter=2000, random_state=0)
    >>> model = make_pipeline(StandardScaler(), network).fit(X, y)
    >>> shapley_values(class_scores(model), X[:2], X.mean(axis=0), max_evals=100).method
    'product'
    """
    found = getattr(model, "best_estimator_", model)
    own = getattr(found, "decision_function", None)
    if callable(own):
        scores: Callable[[Any], FloatArray] = own
        return scores
    steps = [step for _, step in getattr(found, "steps", [])] or [found]
    layers = getattr(steps[-1], "coefs_", None)
    if layers is None or not hasattr(steps[-1], "classes_"):
        raise InputError(
            "`model` must be a fitted classifier with a `decision_function`, or a network with `coefs_`. "
            f"Got {type(model).__name__}. Explain its `predict_proba` instead."
        )
    last = _Scores(list(layers), list(steps[-1].intercepts_), steps[-1].activation)
    return _NetworkPipeline([(str(at), step) for at, step in enumerate([*steps[:-1], last])]).predict


@dataclass(frozen=True)
class _Scores:
    """A network without what turns its scores into probabilities, as `network_form` reads networks."""

    coefs_: list[FloatArray]
    intercepts_: list[FloatArray]
    activation: str
    out_activation_: str = "identity"

    def predict(self, rows: Any) -> FloatArray:
        values = np.asarray(rows, dtype=np.float64)
        for weights, intercept in zip(self.coefs_[:-1], self.intercepts_[:-1], strict=True):
            values = _ACTIVATIONS[self.activation](values @ weights + intercept)
        scores = np.asarray(values @ self.coefs_[-1] + self.intercepts_[-1])
        return scores[:, 0] if scores.shape[1] == 1 else scores


@dataclass(frozen=True)
class _NetworkPipeline:
    """Steps that end in scores, as a pipeline has them."""

    steps: list[tuple[str, Any]]

    def predict(self, rows: Any) -> FloatArray:
        for _, step in self.steps[:-1]:
            rows = rows if step in ("passthrough", None) else step.transform(rows)
        scores: FloatArray = self.steps[-1][1].predict(rows)
        return scores
