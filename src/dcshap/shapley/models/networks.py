"""Networks with one hidden layer: a sum of functions of projections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from dcshap._typing import FloatArray
from dcshap.shapley.game.forms import ProjectionForm, Smooth
from dcshap.shapley.models.transformers import Affine

__all__ = ["network_form"]

# A rectifier has a corner, which no short sum of exponentials follows.
_SMOOTH: dict[str, Callable[[FloatArray], FloatArray]] = {"tanh": np.tanh, "logistic": lambda u: np.asarray(expit(u))}


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
