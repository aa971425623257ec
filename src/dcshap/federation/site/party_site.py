"""A party's place in the federation: envelopes arrive, its roles take what the tables allow, sealed answers leave.

It knows nothing of the engine that carries envelopes. Which step comes when is in `dcshap.protocol.steps`; here is what
a party needs to begin a session: its own configuration, table, seeds, and the rights of whoever asks.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from dcshap._machine import monotonic
from dcshap.collaboration import HorizontalParty, VerticalParty
from dcshap.collaboration.cautions import warn_of_new_maps, warn_of_no_noise
from dcshap.collaboration.messages import ANALYST, REQUESTER, AnchorSeed, Hello, Introduction, Message
from dcshap.exceptions import DcshapError, NotFittedError, ProtocolError, StorageError
from dcshap.explanation.answering import AnsweringParty
from dcshap.explanation.disclosures import RecordVectors, Request
from dcshap.explanation.receipt import Signer
from dcshap.explanation.views import explain_view
from dcshap.federation.seals.envelopes import MAX_AGE, Envelope, Opened
from dcshap.federation.seals.identity import Certificate, Identity
from dcshap.federation.seals.ledger import Entry, Ledger
from dcshap.federation.seals.parts import TrainingPost
from dcshap.federation.seals.post import Network, Post, PostOffice
from dcshap.federation.seals.spool import PART, Spool
from dcshap.federation.site.admission import Admission, AskedPost, Declining, viewers_of
from dcshap.federation.site.clearance import NEW_MAPS, Clearance, digest_of
from dcshap.federation.site.configuration import SiteConfig
from dcshap.federation.site.holdings import Data, load_data
from dcshap.federation.site.keeping import KeepingParty
from dcshap.federation.site.meeting import Meeting
from dcshap.federation.site.pins import Pins
from dcshap.federation.site.runs import Runs
from dcshap.federation.site.secrets import Secrets
from dcshap.federation.site.witness import Witness
from dcshap.protocol import Cast, Node
from dcshap.protocol.steps import MEET, RESUME, asking, training

__all__ = ["PartySite", "load_trained"]

REFUSAL = "Refusal"  # the ledger's line of an error that somebody was answered with
PRIVACY = "Privacy"  # the line of what a training has spent of differential privacy
_WARM_UP = 12  # players of the game that a party explains to nobody, so that compilers have run
_warm: set[tuple[type, int]] = set()  # the kinds of models and numbers of players for which they have, in this process


class PartySite:
    """A party and all its sessions.

    Attributes
    ----------
    part : int
        Bytes of a message that travel in one envelope.
    """

    part = PART
    load_data = staticmethod(load_data)  # reads the table

    def __init__(self, config: SiteConfig, identity: Identity, *, collaboration: str, network: Network) -> None:
        if identity.name != config.party:
            raise StorageError(
                f"The certificate must bear the party's name {config.party!r}. It bears {identity.name!r}."
            )
        self.config, self.collaboration = config, collaboration
        self.settings = config.collaboration(collaboration)
        self.folder = config.state_folder(collaboration)
        self.ledger = Ledger(config.ledger)
        opened = Opened(self.folder / "opened.txt")
        self.office = PostOffice(
            identity.name,
            identity,
            network=network,
            opened=opened,
            trusted=self.settings.trusted,
            refused=self._note_refusal,
        )
        self._lock = threading.RLock()
        self._sessions: dict[tuple[str, str], tuple[Node, Post]] = {}
        self._asked_at: dict[tuple[str, str], float] = {}
        self._hosts: dict[tuple[str, str], Certificate] = {}  # of meetings: who has said hello
        self._party: HorizontalParty | VerticalParty | None = None

    def handle(self, sealed: bytes) -> bytes:
        """Take an envelope; the reply to it."""
        return self.office.handle(sealed, self._session)

    @property
    def party(self) -> Any:
        """The role, once it has begun."""
        if self._party is None:
            raise NotFittedError(f"Party {self.office.me!r} has not begun yet.")
        return self._party

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(sorted((self.office.me, *self.settings.partners)))

    # --- sessions -------------------------------------------------------------------------------------------

    def _session(self, envelope: Envelope, message: Message | None) -> tuple[Node, Post]:
        """The node that an envelope is for; the first message of a protocol begins its session."""
        key = (envelope.about.session, envelope.about.protocol)
        with self._lock:
            if key not in self._sessions:
                if isinstance(message, Request):
                    self._forget_requests()
                    self._sessions[key] = self._asked(envelope, message)
                    self._asked_at[key] = monotonic()
                elif message is not None and envelope.about.step == "hello" and envelope.about.sender == ANALYST:
                    self._sessions[key] = self._met(envelope)
                else:
                    raise ProtocolError(f"Party {self.office.me!r} has no such session. A run begins with 'hello'.")
            host = self._hosts.get(key, envelope.author)
            if envelope.about.sender == ANALYST and envelope.author.pem != host.pem:
                raise ProtocolError("A meeting must go on with the certificate that has said hello. This is another.")
            return self._sessions[key]

    def _forget_requests(self) -> None:
        """Drop requests that were answered, or whose envelopes are too old to be opened; the ledger knows of them."""
        for key, at in list(self._asked_at.items()):
            if self._sessions[key][0].finished or monotonic() - at > 2 * MAX_AGE:
                del self._sessions[key], self._asked_at[key]

    def _note_refusal(self, envelope: Envelope, error: DcshapError) -> None:
        """Write to the ledger who was refused; of an error nothing is written but its kind."""
        about = envelope.about
        requester = envelope.author.name if about.sender == REQUESTER else ""
        note = f"{about.step}: {type(error).__name__}"
        self.ledger.append(
            Entry(envelope.author.name, REFUSAL, 0, request=about.session, requester=requester, note=note)
        )

    def _node(self, cast: Cast, roles: list[Any], post: Post) -> tuple[Node, Post]:
        return Node(self.office.me, post.protocol, cast, roles, post), post

    def _met(self, envelope: Envelope) -> tuple[Node, Post]:
        """A meeting with the analyst and the other parties; a training, or requests, follow."""
        protocol, session = (RESUME if envelope.about.protocol == RESUME.name else MEET), envelope.about.session
        if Pins(self.folder).hold(envelope.author):  # who is new is sealed to once the introduction holds
            self.office.directory[ANALYST] = envelope.author
        self._hosts[session, envelope.about.protocol] = envelope.author
        meeting = Meeting(
            self.config,
            self.collaboration,
            self.office,
            Witness(self.ledger, self.folder),
            analyst=envelope.author,
            span=self._span(),
            begin=lambda introduction, hello: self._begin(session, introduction, hello),
            resume=self._resume,
        )
        post = Post(self.office, protocol, session, record=self.ledger.append)
        return self._node(Cast(self._names), [meeting], post)

    def _span(self) -> str:
        """How the span of the next training is found; kept, where there was a training before."""
        agreed = str(self.settings.agreement.get("span", "supervised"))
        return agreed if self._earlier() is None else f"{agreed}, kept"

    def _earlier(self) -> Any:
        """The party as the training before left it, if its maps are to be used again."""
        if self.settings.refit_span or not Runs(self.folder).current:
            return None
        return load_trained(self.config, self.collaboration)

    def _begin(self, session: str, introduction: Introduction, hello: Hello) -> Data:
        """Bring the table along for a training: a new one, or one that was interrupted."""
        run, runs = introduction.run or session, Runs(self.folder)
        if run == runs.current:
            raise ProtocolError(f"Party {self.office.me!r} uses this training already: it cannot begin again.")
        runs.forget_interrupted(but=run)
        data = self.load_data(self.settings, base=self.config.folder, task=hello.task)
        kind = HorizontalParty if self.settings.kind == "horizontal" else VerticalParty
        self._party = party = kind(
            self.office.me,
            data.agreement,
            private_seed=Secrets.load(self.folder).private_seed,
            instance_models=self.settings.instance_models,
        )
        party.take(data.X, data.y)
        refusing = self._keep_maps(party, resumed=run in runs.interrupted())
        Clearance(self.config, self.collaboration, self.ledger).require(party, run=run)
        self._sessions[session, f"train {self.settings.kind}ly"] = self._trained_with(
            party, session, run, introduction.holder or None, refusing
        )
        return data

    def _trained_with(
        self, party: Any, session: str, run: str, holder: str | None, refusing: list[_OtherMaps]
    ) -> tuple[Node, Post]:
        """The session of a training, with the files that it keeps until it counts."""
        agreement, runs = party.agreement, Runs(self.folder)
        rounds = agreement.rounds if agreement.task == "classes" else 0
        kept = bool(party.has_maps or refusing)
        protocol = training(self.settings.kind, span=agreement.span, rounds=rounds, kept=kept)
        spool = Spool(runs.spool(run), part=self.part, trusted=self.settings.trusted)
        spool.order = [step.name for step in protocol]
        party.secret = spool.bind(digest_of(party))
        keeping = KeepingParty(
            party, run, self.folder, spool, committed=self._warm_up, spend=lambda epsilon: self._spend(run, epsilon)
        )
        post = TrainingPost(self.office, protocol, session, record=self.ledger.append, spool=spool)
        return self._node(Cast(self._names, holder=holder), [*refusing, keeping, party], post)

    def _spend(self, run: str, epsilon: float) -> None:
        """Write down what a training spends of differential privacy; it adds up over all trainings."""
        self.ledger.append(Entry("all parties", PRIVACY, 0, request=run, epsilon=epsilon, note=self.collaboration))

    def _keep_maps(self, party: HorizontalParty | VerticalParty, *, resumed: bool) -> list[_OtherMaps]:
        """Use the maps of the training before, or warn of new ones; where neither may be, the role that refuses."""
        earlier = self._earlier()
        warn_of_no_noise(party.agreement.noise)
        if earlier is not None:
            party.keep_maps(earlier)
            if not party.has_maps:
                return [_OtherMaps(self.office.me)]
        if not party.has_maps and Runs(self.folder).current and not resumed:
            warn_of_new_maps()
            self.ledger.append(Entry(ANALYST, NEW_MAPS, 0, note=self.collaboration))
        return []

    def _resume(self, run: str) -> Data:
        """Go on from an earlier training, also one that was prepared here and counts at the analyst already."""
        runs = Runs(self.folder)
        if runs.current != run and not runs.prepared(run):
            raise StorageError(
                f"Party {self.office.me!r} has kept nothing of the training that the analyst goes on from: train again."
            )
        if runs.current != run:
            runs.commit(run)
        runs.forget_files(run)
        data = self.load_data(self.settings, base=self.config.folder)
        self._party = load_trained(self.config, self.collaboration)
        if isinstance(self._party, VerticalParty):
            self._party.bring_back(data.X)
            self._warm_up()
        return data

    def _asked(self, envelope: Envelope, request: Request) -> tuple[Node, Post]:
        """A request, if this party lets its author ask that."""
        party = self.party
        if not isinstance(party, VerticalParty) or not party.run:
            raise ProtocolError("Only a trained vertical collaboration answers requests.")
        config = SiteConfig.load(self.config.folder)  # who may ask what is read for every request
        admission = Admission(config, self.office.identity, self.ledger, party, request)
        cast = Cast(self._names, viewers=viewers_of(request, self._names))
        admission.admit(envelope, cast, collaboration=self.collaboration)
        post = AskedPost(
            self.office,
            asking(request.protocol),
            request.identifier,
            record=admission.recording(self.collaboration),
            requester=request.requester,
            n_records=len(request.records),
        )
        post.declining = party.held.lacking(request.records) > 0
        role = Declining(request, party) if post.declining else self._answering(request, config)
        return Node(self.office.me, asking(request.protocol), cast, [role], post), post

    def _answering(self, request: Request, config: SiteConfig) -> AnsweringParty:
        party, identity = self.party, self.office.identity
        signer = Signer(identity.certificate.pem, identity.sign)
        what_if = config.right(request.requester, request.view).what_if
        return AnsweringParty(party, party.held.select(request.records), request, signer=signer, what_if=what_if)

    def _warm_up(self) -> None:
        """Explain one of the party's own records to nobody, so that the first requester need not wait for compilers."""
        party = self.party
        shared = party.shared_model_ if isinstance(party, VerticalParty) else None
        if shared is None:
            return
        game = type(shared.model), len(party.agreement.schema) + len(shared.widths)
        if game in _warm or game[1] > _WARM_UP:
            return
        record = party.held.select(party.held.identifiers[:1])
        blank = [
            RecordVectors(name, party.pseudonyms_of(record), np.zeros((1, width)), np.zeros((1, width)))
            for name, width in shared.widths.items()
            if name != party.name
        ]
        explain_view(party, record, blank, index="owen")
        _warm.add(game)


class _OtherMaps:
    """Refuses the first step of a training, once all parties have compared their settings."""

    def __init__(self, party: str) -> None:
        self._party = party

    def send_anchor(self, to: str) -> AnchorSeed:  # noqa: ARG002 - a role's signature
        raise self._refusal()

    def receive_anchor(self, message: AnchorSeed) -> None:  # noqa: ARG002
        raise self._refusal()

    def _refusal(self) -> ProtocolError:
        return ProtocolError(
            f"Party {self._party!r} has maps of a training with other settings. Set `refit_span` at all parties to "
            f"find new ones."
        )


def load_trained(config: SiteConfig, collaboration: str) -> Any:
    """The party as the training that is used left it; nobody else is asked."""
    settings, runs = config.collaboration(collaboration), Runs(config.state_folder(collaboration))
    if not runs.current:
        raise StorageError(f"Party {config.party!r} has kept no training of {collaboration!r}: train first.")
    kind = HorizontalParty if settings.kind == "horizontal" else VerticalParty
    return kind.load(runs.path(runs.current), trusted=settings.trusted)
