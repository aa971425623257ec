"""The analyst's place in the federation: it leads trainings through their tables, and answers with the parties.

It knows nothing of the engine that carries envelopes. Which step comes when is in `dcshap.protocol.steps`.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sklearn.base import is_classifier

from dcshap._machine import at_once
from dcshap.collaboration import Analyst
from dcshap.collaboration.consent import require_consent
from dcshap.collaboration.messages import ANALYST, REQUESTER, Greeting, Hello, Introduction, Message, Ready, Resume
from dcshap.exceptions import DcshapError, InputError, PrivacyError, ProtocolError, StorageError
from dcshap.explanation.answering import AnsweringAnalyst
from dcshap.federation.seals.envelopes import Envelope, Opened
from dcshap.federation.seals.identity import Identity
from dcshap.federation.seals.ledger import Ledger
from dcshap.federation.seals.post import Network, Post, PostOffice, refusal
from dcshap.federation.seals.progress import Progress
from dcshap.federation.site.configuration import require_collaboration
from dcshap.federation.site.history import History
from dcshap.federation.site.keeping import KeepingAnalyst
from dcshap.federation.site.meeting import VERSION
from dcshap.federation.site.runs import Runs
from dcshap.federation.site.witness import Witness
from dcshap.protocol import Cast, Node, Protocol
from dcshap.protocol.steps import MEET, RESUME, asking, training
from dcshap.storage import read_model

__all__ = ["AnalystSite", "RunSettings"]


@dataclass(frozen=True)
class RunSettings:
    """What a run is for. All of it is public: it comes with the job."""

    collaboration: str
    kind: str  # "horizontal" or "vertical"
    parties: tuple[str, ...]
    run: str = ""  # unlike that of every other run
    # The estimator to train, through skops, in base64; empty where a trained collaboration is to go on.
    model: str = ""
    alignment: Any = "auto"  # or "affine", "svd", "orthogonal"
    timeout: float = 60.0  # seconds that a site may take to answer
    at_once: int = 8  # requests that are answered at the same time; more wait in order

    def __post_init__(self) -> None:
        require_collaboration(self.collaboration)
        if self.kind not in ("horizontal", "vertical"):
            raise InputError(f"`kind` must be 'horizontal' or 'vertical'. Got {self.kind!r}.")
        if len(self.parties) < 2:
            raise InputError(f"A collaboration needs at least two parties. Got {len(self.parties)}.")
        if self.at_once < 1:
            raise InputError(f"`at_once` must be at least 1. Got {self.at_once}.")


class AnalystMeeting:
    """The analyst, meeting the parties: its part in `dcshap.protocol.steps.MEET` and `RESUME`.

    Parameters
    ----------
    settings : RunSettings
    office : PostOffice
        Gets the parties' certificates.
    witness : Witness
    model : estimator, optional
        What is to be trained.
    run : str
        The training to go on from, where nothing is to be trained.
    """

    def __init__(
        self, settings: RunSettings, office: PostOffice, witness: Witness, *, model: Any = None, run: str = ""
    ) -> None:
        self._settings, self._office, self._model, self._run = settings, office, model, run
        self._witness = witness
        self._greetings: dict[str, Greeting] = {}

    def send_hello(self, to: str) -> Hello:  # noqa: ARG002 - all are sent the same
        """What the run is for."""
        number = self._model is not None and not is_classifier(self._model)
        return Hello(VERSION, self._settings.kind, "number" if number else "classes", self._witness.own)

    def receive_greeting(self, message: Greeting) -> None:
        """A party's certificate, and what it has agreed to."""
        certificate = self._office.identity.check(message.certificate, name=message.party)
        self._witness.require_own(message.remembered)
        self._office.directory[message.party] = certificate
        self._greetings[message.party] = message

    def send_introduction(self, to: str) -> Introduction:
        """Who takes part; refused where nobody should send anything for what is to be trained."""
        refusing = [name for name, each in self._greetings.items() if not each.instance_models]
        require_consent(self._model, refusing)
        return Introduction(self._certificates(), self.holder or "", self._witness.of(to))

    def send_resume(self, to: str) -> Resume:
        """Which training to go on from, and who takes part."""
        return Resume(self._run, self._certificates(), self._witness.of(to))

    def receive_ready(self, message: Ready) -> None:
        """A party has its table at hand, and its ledger is what it was."""
        self._witness.note(message.party, self._greetings[message.party].ledger)

    @property
    def holder(self) -> str | None:
        """The vertical party that holds the labels."""
        if self._settings.kind == "horizontal":
            return None
        holders = [name for name, each in self._greetings.items() if each.labels]
        if len(holders) != 1:
            raise InputError(f"Exactly one party must hold the labels. Got {holders or 'none'}.")
        return holders[0]

    @property
    def span(self) -> str:
        """The span that the parties have agreed on; they compare it themselves."""
        spans = sorted({each.span for each in self._greetings.values()})
        if len(spans) > 1:
            raise InputError(
                f"All parties must find their span in the same way. Got {spans}. A party that is new needs "
                f"`refit_span` at all of them."
            )
        return spans[0]

    def table(self) -> Protocol:
        """The table of the training that follows."""
        span, _, kept = self.span.partition(", ")
        rounds = {each.rounds for each in self._greetings.values()}
        classes = is_classifier(self._model)
        return training(self._settings.kind, span=span, rounds=max(rounds) if classes else 0, kept=bool(kept))

    def alignment(self) -> Any:
        """How representations are brought together: exactly, where all parties have one span."""
        if self._settings.alignment != "auto":
            return self._settings.alignment
        return "affine" if self.span.startswith("private") else "orthogonal"

    def _certificates(self) -> dict[str, str]:
        return {name: each.certificate for name, each in self._greetings.items()}


