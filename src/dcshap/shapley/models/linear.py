"""Games of models whose first step is linear: that step is additive, so only what follows it is evaluated.

`pre(S) = pre_0 + Σ_{i∈S} d_i @ W` is built by doubling, and the rest of the model (a link function, the other layers
of a network) is applied to it, as scikit-learn does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeCV,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.utils.extmath import softmax

from dcshap._typing import FloatArray
from dcshap.shapley.game.coalitions import doubled
from dcshap.shapley.game.games import Evaluator, Points, Span
from dcshap.shapley.game.model import Predict

__all__ = ["LinearEvaluator", "linear_evaluator"]

Step = Callable[[FloatArray], FloatArray]

_REGRESSORS = (LinearRegression, Ridge, RidgeCV, Lasso, LassoCV, ElasticNet, ElasticNetCV)
_CLASSIFIERS = (LogisticRegression, LogisticRegressionCV)
# So many pre-activations stay in the processor's cache until they are used.
_IN_CACHE = 1 << 17


@dataclass(frozen=True)
class LinearEvaluator(Evaluator):
    """Evaluates games of a model that is a linear map followed by something else."""

    weights: FloatArray  # (d, h)
    intercept: FloatArray  # (h,)
    rest: Step  # from pre-activations (n, h), which it may overwrite, to answers (n, K)
    complement: bool = False  # whether the answers are probabilities of the second of two classes only

    @property
    def in_threads(self) -> bool:
        """Always true: it is array arithmetic."""
        return True

    def __call__(self, points: Points, groups: Sequence[Sequence[Span]], /) -> list[FloatArray]:
        """Values of groups of spans, shapes (len(span), n_spans, n_outputs)."""
        return [self._of_group(points, group) for group in groups]

    def _of_group(self, points: Points, spans: Sequence[Span]) -> FloatArray:
        """Values of spans over the same coalitions: as many at once as the cache holds, and if need be in parts."""
        size = spans[0].stop - spans[0].start
        together = max(1, _IN_CACHE // (size * self.intercept.size))
        n_low = min(spans[0].n_low, max(0, (_IN_CACHE // self.intercept.size).bit_length() - 1))
        bases, offsets = points.additive(spans)
        bases = bases @ self.weights + self.intercept
        offsets = (offsets @ self.weights).swapaxes(0, 1)
        parts = [
            self._of_few(spans[0], bases[at : at + together], offsets[:, at : at + together], n_low)
            for at in range(0, len(spans), together)
        ]
        values = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        kept = spans[0].kept()
        return values if kept is None else values[kept]

    def _of_few(self, span: Span, bases: FloatArray, offsets: FloatArray, n_low: int) -> FloatArray:
        low = doubled(bases, offsets[:n_low])
        if n_low == len(offsets):
            return self._rest(low)
        parts = []
        for start in range(span.start, span.stop, 1 << n_low):
            high = (start >> np.arange(n_low, len(offsets))) & 1 == 1
            parts.append(self._rest(low + offsets[n_low:][high].sum(axis=0)))
        return np.concatenate(parts)

    def _rest(self, pre: FloatArray) -> FloatArray:
        return self.rest(pre.reshape(-1, pre.shape[2])).reshape(*pre.shape[:2], -1)


def linear_evaluator(predict: Predict, points: Points) -> LinearEvaluator | None:
    """An evaluator for the method of a fitted model with a linear first step; `None` if it is not one."""
    # On a grid the points are no longer sums of offsets, nor then is what a linear map makes of them.
    if points.slack > 0 or not points.are_sums:
        return None
    model: Any = getattr(predict, "__self__", None)
    name = getattr(predict, "__name__", "")
    evaluator = None
    if type(model) in _REGRESSORS and name == "predict":
        evaluator = _linear(model, rest=_unchanged)
    elif type(model) in _CLASSIFIERS and name == "predict_proba":
        two_classes = len(model.classes_) == 2
        evaluator = _linear(model, rest=_logistic if two_classes else _softmax, complement=two_classes)
    elif (type(model), name) in {(MLPClassifier, "predict_proba"), (MLPRegressor, "predict")}:
        evaluator = _network(model)
    if evaluator is None or evaluator.weights.dtype != np.float64 or len(evaluator.weights) != points.width:
        return None
    return evaluator


def _linear(model: Any, *, rest: Step, complement: bool = False) -> LinearEvaluator:
    weights = np.atleast_2d(model.coef_).T
    return LinearEvaluator(weights, np.broadcast_to(model.intercept_, weights.shape[1]), rest, complement)


def _network(model: Any) -> LinearEvaluator | None:
    hidden, last = _HIDDEN.get(model.activation), _LAST.get(model.out_activation_)
    if hidden is None or last is None:
        return None
    layers = tuple(zip(model.coefs_[1:], model.intercepts_[1:], strict=True))
    two_classes = isinstance(model, MLPClassifier) and model.n_outputs_ == 1
    return LinearEvaluator(model.coefs_[0], model.intercepts_[0], _Layers(hidden, layers, last), two_classes)


@dataclass(frozen=True)
class _Layers:
    """What follows a network's first linear map."""

    hidden: Step
    layers: tuple[tuple[FloatArray, FloatArray], ...]
    last: Step

    def __call__(self, pre: FloatArray) -> FloatArray:
        for weights, intercept in self.layers:
            pre = self.hidden(pre) @ weights
            pre += intercept
        return self.last(pre)


def _unchanged(pre: FloatArray) -> FloatArray:
    return pre


def _relu(pre: FloatArray) -> FloatArray:
    return np.maximum(pre, 0.0, out=pre)


def _tanh(pre: FloatArray) -> FloatArray:
    return np.tanh(pre, out=pre)


def _logistic(pre: FloatArray) -> FloatArray:
    values: FloatArray = expit(pre, out=pre)
    return values


def _softmax(pre: FloatArray) -> FloatArray:
    values: FloatArray = softmax(pre, copy=False)
    return values


_HIDDEN: dict[str, Step] = {"identity": _unchanged, "logistic": _logistic, "tanh": _tanh, "relu": _relu}
_LAST: dict[str, Step] = {"identity": _unchanged, "logistic": _logistic, "softmax": _softmax}
