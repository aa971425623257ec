"""Every protocol as a table: who sends what to whom, what the server can read, and what must have come before.

All that affects the order of steps is here. A run in one process, the federation, the documentation's table "what
travels" and the privacy tests read these tables; nothing else says which step follows which.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from dcshap.collaboration.messages import (
    AnchorDigest,
    AnchorSeed,
    Commit,
    Greeting,
    HeldColumns,
    Hello,
    Integration,
    Introduction,
    JoinReport,
    MaskedMoments,
    Message,
    PairKey,
    Prepared,
    PseudonymKey,
    Ready,
    RecordLabels,
    RecordRepresentation,
    Representation,
    Resume,
    Settings,
    SharedModel,
    SpanBasis,
)
from dcshap.exceptions import ProtocolError
from dcshap.explanation.disclosures import (
    Answer,
    CoalitionTable,
    Prediction,
    RecordOffsets,
    RecordPart,
    RecordVectors,
    Request,
)

__all__ = [
    "ALGORITHM_3",
    "ALGORITHM_4",
    "CALL",
    "MEET",
    "PARTY_VIEWS",
    "PREDICT",
    "RESUME",
    "SHARE_MODEL",
    "Protocol",
    "Role",
    "Step",
    "asking",
    "training",
]

# Who sends and who receives. Of two places in one step, nobody is both: "lead → party" is the lead to all others.
Role = Literal[
    "analyst",  # trains, and carries what it cannot read
    "requester",  # asks for a prediction or an explanation
    "party",  # each party
    "lead",  # the first party by name
    "later",  # each party that comes after the sender by name
    "holder",  # the vertical party that holds the labels
    "viewer",  # each party through whose eyes an explanation is
]
CALL = "call"  # sent when the analyst calls for it, once everybody is that far


@dataclass(frozen=True)
class Step:
    """One kind of message in a protocol.

    Attributes
    ----------
    name : str
        The sender's role has a method `send_<name>`, the recipient's `receive_<name>`.
    sender, recipient : Role
    message : type of Message, or several
    sealed : bool
        Whether the server that carries it is kept from reading it. What is not sealed is signed all the same.
    on : str, optional
        What makes the sender send: the analyst's call (`CALL`), or a step, once all of its messages to the sender have
        arrived. Without it, sending is up to whoever conducts.
    after : tuple of str
        Steps whose messages from and to the sender, or the recipient, must all have been sent before.
    """

    name: str
    sender: Role
    recipient: Role
    message: type[Message] | tuple[type[Message], ...]
    sealed: bool
    on: str | None = None
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Protocol:
    """A named table of steps, in order."""

    name: str
    steps: tuple[Step, ...]

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __contains__(self, name: str) -> bool:
        return any(step.name == name for step in self.steps)

    def __getitem__(self, name: str) -> Step:
        for step in self.steps:
            if step.name == name:
                return step
        raise ProtocolError(f"The protocol {self.name!r} has the steps {[s.name for s in self.steps]}. Got another.")


# --- meeting: between organisations only; in one process there is nobody to be introduced ------------------------

_GREET = (
    Step("hello", "analyst", "party", Hello, sealed=False),
    Step("greeting", "party", "analyst", Greeting, sealed=True, on="hello"),
)
MEET = Protocol(
    "meet",
    (
        *_GREET,
        Step("introduction", "analyst", "party", Introduction, sealed=True, after=("greeting",)),
        Step("ready", "party", "analyst", Ready, sealed=True, on="introduction"),
        Step("settings", "lead", "party", Settings, sealed=True, on=CALL, after=("ready",)),
        Step("columns_held", "party", "lead", HeldColumns, sealed=True, on="settings"),
    ),
)
RESUME = Protocol(
    "resume",
    (
        *_GREET,
        Step("resume", "analyst", "party", Resume, sealed=True, after=("greeting",)),
        Step("ready", "party", "analyst", Ready, sealed=True, on="resume"),
    ),
)

# --- training ------------------------------------------------------------------------------------------------------

_ANCHOR = (
    Step("anchor", "lead", "party", AnchorSeed, sealed=True, on=CALL),
    Step("drawn", "party", "lead", AnchorDigest, sealed=True, on="anchor"),
)
_SHARED_SPAN = (
    Step("pair_key", "party", "later", PairKey, sealed=True, on=CALL, after=("drawn",)),
    Step("moments", "party", "lead", MaskedMoments, sealed=True, on=CALL, after=("pair_key",)),
    Step("basis", "lead", "party", SpanBasis, sealed=True, on=CALL, after=("moments",)),
)
_ROWS = (
    Step("representation", "party", "analyst", Representation, sealed=True, on=CALL, after=("drawn", "basis")),
    Step("integration", "analyst", "party", Integration, sealed=True, after=("representation",)),
)
_RECORDS = (
    Step("pseudonym_key", "lead", "party", PseudonymKey, sealed=True, on=CALL, after=("drawn",)),
    Step("records", "party", "analyst", RecordRepresentation, sealed=True, on=CALL, after=("pseudonym_key",)),
    Step("labels", "holder", "analyst", RecordLabels, sealed=True, on=CALL, after=("pseudonym_key",)),
    Step("joined", "analyst", "party", JoinReport, sealed=True, after=("records", "labels")),
)
_MODEL = (Step("model", "analyst", "party", SharedModel, sealed=True, after=("joined",)),)
SHARE_MODEL = Protocol("share model", _MODEL)


def _committing(last: str) -> tuple[Step, ...]:
    """Two phases: everybody has what it needs, then everybody uses it. A failure before leaves the earlier training."""
    return (
        Step("prepared", "party", "analyst", Prepared, sealed=True, on=last),
        Step("commit", "analyst", "party", Commit, sealed=True, after=("prepared",)),
        Step("committed", "party", "analyst", Prepared, sealed=True, on="commit"),
    )


def training(kind: str, *, span: str = "private", share: bool = True) -> Protocol:
    """The table of a training.

    Parameters
    ----------
    kind : {"horizontal", "vertical"}
    span : {"private", "shared", "random"}
    share : bool
        Vertically: whether the parties get their copy of the model at once, or later by `SHARE_MODEL`.
    """
    if kind == "horizontal":
        steps = (*_ANCHOR, *(_SHARED_SPAN if span == "shared" else ()), *_ROWS, *_committing("integration"))
    elif share:
        steps = (*_ANCHOR, *_RECORDS, *_MODEL, *_committing("model"))
    else:
        steps = (*_ANCHOR, *_RECORDS, *_committing("joined"))
    return Protocol(f"train {kind}ly", steps)


# --- asking, in a vertical collaboration. A horizontal party predicts and explains alone ---------------------------


def _views(name: str) -> Protocol:
    return Protocol(
        name,
        (
            Step("request", "requester", "viewer", Request, sealed=True),
            Step("forward", "viewer", "party", Request, sealed=True, on="request"),
            Step("vectors", "party", "viewer", RecordVectors, sealed=True, on="forward"),
            Step("answer", "viewer", "requester", Answer, sealed=True, on="vectors"),
        ),
    )


ALGORITHM_4 = _views("algorithm 4")
PARTY_VIEWS = _views("party views")
ALGORITHM_3 = Protocol(
    "algorithm 3",
    (
        Step("request", "requester", "party", Request, sealed=True),
        Step("columns", "party", "analyst", (RecordOffsets, CoalitionTable), sealed=True, on="request"),
        Step("part", "party", "requester", RecordPart, sealed=True, on="request"),
        Step("values", "analyst", "requester", Answer, sealed=False, on="columns"),
    ),
)
PREDICT = Protocol(
    "predict",
    (
        Step("request", "requester", "party", Request, sealed=True),
        Step("asked_records", "party", "analyst", RecordRepresentation, sealed=True, on="request"),
        Step("prediction", "analyst", "requester", Prediction, sealed=False, on="asked_records"),
    ),
)


def asking(name: str) -> Protocol:
    """The table that a request names."""
    for protocol in (ALGORITHM_3, ALGORITHM_4, PARTY_VIEWS, PREDICT):
        if protocol.name == name:
            return protocol
    raise ProtocolError("A request must name one of the protocols for requests. It names another.")
