"""A party's side of the federation: which step it takes when the analyst, or another party, asks for it.

It knows nothing of the engine that carries messages. The method is that of `dcshap.collaboration`: here is only who
is told what, when.
"""

from __future__ import annotations

import hashlib
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import numpy as np

from dcshap.collaboration.messages import ANALYST, AnchorSeed, Message
from dcshap.collaboration.party import Party
from dcshap.exceptions import NotFittedError, PrivacyError, ProtocolError, SchemaError, StorageError
from dcshap.federation.identity import Envelope, Identity
from dcshap.federation.ledger import Ledger
from dcshap.federation.post import Carry, Post
from dcshap.federation.replies import Reply
from dcshap.federation.site import Secrets, SiteConfig, load_data, write_private
from dcshap.federation.wire import unpack
from dcshap.schema import Schema

__all__ = ["PROTOCOL", "PartySite"]

PROTOCOL = 1
_RUN = "run.json"
P = TypeVar("P", bound=Party)
M = TypeVar("M", bound=Message)
Step = Callable[[dict[str, Any], bytes], Reply]
PeerStep = Callable[[Envelope], bytes]


class PartySite(ABC, Generic[P]):
    """What horizontal and vertical parties do alike.

    Parameters
    ----------
    config : SiteConfig
    identity : Identity
    collaboration : str
    carry : callable
        Brings an envelope to another party.
    """

    party_class: type[P]

    def __init__(self, config: SiteConfig, identity: Identity, *, collaboration: str, carry: Carry) -> None:
        if identity.name != config.party:
            raise StorageError(
                f"The certificate must bear the party's name {config.party!r}. It bears {identity.name!r}."
            )
        self.config, self.collaboration = config, collaboration
        self.settings = config.collaboration(collaboration)
        self.post = Post(identity, Ledger(config.ledger), carry=carry)
        self.folder = config.state_folder(collaboration)
        self._training = threading.RLock()
        self._party: P | None = None
        self.steps: dict[str, Step] = {
            "hello": self._hello,
            "begin": self._begin,
            "resume": self._resume,
            "compare": self._compare,
            "anchor": self._anchor,
            "represent": self._represent,
        }
        self.peer_steps: dict[str, PeerStep] = {"compare": self._compared, "anchor": self._receive_anchor}

    # --- being asked --------------------------------------------------------------------------------------

    def handle(self, step: str, header: dict[str, Any], body: bytes) -> Reply:
        """Take a step that the analyst asks for."""
        if step not in self.steps:
            raise ProtocolError(f"A {self.settings.kind} party knows the steps {sorted(self.steps)}. Got another.")
        return self.steps[step](header, body)

    def handle_peer(self, step: str, sealed: bytes) -> bytes:
        """Take a step that another party asks for; what it sent, and the answer, are sealed."""
        if step not in self.peer_steps:
            raise ProtocolError(f"Parties ask each other for {sorted(self.peer_steps)}. Got another step.")
        envelope = self.post.open(sealed, step)
        return self.post.answer(envelope, step, self.peer_steps[step](envelope))

    @property
    def name(self) -> str:
        """The party's name."""
        return self.config.party

    @property
    def party(self) -> P:
        """The role, once it has begun."""
        if self._party is None:
            raise NotFittedError(f"Party {self.name!r} has not begun yet.")
        return self._party

    # --- beginning ----------------------------------------------------------------------------------------

    def _hello(self, header: dict[str, Any], body: bytes) -> Reply:  # noqa: ARG002 - every step has both
        if header.get("protocol") != PROTOCOL:
            raise ProtocolError(
                f"All sites must speak version {PROTOCOL} of the protocol. The analyst speaks another: install the "
                f"same version of dcshap."
            )
        if header.get("kind") != self.settings.kind:
            raise ProtocolError(f"Party {self.name!r} agreed to a {self.settings.kind} collaboration. Asked: another.")
        return Reply(
            {
                "certificate": self.post.identity.certificate.pem,
                "instance_models": self.settings.instance_models,
                "labels": self.settings.target is not None,
                "span": str(self.settings.agreement.get("span", "private")),
                "trained": self._trained_run(),
            }
        )

    def _begin(self, header: dict[str, Any], body: bytes) -> Reply:  # noqa: ARG002
        with self._training:
            self._meet(header)
            data = load_data(self.settings, base=self.config.folder)
            secrets = Secrets.load(self.folder)
            self._party = self.party_class(
                self.name,
                data.agreement,
                private_seed=secrets.private_seed,
                instance_models=self.settings.instance_models,
            )
            self._take(data.X, data.y)
        return Reply({"rows": len(data.X)})

    def _meet(self, header: dict[str, Any]) -> None:
        """Take the other parties' certificates, if they are those that this party has agreed to work with."""
        expected, given = {self.name, *self.settings.partners}, set(header["certificates"])
        if given != expected:
            raise PrivacyError(
                f"Party {self.name!r} agreed to work with {sorted(self.settings.partners)}. Asked to work with "
                f"{sorted(given - {self.name})}."
            )
        self.post.introduce(header["certificates"], run=header["run"])

    @abstractmethod
    def _take(self, X: Any, y: Any) -> None:
        """Take the party's own table."""

    def _resume(self, header: dict[str, Any], body: bytes) -> Reply:  # noqa: ARG002
        """Go on from an earlier training, with what was kept on disk."""
        with self._training:
            self._meet(header)
            if self._trained_run() != self.post.run:
                raise StorageError(
                    f"Party {self.name!r} has kept nothing of the training that the analyst goes on from: train again."
                )
            self._party = self.party_class.load(self.folder / "party", trusted=self.settings.trusted)
            data = load_data(self.settings, base=self.config.folder)
            self._take_back(data.X)
        return Reply()

    def _take_back(self, X: Any) -> None:
        """Take the table again, to answer from."""

    # --- agreeing ------------------------------------------------------------------------------------------

    def _agreed(self) -> dict[str, Any]:
        """What all parties must have alike."""
        content = self.party.agreement.to_dict()
        content["schema"] = Schema.load(self.config.folder / self.settings.schema).to_dict()
        agreed: dict[str, Any] = json.loads(json.dumps(content))
        return agreed

    def _compare(self, header: dict[str, Any], body: bytes) -> Reply:  # noqa: ARG002
        """As the party that leads: have every other party compare its settings with one's own."""
        content = json.dumps({"settings": self._agreed(), "columns": list(self.party.agreement.schema.names)}).encode()
        held = {self.name: list(self.party.agreement.schema.names)}
        for other in self.post.others:
            held[other] = json.loads(self.post.exchange(other, "compare", content, timeout=header["timeout"]))
        self._check_columns(held)
        return Reply()

    def _compared(self, envelope: Envelope) -> bytes:
        theirs, mine = json.loads(envelope.content)["settings"], self._agreed()
        found = Schema.from_dict(mine["schema"]).differences(Schema.from_dict(theirs["schema"]))
        if found:
            raise SchemaError(
                f"All parties must have the same schema. That of {self.name!r} (the first) and of "
                f"{envelope.sender!r} (the second) differ: {'; '.join(found)}."
            )
        differing = sorted(key for key in mine if mine[key] != theirs.get(key))
        if differing:
            raise ProtocolError(
                f"All parties must have agreed on the same settings. {self.name!r} differs: {differing}."
            )
        return json.dumps(list(self.party.agreement.schema.names)).encode()

    def _check_columns(self, held: Mapping[str, list[str]]) -> None:
        """Whether the parties' columns fit together."""

    # --- the anchor -----------------------------------------------------------------------------------------

    def _anchor(self, header: dict[str, Any], body: bytes) -> Reply:  # noqa: ARG002
        """As the party that leads: draw the shared seed, or use the one that was drawn before, and pass it on."""
        secrets = Secrets.load(self.folder)
        proposal = self.party.propose_anchor(secrets.anchor_seed)
        secrets.anchor_seed = proposal.seed
        secrets.save(self.folder)
        for other in self.post.others:
            sealed = self.post.recorded(proposal, to=other)
            drawn = self.post.exchange(other, "anchor", sealed, timeout=header["timeout"])
            if drawn != self._anchor_digest():
                raise ProtocolError(
                    f"Party {other!r} drew another anchor from the same seed: install the same version of dcshap and "
                    f"numpy at all parties."
                )
        return Reply()

    def _receive_anchor(self, envelope: Envelope) -> bytes:
        self._require_lead(envelope)
        proposal = message_of(envelope.content, AnchorSeed)
        secrets = Secrets.load(self.folder)
        if secrets.agreed and secrets.anchor_seed != proposal.seed:
            raise PrivacyError(
                f"Party {self.name!r} was given the anchor's seed out of band, and {envelope.sender!r} proposes "
                f"another anchor."
            )
        self.party.receive_anchor(proposal)
        secrets.anchor_seed = proposal.seed
        secrets.save(self.folder)
        return self._anchor_digest()

    def _anchor_digest(self) -> bytes:
        # Rounded: sums in another order may differ in the last digits.
        return hashlib.sha256(np.round(self.party.anchor.rows, 6).tobytes()).digest()

    def _require_lead(self, envelope: Envelope) -> None:
        if envelope.sender != self.post.parties[0]:
            raise ProtocolError(f"Party {self.post.parties[0]!r} leads. Got this from {envelope.sender!r}.")

    # --- to the analyst, and from it -------------------------------------------------------------------------

    @abstractmethod
    def _represent(self, header: dict[str, Any], body: bytes) -> Reply:
        """Reduce the rows for the analyst."""

    def _to_analyst(self, message: Message) -> Reply:
        return Reply(body=self.post.recorded(message, to=ANALYST))

    def _from_analyst(self, body: bytes, kind: type[M]) -> M:
        return message_of(body, kind, trusted=self.settings.trusted)

    # --- on disk ---------------------------------------------------------------------------------------------

    def _keep(self) -> None:
        self.party.save(self.folder / "party")
        write_private(self.folder / _RUN, json.dumps({"run": self.post.run}))

    def _trained_run(self) -> str | None:
        try:
            run: str = json.loads((self.folder / _RUN).read_text(encoding="utf-8"))["run"]
        except (OSError, ValueError, LookupError, TypeError):
            return None
        return run


def message_of(data: bytes, kind: type[M], *, trusted: tuple[str, ...] = ()) -> M:
    """The message in the bytes, which must be of one kind."""
    message = unpack(data, trusted=trusted)
    if not isinstance(message, kind):
        raise ProtocolError(f"A {kind.__name__} was expected. Got a {type(message).__name__}.")
    return message
