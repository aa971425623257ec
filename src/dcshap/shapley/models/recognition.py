"""Which models have a closed form: from the method of a fitted model to its form.

A form is a claim, made from the model's coefficients. It is checked on rows of the game before it is believed, so that
a class is recognised by what it has (`coef_`, `components_`, …) and does, not by its name alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from dcshap._typing import FloatArray
from dcshap.shapley.game.forms import Form, GaussianForm, ProjectionForm, QuadraticForm, Smooth
from dcshap.shapley.game.model import Predict
from dcshap.shapley.models.kernels import gaussian_form
from dcshap.shapley.models.networks import network_form
from dcshap.shapley.models.quadratics import quadratic_form
from dcshap.shapley.models.transformers import Affine, affine_step, cosine_features

__all__ = ["claimed_forms", "holds"]

_PROBABILISTIC = ("LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis", "SGDClassifier")
_CHECK = 1e-9  # how far a form may be from the model on probes, relative to the largest answer


def holds(form: Form, rows: FloatArray, answered: FloatArray) -> bool:
    """Whether a form gives a model's answers (n, K) to rows (n, d)."""
    with np.errstate(all="ignore"):  # a wrong claim may overflow, which answers the question
        values = form(rows)
    scale = np.abs(answered).max(initial=0.0)
    return values.shape == answered.shape and bool((np.abs(values - answered) <= _CHECK * scale).all())


def claimed_forms(predict: Predict, rows: FloatArray, answered: FloatArray) -> Iterator[Form]:
    """The forms that the model may have, judging by its attributes; `holds` tells which it has.

    The model's answers (n, K) to rows (n, d) are for constants that no attribute holds.
    """
    written = getattr(predict, "form", None)
    if isinstance(written, ProjectionForm | QuadraticForm | GaussianForm):
        yield written
        return
    model, name = getattr(predict, "__self__", None), getattr(predict, "__name__", "")
    model = getattr(model, "best_estimator_", model)
    steps = [step for _, step in getattr(model, "steps", [])] or [model]
    try:
        yield from _of_pipeline(steps, name, rows, answered)
    except (AttributeError, TypeError, ValueError, IndexError, KeyError):
        return  # attributes that are not what their names say: nothing is claimed


def _of_pipeline(steps: list[Any], name: str, rows: FloatArray, answered: FloatArray) -> Iterator[Form]:
    before = Affine.identity(rows.shape[1])
    for at, step in enumerate(steps[:-1]):
        following = affine_step(step, before)
        if following is None:
            if at == len(steps) - 2:
                yield from _of_features(step, steps[-1], before, name)
            return
        before = following
    last = steps[-1]
    for maker in (quadratic_form, gaussian_form, network_form):
        found = maker(last, name, before)
        if found is not None:
            yield found
    yield from _of_calibrated(last, name, before)
    scores = _scores(last, before)
    if scores is not None:
        yield from _of_scores(scores, last, name, rows, answered)


# --- models with coefficients --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scores:
    """Linear scores `x @ weights + intercept`: weights (d, h); an intercept of None is not known."""

    weights: FloatArray
    intercept: FloatArray | None


def _scores(model: Any, before: Affine) -> Scores | None:
    found = getattr(model, "coef_", None)
    found = getattr(model, "params_", None) if found is None else found
    if found is None:
        return None
    weights = np.atleast_2d(np.asarray(found, dtype=np.float64)).T
    if weights.shape[0] != before.weights.shape[1]:
        return None
    intercept = getattr(model, "intercept_", None)
    shift = before.shift @ weights
    known = None if intercept is None else shift + np.asarray(intercept, dtype=np.float64)
    return Scores(before.weights @ weights, None if known is None else np.broadcast_to(known, weights.shape[1]))


def _of_scores(scores: Scores, model: Any, name: str, rows: FloatArray, answered: FloatArray) -> Iterator[Form]:
    n_scores, n_outputs = scores.weights.shape[1], answered.shape[1]
    if n_scores == n_outputs:
        yield _linear(scores, rows, answered)
        if n_scores == 1 and (answered > 0).all():
            yield _exponential(scores, rows, answered)
    # Probabilities near 0 and 1 look alike whatever makes them: probes alone would not tell.
    known = type(model).__name__ in _PROBABILISTIC and getattr(model, "loss", "log_loss") == "log_loss"
    if scores.intercept is None or not known:
        return
    two = n_scores == 1 and n_outputs == 2
    if two and name == "predict_proba":
        yield _projection(scores.weights, scores.intercept, LOGISTIC, np.array([[[-1.0, 1.0]]]), np.array([1.0, 0.0]))
    elif two and name == "predict_log_proba":
        yield _projection(scores.weights, scores.intercept, LOG_LOGISTIC, np.eye(2)[None], np.zeros(2))
    elif n_scores == n_outputs > 1 and name in ("predict_proba", "predict_log_proba"):
        yield _of_classes(scores, LINKS[name])


