"""What the roles say to each other when a vertical prediction is asked for or explained.

`dcshap.protocol.steps` says who sends each of these to whom.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from dcshap._typing import Array, FloatArray
from dcshap.collaboration.messages import Message
from dcshap.collaboration.records import Pseudonyms
from dcshap.explanation.background import N_BACKGROUND
from dcshap.explanation.statement import PartyExplanation

__all__ = ["Answer", "CoalitionTable", "Prediction", "RecordOffsets", "RecordPart", "RecordVectors", "Request"]


@dataclass(frozen=True)
class Request(Message):
    """What is asked, by whom, of which records; what it says is what its author has signed."""

    requester: str
    identifier: str  # unlike that of every other request
    collaboration: str
    run: str  # the training whose model is asked
    protocol: str  # how it is to be answered: "algorithm 3", "algorithm 4", "party views" or "predict"
    records: tuple[str, ...]  # record identifiers, as text
    view: str  # a party's name, or "full"
    merged: bool = False  # Algorithm 4 with one bar for all other parties together
    reference: str = "anchor"  # or "own", "mean", "medoid", "background"
    n_background: int = N_BACKGROUND  # how many rows a background has
    written: float = 0.0  # when, in seconds since 1970
    certificate: str = ""  # of the requester; empty in one process, as the signature
    signature: bytes = b""
    enclosed: str = ""  # a hash of the enclosure; empty where there is none
    # What nobody but the viewing party is told: it does not forward it. See `dcshap.explanation.enclosure`.
    enclosure: str = ""


@dataclass(frozen=True)
class RecordVectors(Message):
    """A party's representation of records (n, d) and of the reference's m rows (m, d), for another party's view."""

    party: str
    pseudonyms: Pseudonyms
    present: FloatArray
    absent: FloatArray


@dataclass(frozen=True)
class RecordOffsets(Message):
    """A party's representation of the reference's m rows (m, d) and what each of its columns adds (m, n, M_k, d).

    Columns that are one player together stand here as one.
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
    """A party's representation of every coalition of its columns (m, n, 2^M_k, d), against each of the reference's m
    rows; coalition c holds column j iff bit j of c is set.
    """

    party: str
    pseudonyms: Pseudonyms
    names: tuple[str, ...]
    rows: FloatArray


@dataclass(frozen=True)
class Answer(Message):
    """An explanation, for whoever asked; from a party its name, from the analyst that of the requester.

    The receipts, a line of JSON each, are the party's signed statements of it, where the request has asked for them.
    """

    party: str
    explanation: PartyExplanation
    receipts: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecordPart(Message):
    """A party's columns of the records (n, M_k) and of the reference, for a requester who may see them.

    The reference has no rows where these are a synthetic background: they tell of all of the party's rows.
    """

    party: str
    data: pd.DataFrame
    reference: pd.DataFrame
    fingerprint: str


@dataclass(frozen=True)
class Prediction(Message):
    """What the model predicts of records (n,), or the probabilities (n, K) of its classes (K,)."""

    values: Array
    classes: tuple[str, ...]
