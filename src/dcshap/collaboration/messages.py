"""What the roles say when they meet and train; `explanation.disclosures` has the rest. Nothing else leaves a party."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pandas as pd

from dcshap._typing import Array, FloatArray
from dcshap.collaboration.alignment import Alignment
from dcshap.collaboration.records import Pseudonyms
from dcshap.collaboration.summation import Words
from dcshap.collaboration.triples import Integers

__all__ = [
    "ANALYST",
    "REQUESTER",
    "AnchorDigest",
    "AnchorSeed",
    "Commit",
    "CommonRecords",
    "Greeting",
    "GuestTriple",
    "HeldColumns",
    "Hello",
    "HolderTriple",
    "Integration",
    "Introduction",
    "JoinReport",
    "LabelSums",
    "MaskedColumns",
    "MaskedMoments",
    "Message",
    "PairKey",
    "Prepared",
    "PseudonymKey",
    "Ready",
    "RecordLabels",
    "RecordPseudonyms",
    "RecordRepresentation",
    "Representation",
    "Resume",
    "Sent",
    "Settings",
    "SharedModel",
    "Targets",
]

# Under these names the analyst and whoever asks send and receive; no party may bear them.
ANALYST = "analyst"
REQUESTER = "requester"


@dataclass(frozen=True)
class Message:
    """Something that one role sends to another."""

    def arrays(self) -> dict[str, Array]:
        """The arrays and tables in it, by name."""
        found: dict[str, Array] = {}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, np.ndarray):
                found[entry.name] = value
            elif isinstance(value, pd.DataFrame):
                found[entry.name] = value.to_numpy()
            elif isinstance(value, Alignment):
                found |= {"weights": value.weights, "intercept": value.intercept}
        return found


# --- meeting, between organisations ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hello(Message):
    """The analyst begins a run: its version, how the data are split, what is predicted, how long its ledger is."""

    version: int
    kind: str
    task: str
    ledger: str = ""


@dataclass(frozen=True)
class Greeting(Message):
    """A party's certificate, what it has agreed to, how long its ledger is, and what it remembers of the analyst's."""

    party: str
    certificate: str
    instance_models: bool
    labels: bool
    span: str
    rounds: int
    ledger: str = ""
    remembered: str = ""


@dataclass(frozen=True)
class Introduction(Message):
    """All parties' certificates, who holds the labels (vertically), what is remembered of the recipient's ledger.

    `run` is the interrupted training that is resumed; empty where a new one begins.
    """

    certificates: dict[str, str]
    holder: str
    remembered: str = ""
    run: str = ""


@dataclass(frozen=True)
class Ready(Message):
    """A party has its table at hand."""

    party: str
    rows: int


@dataclass(frozen=True)
class Settings(Message):
    """What all parties must have alike, as JSON: the schema and the settings agreed on. Party to party only."""

    content: str


@dataclass(frozen=True)
class HeldColumns(Message):
    """The names of the columns that a party brings. Party to party only."""

    party: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Resume(Message):
    """The analyst goes on from a kept training: its run, all certificates, what it remembers of the ledger."""

    run: str
    certificates: dict[str, str]
    remembered: str = ""


@dataclass(frozen=True)
class Prepared(Message):
    """A party has kept what it received in a run, beside what it uses; or, after the commit, it uses it."""

    party: str


@dataclass(frozen=True)
class Commit(Message):
    """All parties are prepared, and the analyst too: from now on everybody uses what this run has trained."""

    run: str


# --- training -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnchorSeed(Message):
    """The seed that all parties draw the anchor from. Party to party only."""

    seed: int


@dataclass(frozen=True)
class AnchorDigest(Message):
    """A digest of the anchor that a party drew from the seed, so that all draw the same. Party to party only."""

    party: str
    digest: bytes


@dataclass(frozen=True)
class PairKey(Message):
    """The key that two parties stretch to their common mask. Party to party only."""

    party: str
    key: bytes


@dataclass(frozen=True)
class MaskedMoments(Message):
    """A party's moments under its masks, for the party that adds them up."""

    party: str
    words: Words


