"""Certificates of partners, remembered from the first training on.

Whoever holds the authority's key could issue a second certificate in a partner's name. The first one is remembered by
its fingerprint, and another is refused until somebody at this site accepts it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from dcshap.exceptions import InputError, PrivacyError
from dcshap.federation.seals.identity import Certificate
from dcshap.storage import read_private, write_private

__all__ = ["Pins"]

_FILE = "partners.json"


class Pins:
    """The fingerprints that a party remembers in a collaboration's folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE

    def require(self, certificates: Iterable[Certificate]) -> None:
        """Refuse a certificate of a known name that is another than the first; remember those of new names."""
        new = {each.name: each.fingerprint for each in certificates if not self.hold(each)}
        if new:
            write_private(self._path, json.dumps(self._known() | new))

    def hold(self, certificate: Certificate) -> bool:
        """Whether a certificate is remembered; refuses one of a known name that is another than the first."""
        first = self._known().get(certificate.name)
        if first not in (None, certificate.fingerprint):
            raise PrivacyError(
                f"The certificate of {certificate.name!r} must be the one that it had at first. It is another: "
                f"{certificate.fingerprint}. If its owner tells you by another way that this is its own, run "
                f"`dcshap federation certificates accept`."
            )
        return first is not None

    def accept(self, name: str, fingerprint: str) -> None:
        """Remember another certificate of a partner from now on."""
        known = self._known()
        if name not in known:
            raise InputError(f"`name` must be one of {sorted(known)}, whose certificates are remembered. Got {name!r}.")
        parts = fingerprint.upper().removeprefix("SHA256:").split(":")
        if len(parts) != 32 or any(len(part) != 2 or set(part) - set("0123456789ABCDEF") for part in parts):
            raise InputError("A fingerprint must be 32 pairs of hexadecimal digits with ':' between them.")
        write_private(self._path, json.dumps(known | {name: ":".join(parts)}))

    def _known(self) -> dict[str, str]:
        return read_private(
            self._path,
            lambda content: {str(name): str(each) for name, each in content.items()},
            otherwise=dict[str, str](),
            remedy="put it back from a backup, or remove it if partners tell you their fingerprints anew",
        )
