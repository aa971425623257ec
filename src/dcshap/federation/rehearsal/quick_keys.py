"""Keys for rehearsals: they sign and encrypt as real ones do, at a hundredth of the cost, and protect nothing.

A rehearsal asks whether sites do the right thing when a signature does not fit, not whether one can be forged.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

from cryptography.exceptions import InvalidSignature

from dcshap.federation.seals.identity import Certificate, Identity
from dcshap.federation.seals.revocation import Revocations

__all__ = ["QuickIdentity", "identities"]

_BEGINS, _ENDS = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


class _QuickKey:
    """Both halves of a key, with the methods of RSA's that an identity uses."""

    def __init__(self, name: str) -> None:
        self._secret = hashlib.sha256(name.encode()).digest()

    def sign(self, content: bytes, *how: Any) -> bytes:  # noqa: ARG002 - RSA's signature
        return hashlib.sha256(self._secret + content).digest()

    def verify(self, signature: bytes, content: bytes, *how: Any) -> None:
        if signature != self.sign(content, *how):
            raise InvalidSignature

    def encrypt(self, secret: bytes, padding: Any) -> bytes:  # noqa: ARG002
        return bytes(a ^ b for a, b in zip(secret, self._secret, strict=True))

    def decrypt(self, wrapped: bytes, padding: Any) -> bytes:
        return self.encrypt(wrapped, padding)  # of another length: a ValueError, as RSA's own


class QuickIdentity(Identity):
    """A participant of a rehearsal.

    Parameters
    ----------
    name : str
    analyst : str
        The name on the analyst's certificate.
    known : mapping of text to Certificate
        The certificates of all participants, by what stands in for their text.
    """

    def __init__(self, name: str, *, analyst: str, known: dict[str, Certificate]) -> None:
        self._key: Any = _QuickKey(name)
        self._checked = known
        self.certificate = known[_text(name)]
        self.root: Any = None  # a certificate that is not known cannot be read either
        self.analyst = analyst

    def _revocations(self) -> Revocations:
        return Revocations()


def identities(names: list[str], *, analyst: str) -> dict[str, Identity]:
    """Participants that know each other."""
    keys: dict[str, Any] = {name: _QuickKey(name) for name in names}
    known = {_text(name): Certificate(name, _text(name), keys[name], _BEGINS, _ENDS, name, name) for name in names}
    return {name: QuickIdentity(name, analyst=analyst, known=known) for name in names}


def _text(name: str) -> str:
    return f"certificate of {name}"
