"""The public collaborations in one process: train, predict, explain, save."""

from dcshap.collaborations.horizontal import HorizontalCollaboration
from dcshap.collaborations.vertical import VerticalCollaboration

__all__ = ["HorizontalCollaboration", "VerticalCollaboration"]
