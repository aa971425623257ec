"""Data Collaboration, Section 2.2 of the paper: roles, and what they say to each other.

`HorizontalParty`, `VerticalParty` and `Analyst` are plain objects with typed messages between them and no input or
output of their own. `dcshap.protocol` says in which order the messages go, and carries them.
"""

from dcshap.collaboration.agreement import Agreement
from dcshap.collaboration.analyst import Analyst
from dcshap.collaboration.anchor import Anchor
from dcshap.collaboration.horizontal_party import HorizontalParty
from dcshap.collaboration.party import Party
from dcshap.collaboration.vertical_party import VerticalParty

__all__ = ["Agreement", "Analyst", "Anchor", "HorizontalParty", "Party", "VerticalParty"]
