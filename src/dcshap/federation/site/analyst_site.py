"""The analyst's place in the federation: it leads trainings through their tables, and answers with the parties.

It knows nothing of the engine that carries envelopes. Which step comes when is in `dcshap.protocol.steps`.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from dcshap._machine import at_once
from dcshap.collaboration import Analyst
from dcshap.collaboration.messages import ANALYST, REQUESTER, Message
from dcshap.collaboration.validation import Validation, validate_analyst
from dcshap.exceptions import DcshapError, InputError, PrivacyError, ProtocolError, StorageError
from dcshap.explanation.answering import AnsweringAnalyst
from dcshap.federation.seals.envelopes import Envelope, Opened
from dcshap.federation.seals.identity import Identity
from dcshap.federation.seals.ledger import Ledger
from dcshap.federation.seals.parts import TrainingPost
from dcshap.federation.seals.post import Network, Post, PostOffice, refusal
from dcshap.federation.seals.progress import Progress
from dcshap.federation.seals.spool import PART, Spool
from dcshap.federation.site.cluster import training_on
from dcshap.federation.site.history import History
from dcshap.federation.site.hosting import AnalystMeeting, RunSettings
from dcshap.federation.site.keeping import KeepingAnalyst
from dcshap.federation.site.runs import Runs
from dcshap.federation.site.witness import Witness
from dcshap.protocol import Cast, Node, Protocol
from dcshap.protocol.steps import MEET, RESUME, asking
from dcshap.storage import read_model

__all__ = ["AnalystSite"]


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
    cluster : mapping, optional
        The Dask cluster on which models are trained; this process trains them by default.

    Attributes
    ----------
    part : int
        Bytes of a message that travel in one envelope.
    """

    part = PART

    def __init__(
        self,
        settings: RunSettings,
        folder: Path,
        identity: Identity,
        network: Network,
        *,
        trusted: Sequence[str] = (),
        cluster: Mapping[str, str] | None = None,
    ) -> None:
        self.settings, self.progress, self._cluster = settings, Progress(), cluster
        self._state = folder / settings.collaboration
        self._ledger, self._runs = Ledger(folder / "ledger.jsonl"), Runs(self._state)
        self._witness = Witness(self._ledger, self._state)
        self.history = History(self._state)
        self._network = network
        opened = Opened(self._state / "opened.txt")
        self.office = PostOffice(ANALYST, identity, network=network, opened=opened, trusted=tuple(trusted))
        self._analyst: Analyst | None = None
        self._validation: Validation | None = None
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
        """Train with all parties; what was trained before is used until all of them have committed.

        What a training keeps on its way is dropped at its end, or when another begins; until then it can be resumed.
        """
        run, session = self._to_train(), self.settings.run
        if run == self._runs.current:  # the training counts already: parties that do not know it are told
            self.resume(session)
        else:
            self._train(run, session)
        self._put_down(run)
        self._runs.forget_files(run)

    def _to_train(self) -> str:
        """The run that is to be trained: a new one, or the one that was interrupted."""
        if not self.settings.resume:
            self._runs.forget_interrupted()
            return self.settings.run
        interrupted = self._runs.interrupted()
        if not interrupted:
            raise StorageError(
                f"There is no interrupted training of {self.settings.collaboration!r} to resume: train without "
                f"`--resume`."
            )
        return interrupted[-1]

    def _train(self, run: str, session: str) -> None:
        spool = Spool(self._runs.spool(run), part=self.part, trusted=self.office.trusted)
        model = read_model(base64.b64decode(self.settings.model), trusted=self.office.trusted)
        analyst = Analyst(model)
        analyst.run, analyst.workspace, analyst.secret = run, spool.folder, spool.bind(self.settings.digest)
        if self._cluster is not None:
            analyst.cluster = partial(training_on, self._cluster)
        meeting = AnalystMeeting(self.settings, self.office, self._witness, model=model, run=run)
        self._conduct(MEET, session, [meeting])
        analyst.alignment, protocol = meeting.alignment(), meeting.table()
        spool.order = [step.name for step in protocol]
        roles = [KeepingAnalyst(analyst, self._runs, spool), analyst]
        self._conduct(protocol, session, roles, holder=meeting.holder, spool=spool)
        self._validation = validate_analyst(analyst)
        analyst.forget_rows()
        self._analyst = analyst

    def _put_down(self, run: str) -> None:
        """Write to the list of trainings that this one was put to use."""
        analyst = self._analyst
        if analyst is None or any(each.run == run for each in self.history.all()):
            return
        joined = analyst.joined if self.settings.kind == "vertical" else None
        self.history.add(
            run,
            type(analyst.model_).__name__,
            sorted(self.settings.parties),
            records=None if joined is None else joined.n_common,
            dropped={} if joined is None else joined.n_dropped,
            quality=None if self._validation is None else asdict(self._validation),
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
        self._runs.forget_files(analyst.run)

    def _conduct(
        self,
        protocol: Protocol,
        session: str,
        roles: list[Any],
        *,
        holder: str | None = None,
        spool: Spool | None = None,
    ) -> None:
        cast = Cast(tuple(sorted(self.settings.parties)), holder=holder)
        options: dict[str, Any] = {"record": self._ledger.append, "patience": self.settings.timeout}
        options["progress"] = self.progress
        if spool is None:
            post = Post(self.office, protocol, session, **options)
        else:
            post = TrainingPost(self.office, protocol, session, spool=spool, **options)
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
