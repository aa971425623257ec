"""Exact values: every coalition is evaluated, in spans that fit memory, and weighted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dcshap._typing import FloatArray
from dcshap.shapley.game.coalitions import value_weights
from dcshap.shapley.game.games import Games, Span, Unions
from dcshap.shapley.options import Options
from dcshap.shapley.parallel import run

__all__ = ["MAX_PLAYERS", "Enumerated", "Enumeration", "enumerate_games"]

MAX_PLAYERS = 20


@dataclass(frozen=True)
class Enumeration:
    """A game to be enumerated: one sample, its players (or unions of them) and, above them, blocks.

    Without blocks the players' values are Shapley values, with blocks they are Owen values, and the blocks' follow.
    With `proper`, only the part that comes from coalitions with some but not all of the players (see
    `dcshap.shapley.exact.owen`), which is nothing for the blocks.
    """

    sample: int
    unions: Unions
    n_own: int
    proper: bool = False

    @property
    def n_evals(self) -> int:
        """How many coalitions are evaluated."""
        of_own = (1 << self.n_own) - (2 if self.proper else 0)
        return of_own << (len(self.unions) - self.n_own)


class Enumerated(NamedTuple):
    """Attributions (n_unions, K), and how large the values of coalitions are (K,), which rounding is relative to."""

    values: FloatArray
    magnitude: FloatArray


def enumerate_games(
    games: Games, enumerations: Sequence[Enumeration], options: Options, done: Callable[[int], None]
) -> list[Enumerated]:
    """Attributions of all enumerations' unions; small ones share calls of the model.

    `done` is told of every sample that is finished.

    Batches depend on their size alone and are summed in their own order, so that the result does not depend on how
    many jobs there are.
    """
    batch_size = options.rows_per_batch
    spans = [(at, span) for at, each in enumerate(enumerations) for span in _spans(games, each, batch_size)]
    batches = list(_batches(spans, batch_size // games.points.n_rows))
    left = Counter(span.sample for _, span in spans)
    solved: dict[int, Enumerated] = {}
    tasks = [(games, [span for _, span in batch]) for batch in batches]
    results = run(_solve_batch, tasks, n_jobs=options.n_jobs, in_threads=games.evaluator.in_threads)
    for batch, parts in zip(batches, results, strict=True):
        for (at, span), part in zip(batch, parts, strict=True):
            solved[at] = _together(solved[at], part) if at in solved else part
            left[span.sample] -= 1
            if left[span.sample] == 0:
                done(1)
    return [solved[at] for at in range(len(enumerations))]


def _spans(games: Games, enumeration: Enumeration, batch_size: int) -> Iterator[Span]:
    n_unions = len(enumeration.unions)
    fitting = max(1, batch_size // games.points.n_rows)
    size = 1 << min(n_unions, fitting.bit_length() - 1)
    for start in range(0, 1 << n_unions, size):
        span = Span(**vars(enumeration), start=start, stop=start + size)
        if not span.proper or len(span):
            yield span


def _batches(spans: Sequence[tuple[int, Span]], capacity: int) -> Iterator[list[tuple[int, Span]]]:
    batch: list[tuple[int, Span]] = []
    size = 0
    for at, span in spans:
        if batch and size + span.stop - span.start > capacity:
            yield batch
            batch, size = [], 0
        batch.append((at, span))
        size += span.stop - span.start
    if batch:
        yield batch


def _together(one: Enumerated, other: Enumerated) -> Enumerated:
    return Enumerated(one.values + other.values, np.maximum(one.magnitude, other.magnitude))


def _solve_batch(games: Games, spans: Sequence[Span]) -> list[Enumerated]:
    """Each span's contribution, with one matrix product for all spans over the same coalitions."""
    alike: dict[tuple[int, int, bool, int, int], list[int]] = defaultdict(list)
    for at, span in enumerate(spans):
        alike[span.n_own, span.n_blocks, span.proper, span.start, span.stop].append(at)
    # Algorithm 1, line 9: y' = f(X')
    values = games.values([[spans[at] for at in positions] for positions in alike.values()])
    solved: dict[int, Enumerated] = {}
    for (n_own, n_blocks, _, start, stop), positions, mine in zip(alike, alike.values(), values, strict=True):
        # Algorithm 1, lines 7 and 10: the weighted regression has a closed solution, which these weights apply
        weights = value_weights(n_own, n_blocks, start, stop)
        kept = spans[positions[0]].kept()
        weights = weights if kept is None else weights[:, kept]
        products = (weights @ mine.reshape(len(mine), -1)).reshape(len(weights), *mine.shape[1:])
        magnitudes = np.abs(mine).max(axis=0)
        if games.evaluator.complement:
            products = np.concatenate([-products, products], axis=2)
            magnitudes = np.concatenate([1.0 + magnitudes, magnitudes], axis=1)
        solved.update(zip(positions, map(Enumerated, products.swapaxes(0, 1), magnitudes), strict=True))
    return [solved[at] for at in range(len(spans))]
