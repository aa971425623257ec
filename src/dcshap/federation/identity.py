"""Who somebody is, by the project's certificates; and envelopes that only one of them can open.

An envelope is signed by its sender and sealed to its recipient, so that whoever carries it (the analyst's server) can
neither read it nor write one. The keys are those of the participants' FLARE kits. Whoever holds the project's
certificate authority could issue a second certificate of the same name: it must not be the analyst.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

from dcshap.exceptions import ProtocolError, StorageError

__all__ = ["Certificate", "Envelope", "Identity"]

MAX_AGE = 600.0  # seconds between writing and opening, clocks that differ included
_NONCE = 12
_OAEP = padding.OAEP(mgf=padding.MGF1(hashes.SHA256()), algorithm=hashes.SHA256(), label=None)
_PSS = padding.PSS(mgf=padding.MGF1(hashes.SHA256()), salt_length=padding.PSS.DIGEST_LENGTH)


@dataclass(frozen=True)
class Certificate:
    """A participant's certificate, checked against the project's root."""

    name: str
    pem: str
    key: RSAPublicKey

    @classmethod
    def verified(cls, pem: str, root: x509.Certificate, *, name: str | None = None) -> Certificate:
        """A certificate that the root has signed, that is valid now, and that bears the expected name."""
        try:
            certificate = x509.load_pem_x509_certificate(pem.encode())
            certificate.verify_directly_issued_by(root)
            found = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
        except (ValueError, TypeError, IndexError, InvalidSignature) as error:
            raise ProtocolError("A certificate must be signed by the project's own authority. One is not.") from error
        if not certificate.not_valid_before_utc <= datetime.now(UTC) <= certificate.not_valid_after_utc:
            raise ProtocolError(f"The certificate of {found!r} is not valid today.")
        if name is not None and found != name:
            raise ProtocolError(f"A certificate of {name!r} was expected. Got that of {found!r}.")
        key = certificate.public_key()
        if not isinstance(key, RSAPublicKey):
            raise ProtocolError(f"The certificate of {found!r} must hold an RSA key.")
        return cls(str(found), pem, key)

    def require_signature(self, signature: bytes, content: bytes) -> None:
        """Refuse content that the certificate's owner has not signed."""
        try:
            self.key.verify(signature, content, _PSS, hashes.SHA256())
        except InvalidSignature as error:
            raise ProtocolError(f"What is said to be from {self.name!r} is not signed by it.") from error


@dataclass(frozen=True)
class Envelope:
    """What stands on an envelope, and its content once opened.

    Attributes
    ----------
    sender, recipient : str
    purpose : str
        Which step of the protocol it belongs to; an envelope opens for that step only.
    identifier : str
        Unlike that of every other envelope.
    written : float
        When, in seconds since 1970.
    content : bytes
    """

    sender: str
    recipient: str
    purpose: str
    identifier: str
    written: float
    content: bytes


class Identity:
    """A participant's own key and certificate, and the root it checks others by.

    Parameters
    ----------
    folder : path
        The `startup` folder of a FLARE kit.
    """

    def __init__(self, folder: str | Path) -> None:
        try:
            pem = _read(folder, "client.crt", "server.crt")
            self.root = x509.load_pem_x509_certificate(_read(folder, "rootCA.pem").encode())
            key = load_pem_private_key(_read(folder, "client.key", "server.key").encode(), password=None)
        except (OSError, ValueError, TypeError) as error:
            raise StorageError(
                f"{folder} must hold a participant's certificate and key. They cannot be read."
            ) from error
        if not isinstance(key, RSAPrivateKey):
            raise StorageError(f"{folder} must hold an RSA key.")
        self._key = key
        self.certificate = Certificate.verified(pem, self.root)
        if key.public_key() != self.certificate.key:
            raise StorageError(f"{folder} must hold the key that its certificate is of. It holds another.")

    @property
    def name(self) -> str:
        """The name on the certificate."""
        return self.certificate.name

    def check(self, pem: str, *, name: str | None = None) -> Certificate:
        """Somebody else's certificate, if the project's root has signed it."""
        return Certificate.verified(pem, self.root, name=name)

    def sign(self, content: bytes) -> bytes:
        """The participant's signature of some content."""
        return self._key.sign(content, _PSS, hashes.SHA256())

    def seal(self, content: bytes, *, to: Certificate, purpose: str) -> bytes:
        """Put content in an envelope that only the recipient can open, and only as from this sender."""
        about = {
            "sender": self.name,
            "recipient": to.name,
            "purpose": purpose,
            "identifier": os.urandom(16).hex(),
            "written": time.time(),
        }
        head = json.dumps({"about": about, "certificate": self.certificate.pem}).encode()
        secret, nonce = AESGCM.generate_key(256), os.urandom(_NONCE)
        wrapped = to.key.encrypt(secret, _OAEP)
        signed = _framed(head, wrapped) + nonce + AESGCM(secret).encrypt(nonce, content, head)
        return _framed(self.sign(signed)) + signed

    def open(self, sealed: bytes, *, purpose: str, sender: str | None = None) -> Envelope:
        """Open an envelope to this participant, written for a purpose, by a sender the project's root has certified."""
        try:
            (signature,), signed = _unframed(sealed, 1)
            (head, wrapped), rest = _unframed(signed, 2)
            written = json.loads(head)
            about: dict[str, Any] = written["about"]
            author = self.check(written["certificate"], name=about["sender"])
            author.require_signature(signature, signed)
            self._require(about, purpose=purpose, sender=sender)
            content = AESGCM(self._key.decrypt(wrapped, _OAEP)).decrypt(rest[:_NONCE], rest[_NONCE:], head)
            return Envelope(**about, content=content)
        except (ValueError, TypeError, LookupError, InvalidSignature, InvalidTag) as error:
            raise ProtocolError("An envelope must be whole and signed by whom it names. One is not.") from error

    def _require(self, about: dict[str, Any], *, purpose: str, sender: str | None) -> None:
        if about["recipient"] != self.name:
            raise ProtocolError(f"An envelope for {about['recipient']!r} reached {self.name!r}.")
        if about["purpose"] != purpose:
            raise ProtocolError(f"An envelope for {purpose!r} was expected. Got one for {about['purpose']!r}.")
        if sender is not None and about["sender"] != sender:
            raise ProtocolError(f"An envelope from {sender!r} was expected. Got one from {about['sender']!r}.")
        if abs(time.time() - about["written"]) > MAX_AGE:
            raise ProtocolError(
                f"An envelope must be opened within {MAX_AGE:.0f} s. This one is older, or the clocks differ."
            )


def _read(folder: str | Path, *names: str) -> str:
    for name in names:
        path = Path(folder) / name
        if path.exists():
            return path.read_text(encoding="utf-8")
    raise OSError(f"{folder} has none of {names}")


def _framed(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def _unframed(data: bytes, n: int) -> tuple[list[bytes], bytes]:
    parts = []
    for _ in range(n):
        size = int.from_bytes(data[:4], "big")
        if len(data) < 4 + size:
            raise ValueError("cut short")
        parts.append(data[4 : 4 + size])
        data = data[4 + size :]
    return parts, data
