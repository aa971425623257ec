"""Certificates that count no more: a list that the project's authority signs, and every site that has it honours.

`revoked.json` holds serial numbers, and names with a moment: of such a name, every certificate counts no more that was
valid before it. So a participant whose key was lost gets a new certificate under its own name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from dcshap._disk import replace
from dcshap._machine import now
from dcshap.exceptions import InputError, StorageError

__all__ = ["REVOKED", "Revocations", "honour", "revoke", "signed_by"]

REVOKED = "revoked.json"
_PSS = padding.PSS(mgf=padding.MGF1(hashes.SHA256()), salt_length=padding.PSS.DIGEST_LENGTH)


@dataclass(frozen=True)
class Revocations:
    """What the authority has revoked."""

    serials: tuple[str, ...] = ()  # in hexadecimal digits
    # By name: up to which moment, in seconds since 1970, its certificates are revoked.
    names: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, root: x509.Certificate) -> Revocations:
        """The list in a file, if the project's authority has signed it; an empty one where there is no file.

        Raises
        ------
        StorageError
            If the authority has not signed it: a site that cannot tell whom to trust trusts nobody.
        """
        if not path.exists():
            return cls()
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            signature = bytes.fromhex(content.pop("signature"))
            key = root.public_key()
            if not isinstance(key, RSAPublicKey):
                raise TypeError("of another kind")
            key.verify(signature, _text(content), _PSS, hashes.SHA256())
            return cls(tuple(map(str, content["serials"])), {str(n): float(t) for n, t in content["names"].items()})
        except (OSError, ValueError, TypeError, LookupError, AttributeError, InvalidSignature) as error:
            raise StorageError(f"{path} must be signed by the project's authority. It is not.") from error

    def revoke(self, serial: str, name: str, begins: float) -> bool:
        """Whether a certificate is on the list."""
        return serial in self.serials or begins <= self.names.get(name, float("-inf"))


def revoke(authority: str | Path, what: Sequence[str]) -> Path:
    """Add names or serial numbers to the list in the authority's folder, and sign it; where it is.

    Parameters
    ----------
    authority : path
        The authority's folder, with its key.
    what : sequence of str
        A participant's name, or a serial number as `dcshap federation certificates show` prints it: `0x…`.
    """
    folder = Path(authority)
    try:
        root = x509.load_pem_x509_certificate((folder / "rootCA.pem").read_bytes())
        key = load_pem_private_key((folder / "rootCA.key").read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise StorageError(f"{folder} must hold the authority's certificate and key. They cannot be read.") from error
    if not isinstance(key, RSAPrivateKey):
        raise StorageError(f"{folder} must hold an RSA key.")
    if not what:
        raise InputError("At least one name or serial number must be given.")
    known = Revocations.read(folder / REVOKED, root)
    serials = sorted({*known.serials, *(_digits(each) for each in what if each.startswith("0x"))})
    names = {**known.names, **{each: now() for each in what if not each.startswith("0x")}}
    content: dict[str, Any] = {"serials": serials, "names": names}
    signature = key.sign(_text(content), _PSS, hashes.SHA256()).hex()
    replace(folder / REVOKED, json.dumps(content | {"signature": signature}, indent=1).encode())
    return folder / REVOKED


def honour(revoked: str | Path, startup: str | Path) -> Revocations:
    """Put a list in a participant's `startup` folder, if the participant's own authority has signed it."""
    pem = Path(startup) / "rootCA.pem"
    found, target = signed_by(pem, revoked), Path(startup) / REVOKED
    before = Revocations.read(target, x509.load_pem_x509_certificate(pem.read_bytes()))
    lost = set(before.serials) - set(found.serials)
    lost |= {name for name, until in before.names.items() if found.names.get(name, float("-inf")) < until}
    if lost:
        raise InputError(
            f"A list must have all that the one before had. {len(lost)} entries are gone, or of an earlier moment: "
            f"it is older."
        )
    replace(target, Path(revoked).read_bytes())
    return found


def signed_by(root: str | Path, revoked: str | Path) -> Revocations:
    """The list in a file, if the authority of a root certificate has signed it."""
    try:
        authority = x509.load_pem_x509_certificate(Path(root).read_bytes())
    except (OSError, ValueError) as error:
        raise StorageError(f"{root} must be the project's root certificate. It cannot be read.") from error
    if not Path(revoked).exists():
        raise InputError(f"{revoked} must be the authority's list. There is no such file.")
    return Revocations.read(Path(revoked), authority)


def _digits(serial: str) -> str:
    try:
        return f"{int(serial, 16):x}"
    except ValueError as error:
        raise InputError(f"A serial number must be 0x and hexadecimal digits. Got {serial!r}.") from error


def _text(content: Mapping[str, Any]) -> bytes:
    return json.dumps({"serials": content["serials"], "names": content["names"]}, sort_keys=True).encode()
