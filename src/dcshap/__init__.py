"""Train one model on data that nobody may share, and get the same explanation of every prediction."""

from dcshap import datasets
from dcshap.explanation import (
    Disagreement,
    HorizontalCollaboration,
    VerticalCollaboration,
    disagreement,
)
from dcshap.schema import Schema
from dcshap.shapley import Explanation, shapley_values

__all__ = [
    "Disagreement",
    "Explanation",
    "HorizontalCollaboration",
    "Schema",
    "VerticalCollaboration",
    "datasets",
    "disagreement",
    "shapley_values",
]
