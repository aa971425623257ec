"""What a request tells nobody but the parties whose views it wants: openings of receipts, changed cells, and groups.

The request, which such a party forwards to the others, has a hash of it. The author's signature covers the hash, and so
the enclosure as well; its random bits keep the others from trying out what is in it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dcshap._machine import random_bytes
from dcshap.exceptions import InputError, PrivacyError, ProtocolError
from dcshap.explanation.disclosures import Request
from dcshap.explanation.views import DC_FEATURES

__all__ = [
    "Enclosure",
    "enclosed",
    "enclosure_of",
    "own_groups",
    "require_columns",
    "require_what_if",
    "without_enclosure",
]

_SALT = 16  # bytes
_MOST = 1_000_000  # characters


@dataclass(frozen=True)
class Enclosure:
    """What is for the viewing parties alone."""

    # One for each record, for the receipts that are to be signed; empty where none are wanted.
    openings: tuple[str, ...] = ()
    # Own cells of the record as they would be, as people write them: "what if". Empty where nothing is changed.
    changes: Mapping[str, str] = field(default_factory=dict)
    # Columns that are one player together, by the group's name; every other column is one of its own.
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)


def enclosed(request: Request, enclosure: Enclosure) -> Request:
    """The request with an enclosure, before it is signed; as it is where there is nothing to enclose."""
    if enclosure == Enclosure():
        return request
    text = json.dumps(asdict(enclosure) | {"salt": random_bytes(_SALT).hex()})
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
        openings, changes, groups = content["openings"], content["changes"], content.get("groups", {})
        sound = isinstance(openings, list) and isinstance(changes, dict) and _are_groups(groups)
        sound = sound and all(isinstance(each, str) for each in (*openings, *changes.values()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        sound = False
    if not sound or len(openings) not in (0, len(request.records)) or (changes and len(request.records) != 1):
        raise ProtocolError(
            "An enclosure must have an opening per record, changes of one record, and groups of different columns. "
            "This has not."
        )
    return Enclosure(tuple(openings), changes, groups)


def _are_groups(groups: Any) -> bool:
    """Whether groups are lists of columns under names, no column twice."""
    if not isinstance(groups, dict) or not all(isinstance(each, list) and each for each in groups.values()):
        return False
    named = [column for each in groups.values() for column in each]
    return all(isinstance(column, str) for column in named) and len(set(named)) == len(named) and all(groups)


def own_groups(request: Request, columns: Sequence[str], *, party: str) -> dict[str, list[str]] | None:
    """A party's columns as a request groups them, every other one a player of its own; None where none are grouped.

    Algorithm 3 takes the party's part of each group. In a party's view a group is of one party, and others' are left
    to them.

    Raises
    ------
    InputError
    """
    asked = enclosure_of(request).groups
    own: dict[str, list[str]] = {}
    for name, members in asked.items():
        mine, others = [c for c in members if c in columns], [c for c in members if c not in columns]
        if others and request.protocol != "algorithm 3" and (mine or request.view == party):
            raise InputError(
                f"In a party's view a group must hold columns of one party. Of {name!r}, {party!r} holds {mine} and "
                f"not {others}: split it, or use view='full' with index='shapley' (Algorithm 3)."
            )
        own |= {name: mine} if mine else {}
    if any(name.startswith(DC_FEATURES) for name in asked):
        raise InputError(f"A group's name must not begin with {DC_FEATURES!r}, as the other parties' bars do.")
    require_columns(asked, columns, all_of_them=False)
    grouped = {column for members in own.values() for column in members}
    return own | {column: [column] for column in columns if column not in grouped} if asked else None


def require_columns(groups: Mapping[str, Sequence[str]], columns: Sequence[str], *, all_of_them: bool = True) -> None:
    """Refuse groups of columns that are not there, where all must be, and names that a column outside has already."""
    grouped = [column for members in groups.values() for column in members]
    lacking = [column for column in grouped if column not in columns]
    if lacking and all_of_them:
        raise InputError(f"`groups` must name columns that parties hold. None holds {lacking}.")
    taken = sorted(set(groups) & set(columns) - set(grouped))
    if taken:
        raise InputError(f"A group must not be called like a column that is not in it. {taken} are: rename them.")


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
