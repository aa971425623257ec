"""What the roles say to each other when a vertical prediction is explained.

Between parties:
    `RecordVectors`: two vectors per record, the party's representation of it and of the reference
From a party to the analyst, in Algorithm 3 only:
    `RecordOffsets`, or `CoalitionTable` where the reduction is not linear
To the requester:
    `Answer`; in Algorithm 3 also `RecordPart` from each party
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from dcshap._typing import FloatArray
from dcshap.collaboration.messages import Message
from dcshap.collaboration.records import Pseudonyms
from dcshap.explanation.statement import PartyExplanation

__all__ = ["Answer", "CoalitionTable", "RecordOffsets", "RecordPart", "RecordVectors"]


@dataclass(frozen=True)
class RecordVectors(Message):
    """A party's representation of records (n, m) and of the reference (m,), for another party's view."""

    party: str
    pseudonyms: Pseudonyms
    present: FloatArray
    absent: FloatArray


@dataclass(frozen=True)
class RecordOffsets(Message):
    """A party's representation of the reference (m,) and what each of its columns adds (n, M_k, m).

    With it, whoever evaluates the model can form every coalition's representation; so this is the paper's coalition
    matrix in fewer bytes, and discloses as much.
    """

    party: str
    pseudonyms: Pseudonyms
    names: tuple[str, ...]
    absent: FloatArray
    offsets: FloatArray


@dataclass(frozen=True)
class CoalitionTable(Message):
    """A party's representation of every coalition of its columns (n, 2^M_k, m), coalition c holding column j iff
    bit j of c is set.
    """

    party: str
    pseudonyms: Pseudonyms
    names: tuple[str, ...]
    rows: FloatArray


@dataclass(frozen=True)
class Answer(Message):
    """An explanation, for whoever asked."""

    explanation: PartyExplanation


@dataclass(frozen=True)
class RecordPart(Message):
    """A party's columns of the records (n, M_k) and of the reference (1, M_k), for a requester who may see them."""

    party: str
    data: pd.DataFrame
    reference: pd.DataFrame
    fingerprint: str
