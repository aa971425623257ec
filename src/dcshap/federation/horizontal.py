"""A horizontal party's steps: the shared span where it was agreed on, its representation, what comes back."""

from __future__ import annotations

from typing import Any

from dcshap.collaboration import HorizontalParty
from dcshap.collaboration.messages import Integration, MaskedMoments, PairKey, SpanBasis
from dcshap.exceptions import ProtocolError
from dcshap.federation.identity import Envelope
from dcshap.federation.party import PartySite, message_of
from dcshap.federation.replies import Reply

__all__ = ["HorizontalSite"]


class HorizontalSite(PartySite[HorizontalParty]):
    """A party with rows and labels of its own."""

    party_class = HorizontalParty

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._moments: list[MaskedMoments] = []
        self.steps |= {
            "pair keys": self._pair_keys,
            "moments": self._send_moments,
            "basis": self._basis,
            "integration": self._integration,
        }
        self.peer_steps |= {
            "pair key": self._receive_key,
            "moments": self._receive_moments,
            "basis": self._receive_basis,
        }

    def _take(self, X: Any, y: Any) -> None:
        self.party.take(X, y)

    # --- the shared span ------------------------------------------------------------------------------------

    def _pair_keys(self, header: dict[str, Any], body: bytes) -> Reply:  # noqa: ARG002 - every step has both
        """Share a key with every later party; earlier ones send theirs."""
        for other in self.post.others:
            if self.name < other:
                sealed = self.post.recorded(self.party.pair_key(other), to=other)
                self.post.exchange(other, "pair key", sealed, timeout=header["timeout"])
        return Reply()

    def _receive_key(self, envelope: Envelope) -> bytes:
        message = message_of(envelope.content, PairKey)
        if message.sender != envelope.sender:
            raise ProtocolError(f"Party {envelope.sender!r} sent a key in another party's name.")
        self.party.receive_key(message)
        return b""

    def _send_moments(self, header: dict[str, Any], body: bytes) -> Reply:  # noqa: ARG002
        """Send the masked moments to the party that leads; that party keeps its own."""
        lead, moments = self.post.parties[0], self.party.masked_moments()
        if lead == self.name:
            self._moments.append(moments)
        else:
            self.post.exchange(lead, "moments", self.post.recorded(moments, to=lead), timeout=header["timeout"])
        return Reply()

    def _receive_moments(self, envelope: Envelope) -> bytes:
        message = message_of(envelope.content, MaskedMoments)
        if message.party != envelope.sender:
            raise ProtocolError(f"Party {envelope.sender!r} sent moments in another party's name.")
        self._moments.append(message)
        return b""

    def _basis(self, header: dict[str, Any], body: bytes) -> Reply:  # noqa: ARG002
        """As the party that leads: add up the moments, and pass the common subspace on."""
        basis, self._moments = self.party.shared_basis(self._moments), []
        self.party.receive_basis(basis)
        for other in self.post.others:
            self.post.exchange(other, "basis", self.post.recorded(basis, to=other), timeout=header["timeout"])
        return Reply()

    def _receive_basis(self, envelope: Envelope) -> bytes:
        self._require_lead(envelope)
        self.party.receive_basis(message_of(envelope.content, SpanBasis))
        return b""

    # --- training -------------------------------------------------------------------------------------------

    def _represent(self, header: dict[str, Any], body: bytes) -> Reply:  # noqa: ARG002
        return self._to_analyst(self.party.represent())

    def _integration(self, header: dict[str, Any], body: bytes) -> Reply:  # noqa: ARG002
        """Take the alignment and the model, and keep them; from now on the party needs nobody."""
        self.party.receive(self._from_analyst(body, Integration))
        self._keep()
        return Reply()
