"""Which way of evaluating a model's games there is for it.

Only the bound method of a fitted scikit-learn model is ever recognised, by the exact class of the model and the name
of the method; a subclass, a pipeline, a function that calls the model take the general way. A recognised model's
answers are its own: to the last bit for classifiers by neighbours, to rounding otherwise.
"""

from __future__ import annotations

from typing import Any

from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from dcshap.shapley.game.games import Evaluator, ModelEvaluator, Points
from dcshap.shapley.game.model import Predict
from dcshap.shapley.models.linear import linear_evaluator

__all__ = ["evaluator_for", "output_names_of"]


def evaluator_for(predict: Predict, points: Points) -> Evaluator:
    """The fastest way there is that gives the model's own answers."""
    if isinstance(getattr(predict, "__self__", None), KNeighborsClassifier | KNeighborsRegressor):
        from dcshap.shapley.models.knn import neighbors_evaluator  # noqa: PLC0415 - numba takes half a second to import

        return neighbors_evaluator(predict, points) or ModelEvaluator(predict)
    return linear_evaluator(predict, points) or ModelEvaluator(predict)


def output_names_of(predict: Predict, n_outputs: int) -> tuple[str, ...]:
    """The classes of the classifier whose method `predict` is, or numbers."""
    model: Any = getattr(predict, "__self__", None)
    classes = getattr(model, "classes_", None)
    if classes is not None and len(classes) == n_outputs:
        return tuple(str(each) for each in classes)
    return ("output",) if n_outputs == 1 else tuple(f"output {i}" for i in range(n_outputs))
