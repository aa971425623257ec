"""Explanations that agree: Algorithms 2 to 4, party views, and how far explanations differ."""

from dcshap.explanation.disagreement import Disagreement, disagreement
from dcshap.explanation.statement import PartyExplanation
from dcshap.shapley import Explanation  # from here, `Explanation.load` knows the explanations of a collaboration

__all__ = [
    "Disagreement",
    "Explanation",
    "PartyExplanation",
    "disagreement",
]