def _linear(scores: Scores, rows: FloatArray, answered: FloatArray) -> QuadraticForm:
    constant = scores.intercept
    if constant is None:
        constant = (answered[0] - rows[0] @ scores.weights).astype(np.float64)
    return QuadraticForm(scores.weights, np.asarray(constant))


def _exponential(scores: Scores, rows: FloatArray, answered: FloatArray) -> ProjectionForm:
    constant = scores.intercept
    if constant is None:
        constant = np.log(answered[0]) - rows[0] @ scores.weights
    return _projection(scores.weights, np.asarray(constant), EXPONENTIAL, np.ones((1, 1, 1)), np.zeros(1))


def _of_classes(scores: Scores, link: Callable[[FloatArray], FloatArray]) -> ProjectionForm:
    """Of scores that only count by their differences, the last is taken off the others."""
    n_classes = scores.weights.shape[1]
    weights = scores.weights[:, :-1] - scores.weights[:, -1:]
    intercept = np.zeros(n_classes) if scores.intercept is None else scores.intercept
    smooth = Smooth(link, bound=1.0 if link is LINKS["predict_proba"] else np.inf)
    return ProjectionForm(
        weights[:, None, :],
        (intercept[:-1] - intercept[-1])[None],
        smooth,
        np.eye(n_classes)[None],
        np.zeros(n_classes),
    )


def _projection(
    weights: FloatArray, intercept: FloatArray, smooth: Smooth, mixing: FloatArray, constant: FloatArray
) -> ProjectionForm:
    return ProjectionForm(weights[:, :, None], np.asarray(intercept)[:, None], smooth, mixing, constant)


# --- sums of models, and models of features ------------------------------------------------------------------------


def _of_calibrated(model: Any, name: str, before: Affine) -> Iterator[Form]:
    """The mean of linear models' scores, each through a sigmoid of its own."""
    members = getattr(model, "calibrated_classifiers_", None)
    if not members or name != "predict_proba" or len(model.classes_) != 2:
        return
    weights, intercepts = [], []
    for member in members:
        steps = [step for _, step in getattr(member.estimator, "steps", [])] or [member.estimator]
        inner: Affine | None = before
        for step in steps[:-1]:
            inner = None if inner is None else affine_step(step, inner)
        scores = None if inner is None else _scores(steps[-1], inner)
        if scores is None or scores.intercept is None or scores.weights.shape[1] != 1:
            return
        (calibrator,) = member.calibrators
        weights.append(-calibrator.a_ * scores.weights[:, 0])
        intercepts.append(-calibrator.a_ * scores.intercept[0] - calibrator.b_)
    mixing = np.tile([[[-1.0, 1.0]]], (len(members), 1, 1)) / len(members)
    yield _projection(np.stack(weights, axis=1), np.array(intercepts), LOGISTIC, mixing, np.array([1.0, 0.0]))


def _of_features(features: Any, model: Any, before: Affine, name: str) -> Iterator[Form]:
    """A linear model of random Fourier features, or of Nystroem's."""
    if name not in ("predict", "decision_function"):
        return
    scores = _scores(model, Affine.identity(len(np.atleast_2d(model.coef_).T)))
    if scores is None or scores.intercept is None:
        return
    found = cosine_features(features, before)
    if found is not None:
        weights, intercept, amplitude = found
        mixing = (amplitude * scores.weights)[:, None, :]
        yield _projection(weights, intercept, COSINE, mixing, scores.intercept)
    found_kernels = gaussian_form(features, "transform", before)
    if found_kernels is not None:
        coefficients = found_kernels.coefficients @ scores.weights
        yield replace(found_kernels, coefficients=coefficients, constant=scores.intercept)


# --- functions -----------------------------------------------------------------------------------------------------

# Of scores less the last one's, which is 0. All of these stay the same objects: what is found out about them is kept.
LINKS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "predict_proba": lambda u: np.asarray(softmax(np.column_stack([u, np.zeros(len(u))]), axis=1)),
    "predict_log_proba": lambda u: np.asarray(log_softmax(np.column_stack([u, np.zeros(len(u))]), axis=1)),
}
LOGISTIC = Smooth(lambda u: np.asarray(expit(u)), bound=1.0)
LOG_LOGISTIC = Smooth(lambda u: np.column_stack([log_expit(-u), log_expit(u)]))
EXPONENTIAL = Smooth(np.exp, np.array([1.0 + 0.0j]), np.array([[1.0 + 0.0j]]))
COSINE = Smooth(np.cos, np.array([1.0j]), np.array([[1.0 + 0.0j]]))
