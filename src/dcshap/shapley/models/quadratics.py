"""Models whose scores are quadratic: discriminants and naive Bayes with normal densities, in log-odds."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcshap._typing import FloatArray
from dcshap.shapley.game.forms import QuadraticForm
from dcshap.shapley.models.transformers import Affine

__all__ = ["quadratic_form"]


def quadratic_form(model: Any, name: str, before: Affine) -> QuadraticForm | None:
    """The form of a quadratic discriminant's `decision_function`, or of naive Bayes' joint log-probabilities."""
    kind = type(model).__name__
    if kind == "QuadraticDiscriminantAnalysis" and name == "decision_function":
        precisions = [(R / S) @ R.T for R, S in zip(model.rotations_, model.scalings_, strict=True)]
        spread = np.array([np.log(S).sum() for S in model.scalings_])
        constants = np.log(model.priors_) - 0.5 * spread
        return _of_densities(before, np.array(precisions), model.means_, constants, difference=len(precisions) == 2)
    if kind == "GaussianNB" and name == "predict_joint_log_proba":
        precisions = [np.diag(1.0 / var) for var in model.var_]
        constants = np.log(model.class_prior_) - 0.5 * np.log(2.0 * np.pi * model.var_).sum(axis=1)
        return _of_densities(before, np.array(precisions), model.theta_, constants, difference=False)
    return None


def _of_densities(
    before: Affine, precisions: FloatArray, means: FloatArray, constants: FloatArray, *, difference: bool
) -> QuadraticForm:
    """`constant − ½ (z − mean)ᵀ P (z − mean)` of every class, z being the row after the affine map."""
    gaps = before.shift - means  # (K, h)
    pulled = np.einsum("dh,khg,kg->dk", before.weights, precisions, gaps)
    quadratic = -0.5 * np.einsum("dh,khg,eg->kde", before.weights, precisions, before.weights)
    constant = constants - 0.5 * np.einsum("kh,khg,kg->k", gaps, precisions, gaps)
    linear = -pulled
    if difference:
        return QuadraticForm(linear[:, 1:] - linear[:, :1], constant[1:] - constant[:1], quadratic[1:] - quadratic[:1])
    return QuadraticForm(linear, constant, quadratic)
