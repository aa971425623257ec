"""When evaluating all coalitions of a game is cheaper than sampling some of them.

Estimated from the model's size and never from a clock: whoever asks again, or elsewhere, gets values of the same kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dcshap._typing import FloatArray, IntArray
from dcshap.shapley.game.additive import AdditivePoints
from dcshap.shapley.game.games import Games

__all__ = ["cheap_evaluations"]

SAMPLING = 0.2  # seconds that sampling takes beside the model's answers
# Seconds per row: of a tree, of each round of boosting, per training cell of neighbours, per weight of a network.
TREE, ROUND, CELL, WEIGHT = 2e-7, 4e-8, 5e-10, 8e-10


def cheap_evaluations(games: Games, sampled: IntArray) -> FloatArray:
    """How many evaluations (n,) of each sample cost no more than sampling with so many (n,) does.

    0 for models whose cost is not known, and for inputs that are not sums, which take longer to make than to answer.
    """
    cost = _seconds_per_row(getattr(games.predict, "__self__", None))
    if cost is None or not isinstance(games.points, AdditivePoints):
        return np.zeros(len(sampled))
    return np.asarray(sampled + SAMPLING / (cost * games.points.n_rows))


def _seconds_per_row(model: Any) -> float | None:
    if isinstance(model, DecisionTreeClassifier | DecisionTreeRegressor):
        return TREE
    if isinstance(model, HistGradientBoostingClassifier | HistGradientBoostingRegressor):
        return ROUND * int(model.n_iter_ * model.n_trees_per_iteration_)
    if isinstance(model, KNeighborsClassifier | KNeighborsRegressor):
        return CELL * int(model.n_samples_fit_ * model.n_features_in_)
    if isinstance(model, MLPClassifier | MLPRegressor):
        return WEIGHT * sum(int(weights.size) for weights in model.coefs_)
    return None
