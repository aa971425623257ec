"""Who somebody is, by the project's certificates, whose keys sign and encrypt.

The keys are those of the participants' FLARE kits. Whoever holds the project's certificate authority could issue a
second certificate of the same name: it must not be the analyst.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509.oid import NameOID

from dcshap._machine import now, random_bytes
from dcshap.exceptions import ProtocolError, StorageError
from dcshap.federation.seals.revocation import REVOKED, Revocations

__all__ = ["Certificate", "Identity"]

_KEY, _NONCE = 32, 12  # bytes: AES-256, and GCM's own
_OAEP = padding.OAEP(mgf=padding.MGF1(hashes.SHA256()), algorithm=hashes.SHA256(), label=None)
_PSS = padding.PSS(mgf=padding.MGF1(hashes.SHA256()), salt_length=padding.PSS.DIGEST_LENGTH)


@dataclass(frozen=True)
class Certificate:
    """A participant's certificate, signed by the project's root."""

    name: str
    pem: str
    key: RSAPublicKey
    begins: datetime
    ends: datetime
    serial: str
    fingerprint: str

    @classmethod
    def issued_by(cls, root: x509.Certificate, pem: str) -> Certificate:
        """Read a certificate that the root has signed."""
        try:
            certificate = x509.load_pem_x509_certificate(pem.encode())
            certificate.verify_directly_issued_by(root)
            found = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
        except (ValueError, TypeError, AttributeError, IndexError, InvalidSignature) as error:
            raise ProtocolError("A certificate must be signed by the project's own authority. One is not.") from error
        key = certificate.public_key()
        if not isinstance(key, RSAPublicKey):
            raise ProtocolError(f"The certificate of {found!r} must hold an RSA key.")
        begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        fingerprint = certificate.fingerprint(hashes.SHA256()).hex(":").upper()
        return cls(str(found), pem, key, begins, ends, f"{certificate.serial_number:x}", fingerprint)

    def require_valid(self) -> None:
        """Refuse a certificate before and after its time."""
        if not self.begins <= datetime.fromtimestamp(now(), UTC) <= self.ends:
            raise ProtocolError(f"The certificate of {self.name!r} is not valid today.")

    def encrypt(self, content: bytes, context: bytes) -> tuple[bytes, bytes]:
        """A fresh key that only the certificate's owner can read, and content under it, bound to some context."""
        secret, nonce = random_bytes(_KEY), random_bytes(_NONCE)
        return self.key.encrypt(secret, _OAEP), nonce + AESGCM(secret).encrypt(nonce, content, context)

    def require_signature(self, signature: bytes, content: bytes) -> None:
        """Refuse content that the certificate's owner has not signed."""
        try:
            self.key.verify(signature, content, _PSS, hashes.SHA256())
        except InvalidSignature as error:
            raise ProtocolError(f"What is said to be from {self.name!r} is not signed by it.") from error


class Identity:
    """A participant's own key and certificate, and the root it checks others by, from a kit's `startup` folder."""

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
        self._folder, self._key = Path(folder), key
        self._revoked: tuple[float, Revocations] = (-1.0, Revocations())
        self._checked: dict[str, Certificate] = {}
        self.certificate = self.check(pem)
        if key.public_key() != self.certificate.key:
            raise StorageError(f"{folder} must hold the key that its certificate is of. It holds another.")

    @property
    def root_pem(self) -> str:
        """The certificate of the federation's authority."""
        return self.root.public_bytes(Encoding.PEM).decode()

    @property
    def name(self) -> str:
        """The name on the certificate."""
        return self.certificate.name

    @cached_property
    def analyst(self) -> str:
        """The name on the certificate of the analyst's server, as this participant's own kit has it."""
        client, admin = self._folder / "fed_client.json", self._folder / "fed_admin.json"
        try:
            if client.exists():
                return str(json.loads(client.read_text(encoding="utf-8"))["servers"][0]["identity"])
            if admin.exists():
                return str(json.loads(admin.read_text(encoding="utf-8"))["admin"]["server_identity"])
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise StorageError(f"{self._folder} must name the analyst's server. It cannot be read.") from error
        return self.name  # the server's own kit

    def check(self, pem: str, *, name: str | None = None) -> Certificate:
        """Somebody's certificate, if the project's root has signed it, it is valid now, and bears an expected name.

        The authority's list of revoked certificates is read again whenever it has changed.
        """
        if pem not in self._checked:
            self._checked[pem] = Certificate.issued_by(self.root, pem)
        found = self._checked[pem]
        found.require_valid()
        if self.revokes(found.serial, found.name, found.begins.timestamp()):
            raise ProtocolError(f"The certificate of {found.name!r} was revoked by the project's authority.")
        if name not in (None, found.name):
            raise ProtocolError(f"A certificate of {name!r} was expected. Got that of {found.name!r}.")
        return found

    def revokes(self, serial: str, name: str, begins: float) -> bool:
        """Whether the authority has revoked a certificate, as far as this participant was told."""
        return self._revocations().revoke(serial, name, begins)

    def _revocations(self) -> Revocations:
        path = self._folder / REVOKED
        changed = path.stat().st_mtime if path.exists() else 0.0
        if self._revoked[0] != changed:
            self._revoked = changed, Revocations.read(path, self.root)
        return self._revoked[1]

    def sign(self, content: bytes) -> bytes:
        """The participant's signature of some content."""
        return self._key.sign(content, _PSS, hashes.SHA256())

    def decrypt(self, wrapped: bytes, body: bytes, context: bytes) -> bytes:
        """What was encrypted to this participant's certificate, in the same context."""
        return AESGCM(self._key.decrypt(wrapped, _OAEP)).decrypt(body[:_NONCE], body[_NONCE:], context)


def _read(folder: str | Path, *names: str) -> str:
    for name in names:
        path = Path(folder) / name
        if path.exists():
            return path.read_text(encoding="utf-8")
    raise OSError(f"{folder} has none of {names}")
