"""Games and solvers: exact and sampled Shapley values, Owen values, of any model. Knows nothing of collaboration."""

from __future__ import annotations

from dcshap.shapley.explanation import Explanation
from dcshap.shapley.interactions import Interactions, shapley_interactions
from dcshap.shapley.models.networks import class_scores
from dcshap.shapley.values import additive_shapley_values, coalition_shapley_values, shapley_values

__all__ = [
    "Explanation",
    "Interactions",
    "additive_shapley_values",
    "class_scores",
    "coalition_shapley_values",
    "shapley_interactions",
    "shapley_values",
]
