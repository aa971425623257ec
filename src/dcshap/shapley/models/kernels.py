"""Models of Gaussian kernels: support vectors, kernel ridge, Nystroem's features."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcshap._typing import FloatArray
from dcshap.shapley.game.forms import GaussianForm
from dcshap.shapley.models.transformers import Affine

__all__ = ["gaussian_form"]


def gaussian_form(model: Any, name: str, before: Affine) -> GaussianForm | None:
    """The form of a model that is a sum of Gaussian kernels of its input; None where columns mix before the kernel.

    Of Nystroem's features (`name="transform"`), the coefficients are those of the features themselves.
    """
    scale, parts = before.diagonal, _parts(model, name)
    if scale is None or parts is None or getattr(model, "kernel", None) != "rbf":
        return None
    centres, coefficients, constant = parts
    gamma = getattr(model, "_gamma", None)
    if gamma is None:
        gamma = model.gamma if model.gamma is not None else 1.0 / centres.shape[1]
    dense = np.asarray(centres, dtype=np.float64)
    return GaussianForm(dense, float(gamma), coefficients, constant, scale, before.shift)


def _parts(model: Any, name: str) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Centres (J, d), coefficients (J, K) and constants (K,)."""
    kind = type(model).__name__
    of_vectors = {"SVR": "predict", "NuSVR": "predict", "SVC": "decision_function", "NuSVC": "decision_function"}
    if of_vectors.get(kind) == name and len(model.dual_coef_) == 1:
        return model.support_vectors_, model.dual_coef_.T, np.asarray(model.intercept_)
    if kind == "KernelRidge" and name == "predict":
        dual = np.asarray(model.dual_coef_).reshape(len(model.X_fit_), -1)
        return model.X_fit_, dual, np.zeros(dual.shape[1])
    if kind == "Nystroem" and name == "transform":
        return model.components_, model.normalization_.T, np.zeros(len(model.normalization_))
    return None
