"""The receipt itself, and its file: one line of JSON per receipt."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from dcshap.exceptions import InputError
from dcshap.explanation.receipt.commitments import Digests, commit_record, grouped, under
from dcshap.explanation.receipt.signature import (
    Revoked,
    Signer,
    fingerprint_of_key,
    require_issuer,
    require_signature,
)
from dcshap.storage import write_private

__all__ = ["Receipt", "read_openings", "read_receipts", "write_receipts"]

FORMAT = "dcshap receipt 1"
_MOST = 100_000  # characters of a receipt


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """A signed statement of what was explained. It shows nothing of the record.

    Attributes
    ----------
    party : str
        Who states it.
    run : str
        The training that the model is from.
    written : str
        When, in universal time.
    view : str or None
        Through which party's eyes; None where all players are features.
    index, method : str
        As in `Explanation`.
    model : str
        The hash of the model.
    maps : pair of str, or empty
        The hashes of the map from the columns to the model's input. Empty in a vertical collaboration, where it is
        each party's own.
    reference : str
        The fingerprint of what was compared with.
    under : str
        Names the opening that all hashes below are made with.
    record : str
        The hash of the record.
    values, prediction : pairs of str
        The hashes of the contributions, and of base value and prediction.
    totals : mapping of party to pair of str
        The hashes of what the features of each party contribute together.
    pem, signature : str
        The public key or certificate, and the signature of all of this.
    opening : str or None
        What the hashes can be checked with, by whoever has the record. It is never written to a receipt's file.
    """

    party: str
    run: str
    written: str
    view: str | None
    index: str
    method: str
    model: str
    maps: tuple[str, ...]
    reference: str
    under: str
    record: str
    values: Digests
    prediction: Digests
    totals: Mapping[str, Digests]
    pem: str = ""
    signature: str = ""
    opening: str | None = field(default=None, repr=False, compare=False)

    @property
    def code(self) -> str:
        """The 32 letters and digits that name this receipt, as on a decision notice.

        160 bits: with half of them its issuer could search for two receipts that have one code.
        """
        return grouped(hashlib.sha256(self._signed_content()).digest()[:20])

    @property
    def signer(self) -> str:
        """The fingerprint of the key: compare it with what the party says its key is."""
        return fingerprint_of_key(self.pem)

    def signed(self, signer: Signer) -> Receipt:
        """The same statement, signed."""
        named = replace(self, pem=signer.pem)
        return replace(named, signature=base64.b64encode(signer.sign(named._signed_content())).decode())

    def verify(self, *, root: str | None = None, revoked: Revoked | None = None) -> None:
        """Refuse a receipt that was changed since it was signed.

        Parameters
        ----------
        root : str, optional
            The certificate of a federation's authority, as PEM: the key must be in a certificate that it issued to
            the party, and that was valid when the receipt was written.
        revoked : callable, optional
            With `root`: whether the authority has revoked a certificate, by its serial number, name and beginning, as
            `dcshap.federation.seals.revocation.Revocations.revoke` tells.

        Raises
        ------
        ProtocolError
        """
        try:
            signature = base64.b64decode(self.signature, validate=True)
        except ValueError:
            signature = b""
        require_signature(self.pem, signature, self._signed_content())
        if root is not None:
            require_issuer(self.pem, root=root, name=self.party, written=self.written, revoked=revoked)

    def is_of(self, record: Mapping[str, Any], opening: str) -> bool:
        """Whether this is the receipt of a record, given as cells by column, under its opening."""
        return self.under == under(opening) and self.record == commit_record(record, opening)

    def to_dict(self) -> dict[str, Any]:
        """All of it but the opening, as JSON has it."""
        content = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "opening"}
        return {"format": FORMAT} | content | {"totals": dict(self.totals)}

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Receipt:
        """Read a receipt; whether it is signed must be checked by `verify`."""
        try:
            content = json.loads(text) if len(text) <= _MOST else None
        except (ValueError, RecursionError):
            content = None
        names = {each.name for each in fields(cls)} - {"opening"}
        if not isinstance(content, dict) or content.pop("format", None) != FORMAT or set(content) != names:
            raise InputError(f"A receipt must be one line of JSON of the format {FORMAT!r}. This is not.")
        pairs = {name: content.pop(name) for name in ("maps", "values", "prediction")}
        totals, view = content.pop("totals"), content.pop("view")
        digests = [*pairs.values(), *(totals.values() if isinstance(totals, dict) else [None])]
        texts = all(isinstance(text, str) for text in content.values()) and isinstance(view, str | None)
        if not texts or not all(map(_are_digests, digests)) or not pairs["values"] or not pairs["prediction"]:
            raise InputError("A receipt must hold texts and pairs of hashes. This one holds something else.")
        known: dict[str, Any] = {name: tuple(pair) for name, pair in pairs.items()}
        return cls(**content, **known, view=view, totals={name: tuple(pair) for name, pair in totals.items()})

    def _signed_content(self) -> bytes:
        return json.dumps(self.to_dict() | {"signature": ""}, sort_keys=True).encode()


def _are_digests(value: Any) -> bool:
    return isinstance(value, list) and len(value) in (0, 2) and all(isinstance(text, str) for text in value)


def read_receipts(path: str | Path) -> list[Receipt]:
    """The receipts of a file, in order."""
    return [Receipt.from_json(line) for line in _lines(path, "receipt")]


def write_receipts(path: str | Path, receipts: Sequence[Receipt]) -> Path:
    """Write receipts to a file, and their openings to a private one beside it, which is returned."""
    file = Path(path)
    file.write_text("".join(f"{each.to_json()}\n" for each in receipts), encoding="utf-8")
    beside = file.with_name(f"{file.name}.openings")
    write_private(beside, "".join(f"{each.opening or ''}\n" for each in receipts))
    return beside


def read_openings(path: str | Path) -> list[str]:
    """The openings of a file, in the order of the receipts."""
    return _lines(path, "opening")


def _lines(path: str | Path, what: str) -> list[str]:
    try:
        lines = [line for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
    except UnicodeDecodeError as error:
        raise InputError(f"{path} must have one {what} per line. It is not text.") from error
    if not lines:
        raise InputError(f"{path} must hold at least one {what}. It is empty.")
    return lines
