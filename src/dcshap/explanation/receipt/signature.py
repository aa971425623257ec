"""Who signs a receipt: a party with a key of its own, or with that of its certificate."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from cryptography.x509.oid import NameOID

from dcshap.collaboration.party import Party
from dcshap.exceptions import ProtocolError, StorageError
from dcshap.storage import write_once

__all__ = ["Revoked", "Signer", "fingerprint_of_key", "require_issuer", "require_signature"]

# Whether an authority has revoked a certificate: its serial number in hexadecimal digits, its name, and since when it
# is valid, in seconds since 1970.
Revoked = Callable[[str, str, float], bool]

# As the certificates of a federation sign.
_PSS = padding.PSS(mgf=padding.MGF1(hashes.SHA256()), salt_length=padding.PSS.DIGEST_LENGTH)


@dataclass(frozen=True)
class Signer:
    """Signs, and says with which key.

    Parameters
    ----------
    pem : str
        The public key, or the certificate that it is in.
    sign : callable
        Content to signature.
    """

    pem: str
    sign: Callable[[bytes], bytes]

    @classmethod
    def of_party(cls, party: Party) -> Signer:
        """The key that belongs to a party's private seed: kept where the seed is, for as long as the party is.

        Whoever trains with a fixed `random_state` has no private seed, and signs with a key that others can find.
        """
        derive = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=b"dcshap receipts")
        seed = party.private_seed.to_bytes(max(16, -(-party.private_seed.bit_length() // 8)))
        return cls._of_key(Ed25519PrivateKey.from_private_bytes(derive.derive(seed)))

    @classmethod
    def kept_in(cls, file: str | Path) -> Signer:
        """The key in a file, that nobody but its owner can read; made when it is first asked for."""
        path = Path(file)
        fresh = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        try:
            key = load_pem_private_key(write_once(path, fresh), password=None)
        except (ValueError, TypeError) as error:
            raise StorageError(f"{path} must hold a private key without a password. It cannot be read.") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise StorageError(f"{path} must hold an Ed25519 key. It holds another kind.")
        return cls._of_key(key)

    @classmethod
    def _of_key(cls, key: Ed25519PrivateKey) -> Signer:
        pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return cls(pem.decode(), key.sign)


def _public_key(pem: str) -> Ed25519PublicKey | RSAPublicKey:
    try:
        if "CERTIFICATE" in pem:
            found = x509.load_pem_x509_certificate(pem.encode()).public_key()
        else:
            found = load_pem_public_key(pem.encode())  # type: ignore[assignment]  # other kinds of keys
    except (ValueError, TypeError) as error:
        raise ProtocolError("A receipt must name the public key that it is signed with. This one does not.") from error
    if not isinstance(found, Ed25519PublicKey | RSAPublicKey):
        raise ProtocolError("A receipt must be signed with an Ed25519 or an RSA key. This one is not.")
    return found


def fingerprint_of_key(pem: str) -> str:
    """Names a public key, so that people can compare it with what its owner told them."""
    content = _public_key(pem).public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(content).hexdigest()[:32]


def require_signature(pem: str, signature: bytes, content: bytes) -> None:
    """Refuse content that was not signed with a key."""
    key = _public_key(pem)
    try:
        if isinstance(key, Ed25519PublicKey):
            key.verify(signature, content)
        else:
            key.verify(signature, content, _PSS, hashes.SHA256())
    except InvalidSignature as error:
        raise ProtocolError(
            "A receipt must be as it was signed. This one was changed, or signed by another."
        ) from error


def require_issuer(pem: str, *, root: str, name: str, written: str, revoked: Revoked | None = None) -> None:
    """Refuse a key that is not in a certificate of that name, issued by an authority and valid when it signed.

    A revoked certificate proves nothing, whenever the receipt says that it was written: whoever has a stolen key can
    date back.
    """
    try:
        certificate = x509.load_pem_x509_certificate(pem.encode())
        certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(root.encode()))
        found = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
    except (ValueError, TypeError, IndexError, InvalidSignature) as error:
        raise ProtocolError("The key must be in a certificate of the given authority. It is not.") from error
    if found != name:
        raise ProtocolError(f"A receipt of {name!r} must be signed with its certificate. It is that of {found!r}.")
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if revoked is not None and revoked(f"{certificate.serial_number:x}", name, begins.timestamp()):
        raise ProtocolError(f"The certificate of {name!r} was revoked by the authority: its signature proves nothing.")
    if not begins <= _moment(written) <= ends:
        raise ProtocolError(
            f"A receipt must be written while its certificate is valid. That of {name!r} is valid from "
            f"{begins:%Y-%m-%d} to {ends:%Y-%m-%d}, the receipt is of another time."
        )


def _moment(written: str) -> datetime:
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        found = datetime.min
    if found.tzinfo is None:
        raise ProtocolError("A receipt must say when it was written, in universal time. This one does not.")
    return found
