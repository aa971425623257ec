"""Who plays: columns into players, players into blocks, each in exactly one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dcshap._typing import FloatArray, IntArray
from dcshap.exceptions import InputError

__all__ = ["Grouping", "Groups", "grouping", "named_groups"]

Groups = Mapping[str, Sequence[Hashable]] | Sequence[Sequence[Hashable]]


@dataclass(frozen=True)
class Grouping:
    """Named groups of members, given by their positions."""

    names: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]  # for each group, the positions of its members

    def __len__(self) -> int:
        return len(self.names)

    @property
    def of_member(self) -> IntArray:
        """The position of each member's group."""
        found = np.empty(sum(map(len, self.members)), dtype=np.int64)
        for group, members in enumerate(self.members):
            found[list(members)] = group
        return found

    def summed(self, added: FloatArray) -> FloatArray:
        """What groups add (n, groups, d), given what each member adds (n, members, d)."""
        if [list(members) for members in self.members] == [[at] for at in range(added.shape[1])]:
            return added
        return np.stack([added[:, list(members)].sum(axis=1) for members in self.members], axis=1)

    def position(self, name: str | int, *, what: str) -> int:
        """The position of a group given by name or by position."""
        if isinstance(name, str) and name in self.names:
            return self.names.index(name)
        if isinstance(name, int) and 0 <= name < len(self.names):
            return name
        raise InputError(f"`{what}` must be one of {list(self.names)}. Got {name!r}.")


def singles(names: Sequence[Hashable]) -> Grouping:
    """Everyone a group of their own."""
    return Grouping(tuple(map(str, names)), tuple((i,) for i in range(len(names))))


def grouping(groups: Groups | None, members: Sequence[Hashable], *, what: str, of: str) -> Grouping:
    """Groups as they were given, by name or position, checked to hold every member exactly once.

    Parameters
    ----------
    groups : mapping of name to members, sequence of sequences of members, or None
        Members by name or by position; `None` makes everyone a group of their own.
    members : sequence
        The names of all members.
    what, of : str
        What the groups and the members are called in messages.
    """
    if groups is None:
        return singles(members)
    if isinstance(groups, Mapping):
        named: list[tuple[str | None, Sequence[Hashable]]] = [(str(k), v) for k, v in groups.items()]
    else:
        named = [(None, group) for group in groups]
    found = [_positions(group, members, what=what, of=of) for _, group in named]
    _check_partition(found, members, what=what, of=of)
    names = [name or " + ".join(str(members[i]) for i in at) for (name, _), at in zip(named, found, strict=True)]
    return Grouping(tuple(names), tuple(found))


def named_groups(groups: Groups, members: Sequence[str], *, what: str, of: str) -> dict[str, list[str]]:
    """Groups as `grouping` takes them, by name with their members' names."""
    found = grouping(groups, members, what=what, of=of)
    return {name: [members[i] for i in at] for name, at in zip(found.names, found.members, strict=True)}


def _positions(group: Sequence[Hashable], members: Sequence[Hashable], *, what: str, of: str) -> tuple[int, ...]:
    if isinstance(group, str | bytes) or not isinstance(group, Sequence | np.ndarray):
        raise InputError(f"Every one of `{what}` must be a list of {of}s. Got {type(group).__name__}.")
    if len(group) == 0:
        raise InputError(f"Every one of `{what}` must hold at least one {of}. Got an empty one.")
    at = {name: i for i, name in enumerate(members)}
    return tuple(_position(member, at, what=what, of=of) for member in group)


def _position(member: Hashable, at: Mapping[Hashable, int], *, what: str, of: str) -> int:
    if member in at:
        return at[member]
    if isinstance(member, int | np.integer) and 0 <= member < len(at):
        return int(member)
    raise InputError(f"`{what}` must name {of}s that exist. Got {member!r}; there are {len(at)}: {list(at)}.")


def _check_partition(found: Sequence[tuple[int, ...]], members: Sequence[Hashable], *, what: str, of: str) -> None:
    times = Counter(i for group in found for i in group)
    twice = [members[i] for i, n in times.items() if n > 1]
    missing = [members[i] for i in range(len(members)) if i not in times]
    if twice:
        raise InputError(f"`{what}` must hold every {of} exactly once. Held more than once: {twice}.")
    if missing:
        raise InputError(f"`{what}` must hold every {of} exactly once. Missing: {missing}.")
