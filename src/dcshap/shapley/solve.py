"""From games and what was asked of them to values: plans, budgets, solvers, and the check at the end."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dcshap._typing import BoolArray, FloatArray, IntArray
from dcshap.exceptions import ConvergenceWarning, InputError, ModelError
from dcshap.shapley.exact.enumeration import MAX_PLAYERS, Enumerated, Enumeration, enumerate_games
from dcshap.shapley.exact.owen import OwenPlan
from dcshap.shapley.game.games import Ends, Games, SampleGame, Unions
from dcshap.shapley.game.players import Grouping
from dcshap.shapley.options import Options
from dcshap.shapley.parallel import progress_bar, run
from dcshap.shapley.sampled.sampling import Sampled, minimum_evals, sampled_values

__all__ = ["Solution", "solve"]

_EFFICIENCY = 1e-8


@dataclass(frozen=True)
class Solution:
    """Values (n, M, K), or those of a block's view, with their errors and their cost.

    `magnitude` (n, K) is how large values of coalitions are where all of them were evaluated, 0 elsewhere.
    """

    values: FloatArray
    magnitude: FloatArray
    standard_errors: FloatArray
    converged: BoolArray
    n_evals: IntArray
    exact: bool
    ends: Ends


def solve(games: Games, options: Options, *, blocks: Grouping | None = None, view: int | None = None) -> Solution:
    """Values of all games, checked to add up to the model's answers.

    Parameters
    ----------
    games : Games
        At least one sample's.
    options : Options
    blocks : Grouping, optional
        Blocks of players, for Owen values.
    view : int, optional
        The block whose view is wanted: its own players, then every other block as one.
    """
    with progress_bar(games.n_samples, shown=options.progress) as done:
        if blocks is not None:
            solution = _owen(games, options, done, blocks=blocks, view=view)
        else:
            solution = _shapley(games, options, done)
    _check_efficiency(solution, options)
    return solution


def _shapley(games: Games, options: Options, done: Callable[[int], None]) -> Solution:
    active = games.active_players()
    enumerated = _enumerated(active, options)
    unions = [_singles(players) for players in active]
    ends = games.ends(unions)
    result = _blank(games.n_samples, games.n_players, ends)
    enumerations = [Enumeration(int(at), unions[at], n_own=len(unions[at])) for at in np.flatnonzero(enumerated)]
    for enumeration, solved in zip(enumerations, _enumerate(games, enumerations, options, done), strict=True):
        at = enumeration.sample
        result.values[at, list(active[at])] = solved.values
        result.magnitude[at] = solved.magnitude
        result.n_evals[at] = enumeration.n_evals
    sampled_at = np.flatnonzero(~enumerated)
    for at, sampled in _sample(games, sampled_at, active, options, n_outputs=ends.full.shape[1]):
        done(1)
        result.values[at, list(active[at])] = sampled.values
        result.standard_errors[at, list(active[at])] = sampled.standard_errors
        result.converged[at] = sampled.converged
        result.n_evals[at] = sampled.n_evals
    return replace(result, exact=bool(enumerated.all()))


def _owen(
    games: Games, options: Options, done: Callable[[int], None], *, blocks: Grouping, view: int | None
) -> Solution:
    plans = [_owen_plan(at, players, blocks, view) for at, players in enumerate(games.active_players())]
    _check_enumerable(max(plan.n_largest for plan in plans), max(plan.n_evals for plan in plans), options)
    ends = games.ends([plan.blocks for plan in plans])
    enumerations = [each for plan in plans for each in plan.enumerations]
    solved = iter(_enumerate(games, enumerations, options, done))
    n_shown = games.n_players if view is None else len(blocks.members[view]) + len(blocks) - 1
    result = _blank(games.n_samples, n_shown, ends)
    for at, plan in enumerate(plans):
        mine = [next(solved) for _ in plan.enumerations]
        values = plan.values([each.values for each in mine], n_players=games.n_players)
        result.magnitude[at] = np.max([each.magnitude for each in mine], axis=0)
        result.values[at] = values if view is None else _viewed(values, blocks, view)
        result.n_evals[at] = plan.n_evals
    return result


def _owen_plan(sample: int, active: tuple[int, ...], blocks: Grouping, view: int | None) -> OwenPlan:
    playing = [(at, tuple(sorted({*active} & {*members}))) for at, members in enumerate(blocks.members)]
    present = [(at, members) for at, members in playing if members]
    inside = tuple(i for i, (at, _) in enumerate(present) if view in (None, at))
    return OwenPlan(sample, tuple(members for _, members in present), inside)


def _viewed(values: FloatArray, blocks: Grouping, view: int) -> FloatArray:
    own = values[list(blocks.members[view])]
    others = [values[list(each)].sum(axis=0) for at, each in enumerate(blocks.members) if at != view]
    return np.concatenate([own, np.reshape(others, (-1, values.shape[1]))])


def _singles(players: tuple[int, ...]) -> Unions:
    return tuple((player,) for player in players)


def _blank(n_samples: int, n_players: int, ends: Ends) -> Solution:
    shape = (n_samples, n_players, ends.full.shape[1])
    return Solution(
        values=np.zeros(shape),
        magnitude=np.zeros((n_samples, shape[2])),
        standard_errors=np.zeros(shape),
        converged=np.ones(n_samples, dtype=bool),
        n_evals=np.zeros(n_samples, dtype=np.int64),
        exact=True,
        ends=ends,
    )


def _enumerated(active: Sequence[tuple[int, ...]], options: Options) -> BoolArray:
    """Which samples' games are enumerated whole, after checking that it can be done."""
    sizes = np.array([len(players) for players in active])
    if options.method == "exact":
        _check_enumerable(int(sizes.max()), 1 << int(sizes.max()), options)
        return np.ones(len(sizes), dtype=bool)
    if options.method == "sampled":
        enumerated = sizes <= 1  # there is nothing to sample: the ends are all there is
    else:
        enumerated = (sizes <= MAX_PLAYERS) & (2.0**sizes <= options.exact_budget())
    for size in np.unique(sizes[~enumerated]):
        least, budget = minimum_evals(int(size)), options.sampled_budget(int(size))
        if budget < least:
            raise InputError(f"`max_evals` must be at least {least} to sample a game of {size} players. Got {budget}.")
    return np.asarray(enumerated, dtype=bool)