@dataclass(frozen=True)
class Targets(Message):
    """The classes that a party's labels have, or the range of a numeric target. Party to party only."""

    party: str
    values: Array


@dataclass(frozen=True)
class PseudonymKey(Message):
    """The key that turns record identifiers to pseudonyms. Party to party only."""

    key: bytes


@dataclass(frozen=True)
class Representation(Message):
    """A horizontal party's reduced anchor (n_anchor, m), reduced rows (n, m) and labels (n,)."""

    party: str
    anchor: FloatArray
    rows: FloatArray
    labels: Array
    instance_models: bool  # whether this party allows a model that contains training rows to leave the analyst
    weights: FloatArray = field(default_factory=lambda: np.zeros(0))  # (n,); none where all rows count alike


@dataclass(frozen=True)
class Integration(Message):
    """The alignment of one party, and the model."""

    party: str
    alignment: Alignment
    model: Any


@dataclass(frozen=True)
class RecordPseudonyms(Message):
    """The sorted pseudonyms (n,) of the `n_records` that a vertical party holds, or of those that it has labels of.

    `width` numbers per record go into sums with labels: its encoded coordinates and a one, or what stands for a label.
    """

    party: str
    pseudonyms: Pseudonyms
    n_records: int
    width: int


@dataclass(frozen=True)
class CommonRecords(Message):
    """The pseudonyms (n,) of the records that all parties hold, and the order in which they are sent from now on."""

    pseudonyms: Pseudonyms


@dataclass(frozen=True)
class HolderTriple(Message):
    """Randomness dealt to the party with the labels: a seed of masks, and shares (all columns, K) of the products."""

    seed: bytes
    widths: dict[str, int]
    shares: Integers


@dataclass(frozen=True)
class GuestTriple(Message):
    """A guest's part of the randomness dealt for the product of its columns with the labels: the seed of its mask."""

    seed: bytes


@dataclass(frozen=True)
class MaskedColumns(Message):
    """A guest's encoded columns (n, p + 1), masked. Party to party only: the analyst dealt the mask."""

    party: str
    words: Integers


@dataclass(frozen=True)
class LabelSums(Message):
    """Labels (n, K), masked, and a share (p + 1, K) of the sums of a guest's columns with them. Party to party only."""

    party: str
    masked: Integers
    share: Integers
    weighted: bool = False  # whether records count with their weights in these sums


@dataclass(frozen=True)
class RecordRepresentation(Message):
    """A vertical party's reduced rows (n, m) with the records' pseudonyms (n,)."""

    party: str
    pseudonyms: Pseudonyms
    rows: FloatArray
    instance_models: bool = False


@dataclass(frozen=True)
class RecordLabels(Message):
    """Labels (n,) with the records' pseudonyms (n,), from the one party that holds them."""

    party: str
    pseudonyms: Pseudonyms
    labels: Array
    weights: FloatArray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class JoinReport(Message):
    """How many records all parties hold, and how many of each party's were left out."""

    n_common: int
    n_dropped: dict[str, int]


@dataclass(frozen=True)
class SharedModel(Message):
    """The model, in which order it takes the parties' representations, and the grid it takes them on."""

    model: Any
    widths: dict[str, int]
    resolution: float


@dataclass(frozen=True)
class Sent:
    """One line of the record of what travelled: who sent what kind of message to whom, and how large.

    `n_bytes` counts numbers, keys and arrays; a model's size depends on how it is written down and is left out.
    """

    sender: str
    recipient: str
    kind: str
    shapes: dict[str, tuple[int, ...]]
    n_bytes: int

    @classmethod
    def of(cls, sender: str, recipient: str, message: Message) -> Sent:
        """The line for a message. It holds shapes and sizes, no values."""
        arrays = message.arrays()
        shapes = {name: array.shape for name, array in arrays.items()}
        n_bytes = sum(array.nbytes for array in arrays.values())
        for value in vars(message).values():
            if isinstance(value, bytes):
                n_bytes += len(value)
            elif isinstance(value, int) and not isinstance(value, bool):
                n_bytes += (value.bit_length() + 7) // 8
        return cls(sender, recipient, type(message).__name__, shapes, n_bytes)
