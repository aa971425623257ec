"""Games and solvers: exact and sampled Shapley values, Owen values, of any model. Knows nothing of collaboration."""

from __future__ import annotations

from dcshap.shapley.api import additive_shapley_values, shapley_values
from dcshap.shapley.result import Explanation

__all__ = ["Explanation", "additive_shapley_values", "shapley_values"]
