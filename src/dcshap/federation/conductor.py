"""The analyst's side of the federation: asks the parties for their steps in order, integrates, trains, answers.

It knows nothing of the engine that carries messages. The method is that of `dcshap.collaboration.Analyst`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from dcshap.collaboration import Analyst
from dcshap.collaboration.consent import require_consent
from dcshap.collaboration.messages import Message, RecordLabels, RecordRepresentation, Representation
from dcshap.exceptions import InputError, PrivacyError, ProtocolError, StorageError
from dcshap.explanation.messages import Answer, CoalitionTable, RecordOffsets
from dcshap.explanation.vertical import explain_all
from dcshap.federation.ledger import Ledger
from dcshap.federation.party import PROTOCOL, message_of
from dcshap.federation.post import entry_of
from dcshap.federation.progress import Progress
from dcshap.federation.replies import Reply
from dcshap.federation.site import require_collaboration, write_private
from dcshap.federation.wire import pack, unpack
from dcshap.storage import read_model

__all__ = ["Ask", "Conductor", "RunSettings"]

Ask = Callable[[str, Mapping[str, bytes], dict[str, Any]], dict[str, Reply]]
M = TypeVar("M", bound=Message)
_RUN = "run.json"


@dataclass(frozen=True)
class RunSettings:
    """What a run is for. All of it is public: it comes with the job.

    Attributes
    ----------
    collaboration : str
    kind : {"horizontal", "vertical"}
    parties : tuple of str
    run : str
        Unlike that of every other run.
    model : str
        The estimator to train, through skops, in base64; empty where a trained collaboration is to go on.
    alignment : {"affine", "svd", "orthogonal"}
    timeout : float
        Seconds that a site may take to answer.
    """

    collaboration: str
    kind: str
    parties: tuple[str, ...]
    run: str = ""
    model: str = ""
    alignment: Any = "affine"
    timeout: float = 60.0

    def __post_init__(self) -> None:
        require_collaboration(self.collaboration)
        if self.kind not in ("horizontal", "vertical"):
            raise InputError(f"`kind` must be 'horizontal' or 'vertical'. Got {self.kind!r}.")
        if len(self.parties) < 2:
            raise InputError(f"A collaboration needs at least two parties. Got {len(self.parties)}.")


@dataclass
class Conductor:
    """Leads a run.

    Parameters
    ----------
    settings : RunSettings
    folder : path
        Where the analyst keeps what it trained, and its ledger.
    ask : callable
        Asks sites for a step and returns what each answers; raises where one does not, or answers with an error.
    trusted : sequence of str
        Types beyond scikit-learn's own that a model may contain.
    """

    settings: RunSettings
    folder: Path
    ask: Ask
    progress: Progress = field(default_factory=Progress)
    trusted: Sequence[str] = ()

    def __post_init__(self) -> None:
        self._ledger = Ledger(self.folder / "ledger.jsonl")
        self._analyst: Analyst | None = None
        self.certificates: dict[str, str] = {}
        self.run = self.settings.run

    @property
    def _state(self) -> Path:
        return self.folder / self.settings.collaboration

    @property
    def _parties(self) -> list[str]:
        return sorted(self.settings.parties)

    def _ask(self, step: str, to: Sequence[str] | Mapping[str, bytes], **header: Any) -> dict[str, Reply]:
        bodies = dict(to) if isinstance(to, Mapping) else dict.fromkeys(to, b"")
        return self.ask(step, bodies, {"timeout": self.settings.timeout} | header)

    # --- training -------------------------------------------------------------------------------------------

    def train(self) -> None:
        """Train with all parties, and keep the result."""
        model = read_model(base64.b64decode(self.settings.model), trusted=self.trusted)
        analyst = Analyst(model, alignment=self.settings.alignment)
        greetings = self._greet()
        # At the start: nobody should send anything for a model that could not leave the analyst in the end.
        require_consent(model, [name for name in self._parties if not greetings[name]["instance_models"]])
        holders = [name for name in self._parties if greetings[name]["labels"]]
        if self.settings.kind == "vertical" and len(holders) != 1:
            raise InputError(f"Exactly one party must hold the labels. Got {holders or 'none'}.")
        lead = self._parties[0]
        self._ask("begin", self._parties, certificates=self.certificates, run=self.run)
        self._ask("compare", [lead])
        self._ask("anchor", [lead])
        if self.settings.kind == "horizontal":
            self._train_horizontal(analyst, lead, shared={g["span"] for g in greetings.values()} == {"shared"})
        else:
            self._train_vertical(analyst, lead, holders[0])
        self._analyst = analyst
        self._keep(analyst)

    def _greet(self) -> dict[str, dict[str, Any]]:
        replies = self._ask("hello", self._parties, protocol=PROTOCOL, kind=self.settings.kind)
        self.certificates = {name: str(reply.header["certificate"]) for name, reply in replies.items()}
        return {name: reply.header for name, reply in replies.items()}

    def _train_horizontal(self, analyst: Analyst, lead: str, *, shared: bool) -> None:
        if shared:
            self._ask("pair keys", self._parties)
            self._ask("moments", self._parties)
            self._ask("basis", [lead])
        received = self._messages("represent", self._parties, Representation)
        integrations = analyst.integrate([received[name] for name in self._parties])
        self._ask("integration", {name: self._recorded(each, to=name) for name, each in integrations.items()})

    def _train_vertical(self, analyst: Analyst, lead: str, holder: str) -> None:
        self._ask("key", [lead])
        received = self._messages("represent", self._parties, RecordRepresentation)
        labels = self._messages("labels", [holder], RecordLabels)[holder]
        report = analyst.join([received[name] for name in self._parties], labels)
        self._ask("joined", {name: self._recorded(report, to=name) for name in self._parties})
        shared = analyst.share_model()
        self._ask("model", {name: self._recorded(shared, to=name) for name in self._parties})

    def _messages(self, step: str, to: Sequence[str], kind: type[M]) -> dict[str, M]:
        found = {name: message_of(reply.body, kind) for name, reply in self._ask(step, to).items()}
        for name, message in found.items():
            if getattr(message, "party", name) != name:
                raise ProtocolError(f"Party {name!r} sent a {kind.__name__} in another party's name.")
        return found

    def _recorded(self, message: Message, *, to: str) -> bytes:
        data = pack(message)
        self._ledger.append(entry_of(message, to=to, n_bytes=len(data), request=self.run))
        return data

    # --- on disk ----------------------------------------------------------------------------------------------

    def _keep(self, analyst: Analyst) -> None:
        analyst.save(self._state / "analyst")
        write_private(self._state / _RUN, json.dumps({"run": self.run, "parties": self._parties}))

    def resume(self) -> None:
        """Go on from a training that was kept, with the same parties."""
        try:
            kept = json.loads((self._state / _RUN).read_text(encoding="utf-8"))
            self.run, parties = str(kept["run"]), list(kept["parties"])
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise StorageError(
                f"The analyst has kept no training of {self.settings.collaboration!r}: train first."
            ) from error
        if parties != self._parties:
            raise InputError(f"The collaboration was trained by {parties}. Asked to go on with {self._parties}.")
        self._analyst = Analyst.load(self._state / "analyst", trusted=self.trusted)
        self._greet()
        self._ask("resume", self._parties, certificates=self.certificates, run=self.run)

    # --- answering --------------------------------------------------------------------------------------------

    def answer(self, envelopes: Mapping[str, bytes], *, how: str) -> dict[str, Any]:
        """Have the parties answer a requester's envelopes; as plain content.

        Parameters
        ----------
        envelopes : mapping of party to sealed request
        how : {"views", "columns", "predict"}
            Party views; Algorithm 3; or a prediction.
        """
        if self._analyst is None or self.settings.kind != "vertical":
            raise PrivacyError(
                "Only a trained vertical collaboration answers requests. Horizontal parties explain alone."
            )
        unknown = sorted(set(envelopes) - set(self.settings.parties))
        if unknown or not envelopes:
            raise InputError(f"A request goes to parties of {self._parties}.")
        if how == "views":
            replies = self._ask("explain", envelopes)
            answers = {name: _text(reply.body) for name, reply in replies.items()}
            return {"answers": answers, "seconds": {name: r.header["seconds"] for name, r in replies.items()}}
        if how == "columns":
            return self._columns(self._analyst, envelopes)
        if how == "predict":
            return self._predict(self._analyst, envelopes)
        raise InputError("A request is answered by 'views', 'columns' or 'predict'.")

    def _columns(self, analyst: Analyst, envelopes: Mapping[str, bytes]) -> dict[str, Any]:
        parts, sealed = [], {}
        for name, reply in self._ask("columns", envelopes).items():
            at = int(reply.header["sealed"])
            sealed[name], part = _text(reply.body[:at]), unpack(reply.body[at:])
            if not isinstance(part, RecordOffsets | CoalitionTable) or part.party != name:
                raise ProtocolError(f"Party {name!r} must send what its columns add. It sent a {type(part).__name__}.")
            parts.append(part)
        explained = explain_all(analyst, parts)
        return {"answers": sealed, "explanation": _text(self._recorded(Answer(explained), to="requester"))}

    def _predict(self, analyst: Analyst, envelopes: Mapping[str, bytes]) -> dict[str, Any]:
        replies = self._ask("records", envelopes)
        received = [message_of(reply.body, RecordRepresentation) for reply in replies.values()]
        probabilities = hasattr(analyst.model_, "predict_proba")
        predicted = analyst.predict_records(received, probabilities=probabilities)
        classes = [str(label) for label in getattr(analyst.model_, "classes_", ())]
        return {"predictions": predicted.tolist(), "classes": classes if probabilities else []}


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
