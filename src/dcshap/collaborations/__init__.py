"""The public collaborations in one process: train, predict, explain, save; and as estimators of one table."""

from dcshap.collaborations.horizontal import HorizontalCollaboration
from dcshap.collaborations.party_column import PartyColumnClassifier, PartyColumnRegressor
from dcshap.collaborations.vertical import VerticalCollaboration

__all__ = ["HorizontalCollaboration", "PartyColumnClassifier", "PartyColumnRegressor", "VerticalCollaboration"]
