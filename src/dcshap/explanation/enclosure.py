"""What a request tells nobody but the party whose view it wants: openings of receipts, and changed cells.

The request, which that party forwards to the others, has a hash of it. The author's signature covers the hash, and so
the enclosure as well; its random bits keep the others from trying out what is in it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from dcshap._machine import random_bytes
from dcshap.exceptions import InputError, PrivacyError, ProtocolError
from dcshap.explanation.disclosures import Request

__all__ = ["Enclosure", "enclosed", "enclosure_of", "require_what_if", "without_enclosure"]

_SALT = 16  # bytes
_MOST = 1_000_000  # characters


@dataclass(frozen=True)
class Enclosure:
    """What is for the viewing party alone."""

    # One for each record, for the receipts that are to be signed; empty where none are wanted.
    openings: tuple[str, ...] = ()
    # Own cells of the record as they would be, as people write them: "what if". Empty where nothing is changed.
    changes: Mapping[str, str] = field(default_factory=dict)


def enclosed(request: Request, enclosure: Enclosure) -> Request:
    """The request with an enclosure, before it is signed; as it is where there is nothing to enclose."""
    if enclosure == Enclosure():
        return request
    text = json.dumps(asdict(enclosure) | {"salt": random_bytes(_SALT).hex()}, sort_keys=True)
    return replace(request, enclosure=text, enclosed=_digest(text))


def without_enclosure(request: Request) -> Request:
    """The request as other parties are shown it."""
    return replace(request, enclosure="")


def enclosure_of(request: Request) -> Enclosure:
    """What is enclosed, if it is what the request's author has signed.

    Raises
    ------
    ProtocolError
    """
    text = request.enclosure
    if not text:
        return Enclosure()
    if len(text) > _MOST or _digest(text) != request.enclosed:
        raise ProtocolError("What is enclosed with a request must be what its author has signed. It is not.")
    try:
        content = json.loads(text)
        openings, changes = content["openings"], content["changes"]
        sound = isinstance(openings, list) and isinstance(changes, dict)
        sound = sound and all(isinstance(each, str) for each in (*openings, *changes.values()))
    except (ValueError, KeyError, TypeError, RecursionError):
        sound = False
    if not sound or len(openings) not in (0, len(request.records)) or (changes and len(request.records) != 1):
        raise ProtocolError("An enclosure must have an opening per record, and changes of one record. This has not.")
    return Enclosure(tuple(openings), changes)


def require_what_if(request: Request, party: str, *, allowed: bool) -> None:
    """Refuse changed cells where a party's rules, or the protocol, do not have them."""
    if not allowed:
        raise PrivacyError(
            f"Party {party!r} has given {request.requester!r} no right to ask what if (`what_if` in its rights)."
        )
    if request.view != party or request.protocol != "party views":
        raise InputError("What if is asked of one party's own columns: `view` must name it, with index='owen'.")


def _digest(text: str) -> str:
    return hashlib.sha256(f"dcshap enclosure\n{text}".encode()).hexdigest()