def _check_enumerable(n_unions: int, n_evals: int, options: Options) -> None:
    instead = (
        "Use blocks with fewer players."
        if options.index == "owen"
        else 'Use `method="sampled"`, or `groups` that make fewer players of the columns.'
    )
    if n_unions > MAX_PLAYERS:
        raise InputError(
            f"Exact values must be of at most {MAX_PLAYERS} players at a time. Got {n_unions}, "
            f"which would need {n_evals} evaluations a sample. {instead}"
        )
    if options.max_evals != "auto" and n_evals > options.max_evals:
        raise InputError(
            f"`max_evals` must be at least {n_evals} for exact values of these games. "
            f"Got {options.max_evals}. {instead}"
        )


def _enumerate(
    games: Games, enumerations: Sequence[Enumeration], options: Options, done: Callable[[int], None]
) -> list[Enumerated]:
    return enumerate_games(games, enumerations, batch_size=options.rows_per_batch, n_jobs=options.n_jobs, done=done)


def _sample(
    games: Games,
    samples: IntArray,
    active: Sequence[tuple[int, ...]],
    options: Options,
    *,
    n_outputs: int,
) -> Iterator[tuple[int, Sampled]]:
    if len(samples) == 0:
        return
    # One stream per sample of the table, drawn or not, so that neither the jobs nor the other samples matter.
    streams = np.random.default_rng(options.random_state).spawn(games.n_samples)
    tasks = [
        (
            SampleGame(games, int(at), active[at], n_outputs, options.rows_per_batch),
            options.sampled_budget(len(active[at])),
            options.tol,
            streams[at],
        )
        for at in samples
    ]
    results = run(_sample_one, tasks, n_jobs=options.n_jobs, in_threads=False)
    for at, sampled in zip(samples, results, strict=True):
        yield int(at), sampled


def _sample_one(game: SampleGame, max_evals: int, tol: float | None, rng: np.random.Generator) -> Sampled:
    return sampled_values(game, max_evals=max_evals, tol=tol, rng=rng)


def _check_efficiency(solution: Solution, options: Options) -> None:
    """`base + Σφ` must be the model's answer; it is not if the model answered a row differently in two calls."""
    ends = solution.ends
    off = np.abs(ends.base + solution.values.sum(axis=1) - ends.full)
    # All outputs together are a sample's scale: one of them may be 0 where the others are not.
    attributed = np.abs(solution.values).max(axis=1, initial=0.0)
    scale = np.max([np.abs(ends.base), np.abs(ends.full), attributed, solution.magnitude], axis=(0, 2))
    # Models that compute in single precision repeat themselves to that precision only.
    bad = (off > max(_EFFICIENCY, 64 * ends.precision) * scale[:, None]).any(axis=1)
    if bad.any():
        raise ModelError(
            "The model must answer the same row alike every time. It did not: the attributions do not add up to "
            f"its answer in {int(bad.sum())} of {len(bad)} samples. Fix its seed, or switch off what is random in it."
        )
    late = int((~solution.converged).sum())
    if options.tol is not None and late:
        warnings.warn(
            f"Standard errors are above `tol` in {late} of {len(bad)} samples. Raise `max_evals`, or `tol`.",
            ConvergenceWarning,
            stacklevel=4,
        )
