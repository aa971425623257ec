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
    CommonRecords,
    Greeting,
    GuestTriple,
    HeldColumns,
    Hello,
    HolderTriple,
    Integration,
    Introduction,
    JoinReport,
    LabelSums,
    MaskedColumns,
    MaskedMoments,
    Message,
    PairKey,
    Prepared,
    PseudonymKey,
    Ready,
    RecordLabels,
    RecordPseudonyms,
    RecordRepresentation,
    Representation,
    Resume,
    Settings,
    SharedModel,
    Targets,
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
    "guest",  # each other vertical party
    "viewer",  # each party through whose eyes an explanation is
]
CALL = "call"  # sent when the analyst calls for it, once everybody is that far


@dataclass(frozen=True)
class Step:
    """One kind of message in a protocol."""

    # The sender's role has a method `send_<name>`, the recipient's `receive_<name>`. A step that comes in several
    # rounds ends in the round's number, which the methods are told with the name.
    name: str
    sender: Role
    recipient: Role
    message: type[Message] | tuple[type[Message], ...]
    # Whether the server that carries it is kept from reading it. What is not sealed is signed all the same.
    sealed: bool
    # What makes the sender send: the analyst's call (`CALL`), or a step, once all of its messages to the sender have
    # arrived. Without it, sending is up to whoever conducts.
    on: str | None = None
    # Steps whose messages from and to the sender, or the recipient, must all have been sent before.
    after: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        """What the roles' methods are called, after `send_` and `receive_`."""
        return self.name.rstrip("0123456789").removesuffix("_")

    @property
    def round(self) -> dict[str, str]:
        """A further argument of both methods, for a step that comes in several rounds: its full name."""
        return {} if self.method == self.name else {"step": self.name}


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
    Step("moments", "party", "party", MaskedMoments, sealed=True, on=CALL, after=("pair_key",)),
)
_MATCHING = (
    Step("pseudonym_key", "lead", "party", PseudonymKey, sealed=True, on=CALL, after=("drawn",)),
    Step("pseudonyms", "party", "analyst", RecordPseudonyms, sealed=True, on=CALL, after=("pseudonym_key",)),
    Step("common", "analyst", "party", CommonRecords, sealed=True, after=("pseudonyms",)),
)
# The analyst deals randomness, and never sees what the parties mask with it.
_LABEL_SUMS = (
    Step("holder_triple", "analyst", "holder", HolderTriple, sealed=True, after=("common",)),
    Step("guest_triple", "analyst", "guest", GuestTriple, sealed=True, after=("common", "holder_triple")),
    Step(
        "masked_columns",
        "guest",
        "holder",
        MaskedColumns,
        sealed=True,
        on=CALL,
        after=("holder_triple", "guest_triple"),
    ),
    Step("label_sums", "holder", "guest", LabelSums, sealed=True, on="masked_columns"),
)
_RECORDS = (
    Step("records", "party", "analyst", RecordRepresentation, sealed=True, on=CALL, after=("common", "label_sums")),
    Step("labels", "holder", "analyst", RecordLabels, sealed=True, on=CALL, after=("common",)),
    Step("joined", "analyst", "party", JoinReport, sealed=True, after=("records", "labels")),
)
_MODEL = (Step("model", "analyst", "party", SharedModel, sealed=True, after=("joined",)),)
SHARE_MODEL = Protocol("share model", _MODEL)


def _supervised_span(rounds: int) -> tuple[Step, ...]:
    """Everybody sends masked sums to everybody: all compute the same span, and nobody takes it on trust."""
    steps = [
        Step("pair_key", "party", "later", PairKey, sealed=True, on=CALL, after=("drawn",)),
        Step("targets", "party", "party", Targets, sealed=True, on=CALL, after=("pair_key",)),
        Step("sums", "party", "party", MaskedMoments, sealed=True, on=CALL, after=("targets",)),
    ]
    newton = [f"newton_{at}" for at in range(1, rounds + 1)]
    for name in (*newton, "bends", "bend_checks") if rounds else ():
        before = steps[-1].name
        steps.append(Step(name, "party", "party", MaskedMoments, sealed=True, on=CALL, after=(before,)))
    return tuple(steps)


def _rows(after: str) -> tuple[Step, ...]:
    return (
        Step("representation", "party", "analyst", Representation, sealed=True, on=CALL, after=(after,)),
        Step("integration", "analyst", "party", Integration, sealed=True, after=("representation",)),
    )


def _committing(last: str) -> tuple[Step, ...]:
    """Two phases: everybody has what it needs, then everybody uses it. A failure before leaves the earlier training."""
    return (
        Step("prepared", "party", "analyst", Prepared, sealed=True, on=last),
        Step("commit", "analyst", "party", Commit, sealed=True, after=("prepared",)),
        Step("committed", "party", "analyst", Prepared, sealed=True, on="commit"),
    )


def training(kind: str, *, span: str = "private", rounds: int = 0, kept: bool = False, share: bool = True) -> Protocol:
    """The table of a training.

    Parameters
    ----------
    kind : {"horizontal", "vertical"}
    span : {"supervised", "private", "shared", "random"}
    rounds : int
        Newton rounds of a supervised span; bends are looked for where there are any.
    kept : bool
        Whether the parties use the maps of an earlier training: there is no span to find then.
    share : bool
        Vertically: whether the parties get their copy of the model at once, or later by `SHARE_MODEL`.
    """
    if kind == "horizontal":
        spans = {"supervised": _supervised_span(rounds), "shared": _SHARED_SPAN}
        agreeing = (*_ANCHOR, *(() if kept else spans.get(span, ())))
        steps = (*agreeing, *_rows(agreeing[-1].name), *_committing("integration"))
    else:
        finding = _LABEL_SUMS if span == "supervised" and not kept else ()
        ending = (*_MODEL, *_committing("model")) if share else _committing("joined")
        steps = (*_ANCHOR, *_MATCHING, *finding, *_RECORDS, *ending)
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
