"""Data Collaboration, Section 2.2 of the paper: roles, the messages between them, and both partitions.

`Party` and `Analyst` are plain objects with typed messages between them and no input or output of their own. In one
process `HorizontalTraining` and `VerticalTraining` pass the messages by hand; a federation passes the same messages
over the network.
"""

from dcshap.collaboration.agreement import Agreement
from dcshap.collaboration.analyst import Analyst
from dcshap.collaboration.anchor import Anchor
from dcshap.collaboration.horizontal import HorizontalTraining
from dcshap.collaboration.horizontal_party import HorizontalParty
from dcshap.collaboration.party import Party
from dcshap.collaboration.vertical import VerticalTraining
from dcshap.collaboration.vertical_party import VerticalParty

__all__ = [
    "Agreement",
    "Analyst",
    "Anchor",
    "HorizontalParty",
    "HorizontalTraining",
    "Party",
    "VerticalParty",
    "VerticalTraining",
]
