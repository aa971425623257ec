"""Owen values: players in blocks, and blocks that come and go as a whole for everybody else.

With `p` blocks and `ω_r = r! (p - r - 1)! / p!`, a player `i` of block `k` gets::

    Ow_i = Σ_{R ⊆ blocks∖k} ω_|R| Sh_i(T ⊆ B_k ↦ v(T ∪ ⋃R))

Coalitions with `T = ∅` or `T = B_k` are unions of whole blocks, the same for every `k`. Their part of the sum is
the block's Shapley value in the game between blocks, in equal shares to its players. So one block's view evaluates
`2^(n_k + p - 1)` coalitions and learns the other blocks' totals from them as well, and each further block adds its
proper coalitions only, `(2^n_k - 2) 2^(p-1)`: together `Σ_k 2^(n_k + p - 1) - (p - 1) 2^p`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dcshap._typing import FloatArray
from dcshap.shapley.exact.enumeration import Enumeration
from dcshap.shapley.game.games import Unions

__all__ = ["OwenPlan"]


@dataclass(frozen=True)
class OwenPlan:
    """The enumerations that one sample's Owen values need."""

    sample: int
    blocks: Unions  # the active players of each block that has any
    inside: tuple[int, ...]  # positions in `blocks` of those whose own players are to be told apart

    @cached_property
    def enumerations(self) -> list[Enumeration]:
        """All coalitions of the first block inside, and the proper ones of the others; or the game between blocks."""
        if not self.inside:
            return [Enumeration(self.sample, self.blocks, n_own=len(self.blocks))]
        first, *others = self.inside
        return [self._within(first), *(self._within(at, proper=True) for at in self._divided(others))]

    @property
    def n_evals(self) -> int:
        """How many coalitions all of them evaluate."""
        return sum(each.n_evals for each in self.enumerations)

    @property
    def n_largest(self) -> int:
        """How many unions the largest of them has."""
        return max(len(each.unions) for each in self.enumerations)

    @property
    def n_units(self) -> int:
        """How many players, and blocks that are not looked into, there are."""
        return sum(len(block) if at in self.inside else 1 for at, block in enumerate(self.blocks))

    def units(self, players: Sequence[int]) -> list[list[tuple[int, ...]]]:
        """Every block's units, by positions among the players: single ones, or all if it is not looked into."""
        at = {player: position for position, player in enumerate(players)}
        return [
            [(at[player],) for player in block] if k in self.inside else [tuple(at[player] for player in block)]
            for k, block in enumerate(self.blocks)
        ]

    def spread(self, of_units: FloatArray, *, n_players: int) -> FloatArray:
        """What units have (n_units, K), for all players (n_players, K), in equal shares where a unit is a block."""
        players, at = np.zeros((n_players, of_units.shape[1])), 0
        for k, block in enumerate(self.blocks):
            n_mine = len(block) if k in self.inside else 1
            mine = of_units[at : at + n_mine]
            players[list(block)] = mine if k in self.inside else mine / len(block)
            at += n_mine
        return players

    def values(self, solved: Sequence[FloatArray], *, n_players: int) -> FloatArray:
        """Values of all players, shape (n_players, K), from the enumerations' results.

        Players of blocks that were not looked into have an equal share of their block's total.
        """
        players = np.zeros((n_players, solved[0].shape[1]))
        first = self.inside[:1]
        own, totals = np.split(solved[0], [sum(len(self.blocks[at]) for at in first)])
        others = [block for at, block in enumerate(self.blocks) if at not in first]
        for block, total in zip(others, totals, strict=True):
            players[list(block)] = total / len(block)
        for at in first:
            players[list(self.blocks[at])] = own
        for at, proper in zip(self._divided(self.inside[1:]), solved[1:], strict=True):
            players[list(self.blocks[at])] += proper[: len(self.blocks[at])]
        return players

    def _within(self, at: int, *, proper: bool = False) -> Enumeration:
        own = tuple((player,) for player in self.blocks[at])
        return Enumeration(self.sample, own + self.blocks[:at] + self.blocks[at + 1 :], n_own=len(own), proper=proper)

    def _divided(self, inside: Sequence[int]) -> list[int]:
        """Those that have proper coalitions."""
        return [at for at in inside if len(self.blocks[at]) > 1]
