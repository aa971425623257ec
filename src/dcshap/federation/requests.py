"""A request for an explanation: what is asked, signed by who asks.

It travels sealed to the parties that need it, so that the analyst learns neither the record nor the view; a party
that is asked by another for its two vectors sees the requester's own signature, not just the other party's word.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dcshap.exceptions import InputError, ProtocolError
from dcshap.federation.identity import MAX_AGE, Identity

__all__ = ["Request"]

_KEYS = ("collaboration", "identifier", "index", "merged", "records", "reference", "requester", "view", "written")


@dataclass(frozen=True)
class Request:
    """What is asked.

    Attributes
    ----------
    requester, identifier, collaboration : str
    records : tuple of str
        Record identifiers, as text.
    view : str
        A party's name, or "full".
    index : {"shapley", "owen"}
    merged : bool
        Algorithm 4 with one bar for all other parties together.
    reference : {"anchor", "own", "mean", "medoid"}
    written : float
        When, in seconds since 1970.
    """

    requester: str
    identifier: str
    collaboration: str
    records: tuple[str, ...]
    view: str
    index: str = "shapley"
    merged: bool = False
    reference: str = "anchor"
    written: float = 0.0

    def __post_init__(self) -> None:
        if self.index not in ("shapley", "owen"):
            raise InputError(f"`index` must be 'shapley' or 'owen'. Got {self.index!r}.")
        if not self.records or len(set(self.records)) < len(self.records):
            raise InputError("A request must name at least one record, and each once.")

    def signed(self, identity: Identity) -> bytes:
        """The request under the requester's signature."""
        text = json.dumps(asdict(self) | {"written": time.time()}, sort_keys=True)
        signature = identity.sign(text.encode())
        return json.dumps(
            {"request": text, "signature": signature.hex(), "certificate": identity.certificate.pem}
        ).encode()

    @classmethod
    def verified(cls, signed: bytes, identity: Identity) -> Request:
        """The request, if who it names has signed it, and lately."""
        try:
            parts = json.loads(signed)
            content: dict[str, Any] = json.loads(parts["request"])
            author = identity.check(parts["certificate"], name=content["requester"])
            author.require_signature(bytes.fromhex(parts["signature"]), parts["request"].encode())
            if sorted(content) != list(_KEYS) or not _text(content["records"]):
                raise ProtocolError("A request has fields that are unknown, missing or of another type.")
            request = cls(**(content | {"records": tuple(content["records"])}))
            age = abs(time.time() - float(content["written"]))
        except InputError:
            raise
        except (ValueError, TypeError, LookupError) as error:
            raise ProtocolError("A request must be whole and signed by whom it names. One is not.") from error
        if age > MAX_AGE:
            raise ProtocolError(f"A request must be answered within {MAX_AGE:.0f} s. This one is older.")
        return request


def _text(values: Sequence[Any]) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
