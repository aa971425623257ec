"""Explanations that agree: Algorithms 2 to 4, party views, and how far explanations differ."""

from dcshap.explanation.collaborations import HorizontalCollaboration, VerticalCollaboration
from dcshap.explanation.disagreement import Disagreement, disagreement
from dcshap.explanation.reference import Reference, reference_of

__all__ = [
    "Disagreement",
    "HorizontalCollaboration",
    "Reference",
    "VerticalCollaboration",
    "disagreement",
    "reference_of",
]