@dataclass
class _Outbox:
    """Holds what the analyst has for a requester back until the parties have replied too."""

    waiting: list[bytes]

    def send(self, to: str, data: bytes, *, patience: float) -> bytes:  # noqa: ARG002 - a network's signature
        if to != REQUESTER:
            raise ProtocolError("While a request is answered, the analyst sends to the requester alone.")
        self.waiting.append(data)
        return b""


class AnalystSite:
    """Leads a run, and answers requests together with the parties.

    Parameters
    ----------
    settings : RunSettings
    folder : path
        Where the analyst keeps what it trained, and its ledger.
    identity : Identity
        With the server's certificate.
    network : Network
    trusted : sequence of str
        Types beyond scikit-learn's own that a model may contain.
    """

    def __init__(
        self, settings: RunSettings, folder: Path, identity: Identity, network: Network, *, trusted: Sequence[str] = ()
    ) -> None:
        self.settings, self.progress = settings, Progress()
        self._state = folder / settings.collaboration
        self._ledger, self._runs = Ledger(folder / "ledger.jsonl"), Runs(self._state)
        self._witness = Witness(self._ledger, self._state)
        self.history = History(self._state)
        self._network = network
        opened = Opened(self._state / "opened.txt")
        self.office = PostOffice(ANALYST, identity, network=network, opened=opened, trusted=tuple(trusted))
        self._analyst: Analyst | None = None
        self._lock = threading.Lock()
        self._sessions: dict[tuple[str, str], tuple[Node, Post]] = {}
        self._answers: dict[str, list[bytes]] = {}

    @property
    def run(self) -> str:
        """The training that is used."""
        return "" if self._analyst is None else self._analyst.run

    @property
    def certificates(self) -> dict[str, str]:
        """The certificates of those who take part, the analyst's own included, by name."""
        found = {name: each.pem for name, each in self.office.directory.items()}
        return found | {ANALYST: self.office.identity.certificate.pem}

    # --- training -------------------------------------------------------------------------------------------

    def train(self) -> None:
        """Train with all parties; what was trained before is used until all of them have committed."""
        model = read_model(base64.b64decode(self.settings.model), trusted=self.office.trusted)
        analyst = Analyst(model)
        analyst.run = self.settings.run
        meeting = AnalystMeeting(self.settings, self.office, self._witness, model=model)
        self._conduct(MEET, analyst.run, [meeting])
        analyst.alignment = meeting.alignment()
        self._conduct(
            meeting.table(), analyst.run, [KeepingAnalyst(analyst, self._runs), analyst], holder=meeting.holder
        )
        self._analyst = analyst
        joined = analyst.joined if self.settings.kind == "vertical" else None
        self.history.add(
            analyst.run,
            type(model).__name__,
            sorted(self.settings.parties),
            records=None if joined is None else joined.n_common,
            dropped={} if joined is None else joined.n_dropped,
        )

    def resume(self, session: str) -> None:
        """Go on from the training that was kept, with the same parties.

        Parameters
        ----------
        session : str
            Unlike that of every other session.
        """
        if not self._runs.current:
            raise StorageError(f"The analyst has kept no training of {self.settings.collaboration!r}: train first.")
        analyst = Analyst.load(self._runs.path(self._runs.current), trusted=self.office.trusted)
        trained = sorted(analyst.widths_ or analyst.alignments_)
        if trained != sorted(self.settings.parties):
            raise InputError(
                f"The collaboration was trained by {trained}. Asked to go on with {sorted(self.settings.parties)}."
            )
        meeting = AnalystMeeting(self.settings, self.office, self._witness, run=analyst.run)
        self._conduct(RESUME, session, [meeting])
        self._analyst = analyst

    def _conduct(self, protocol: Protocol, session: str, roles: list[Any], *, holder: str | None = None) -> None:
        cast = Cast(tuple(sorted(self.settings.parties)), holder=holder)
        post = Post(
            self.office,
            protocol,
            session,
            record=self._ledger.append,
            patience=self.settings.timeout,
            progress=self.progress,
        )
        Node(ANALYST, protocol, cast, roles, post).conduct()

    # --- answering ------------------------------------------------------------------------------------------

    def handle(self, sealed: bytes) -> bytes:
        """Take an envelope of a party, which answers a request with what the analyst needs for it."""
        return self.office.handle(sealed, self._session)

    def _session(self, envelope: Envelope, message: Message | None) -> tuple[Node, Post]:  # noqa: ARG002
        """The node of a request's session, which the first party's message for it begins."""
        key = (envelope.about.session, envelope.about.protocol)
        with self._lock:
            if key not in self._sessions:
                if self._analyst is None or self.settings.kind != "vertical":
                    raise PrivacyError("Only a trained vertical collaboration answers requests.")
                if key[0] not in self._answers:
                    raise ProtocolError("A party sent what nobody has asked the analyst for.")
                self._sessions[key] = self._begin(asking(key[1]), key[0], self._analyst)
            return self._sessions[key]

    def _begin(self, protocol: Protocol, session: str, analyst: Analyst) -> tuple[Node, Post]:
        office = replace(self.office, network=_Outbox(self._answers[session]))
        post = Post(office, protocol, session, record=self._ledger.append)
        role = AnsweringAnalyst(analyst, probabilities=hasattr(analyst.model_, "predict_proba"))
        return Node(ANALYST, protocol, Cast(tuple(sorted(self.settings.parties))), [role], post), post

    def answer(self, session: str, envelopes: Mapping[str, bytes]) -> dict[str, list[bytes]]:
        """Bring a requester's envelopes to the parties; what they reply, and what the analyst adds."""
        if self._analyst is None or self.settings.kind != "vertical":
            raise PrivacyError(
                "Only a trained vertical collaboration answers requests. Horizontal parties explain alone."
            )
        if not envelopes or not set(envelopes) <= set(self.settings.parties):
            raise InputError(f"A request goes to parties of {sorted(self.settings.parties)}.")
        with self._lock:
            if session in self._answers:
                raise ProtocolError("A request is answered once. This one is being answered.")
            self._answers[session] = []
        try:
            replies = at_once(lambda to: self._relayed(to, envelopes[to]), envelopes)
            found = {name: [reply] for name, reply in zip(envelopes, replies, strict=True)}
            return found | {ANALYST: self._answers[session]}
        finally:
            with self._lock:
                del self._answers[session]
                self._sessions = {key: each for key, each in self._sessions.items() if key[0] != session}

    def _relayed(self, to: str, sealed: bytes) -> bytes:
        try:
            return self._network.send(to, sealed, patience=self.settings.timeout)
        except DcshapError as error:
            return refusal(error, site=ANALYST)
