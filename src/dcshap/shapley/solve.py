"""From games and what was asked of them to values: plans, budgets, solvers, and the check at the end."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dcshap._typing import Array, BoolArray, FloatArray, IntArray
from dcshap.exceptions import ConvergenceWarning, InputError, ModelError
from dcshap.shapley.exact.enumeration import MAX_PLAYERS, Enumeration, enumerate_games
from dcshap.shapley.exact.owen import OwenPlan
from dcshap.shapley.game.games import Ends, Games, SampleGame
from dcshap.shapley.game.players import Grouping
from dcshap.shapley.models.costs import cheap_evaluations
from dcshap.shapley.models.written import solve_written_down
from dcshap.shapley.options import Options
from dcshap.shapley.parallel import progress_bar, run
from dcshap.shapley.sampled.orders import Blocks as OwenBlocks
from dcshap.shapley.sampled.orders import minimum_owen_evals, sampled_owen_values
from dcshap.shapley.sampled.sampling import Sampled, minimum_evals, sampled_values

__all__ = ["Solution", "solve"]

_EFFICIENCY = 1e-8
# Up to this many rows, evaluating all coalitions is as fast as anything else and exact to rounding.
_FEW_ROWS = 1 << 16


@dataclass(frozen=True)
class Solution:
    """Values (n, M, K), or those of a block's view, with their errors and their cost.

    `magnitude` (n, K) is how large values of coalitions are where all of them were evaluated, 0 elsewhere. `ways` (n,)
    says how each sample was solved, and `notes` why it was not solved in a faster way that seemed possible.
    """

    values: FloatArray
    magnitude: FloatArray
    standard_errors: FloatArray
    converged: BoolArray
    n_evals: IntArray
    ways: Array
    ends: Ends
    notes: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether no sample was sampled."""
        return not (self.ways == "sampled").any()

    @property
    def method(self) -> str:
        """How the samples were solved; of several ways the least exact."""
        order = ("sampled", "exact", "product", "quadratic", "linear")
        return next(way for way in order if (self.ways == way).any())


def solve(games: Games, options: Options, *, blocks: Grouping | None = None, view: int | None = None) -> Solution:
    """Values of all games, of one sample at least, checked to add up to the model's answers.

    With blocks of players these are Owen values; or a block's `view`: its own players, then every other block as one.
    """
    with progress_bar(games.n_samples, shown=options.progress) as done:
        if blocks is not None:
            solution = _owen(games, options, done, blocks=blocks, view=view)
        else:
            solution = _shapley(games, options, done)
    _check_efficiency(solution, options)
    return solution


def _shapley(games: Games, options: Options, done: Callable[[int], None]) -> Solution:
    null_players, ends = games.points.null_players(), games.ends()
    result, solved = _written_down(games, options, ends, 2.0 ** (~null_players).sum(axis=1), done)
    if solved.all():
        return result
    active = games.active_players(null_players)
    enumerated = _enumerated(games, active, options, ~solved)
    enumerations = [
        Enumeration(at, tuple((player,) for player in active[at]), n_own=len(active[at]))
        for at in np.flatnonzero(enumerated).tolist()
    ]
    for enumeration, found in zip(enumerations, enumerate_games(games, enumerations, options, done), strict=True):
        at = enumeration.sample
        result.values[at, list(active[at])] = found.values
        result.magnitude[at] = found.magnitude
        result.n_evals[at] = enumeration.n_evals
    sampled_at = np.flatnonzero(~enumerated & ~solved)
    for at, sampled in _sample(games, sampled_at, active, options, n_outputs=ends.full.shape[1]):
        done(1)
        result.values[at, list(active[at])] = sampled.values
        result.standard_errors[at, list(active[at])] = sampled.standard_errors
        result.converged[at] = sampled.converged
        result.n_evals[at] = sampled.n_evals
        result.ways[at] = "sampled"
    return result


def _owen(
    games: Games, options: Options, done: Callable[[int], None], *, blocks: Grouping, view: int | None
) -> Solution:
    active = games.active_players(games.points.null_players())
    plans = [_owen_plan(at, players, blocks, view) for at, players in enumerate(active)]
    ends = games.ends([plan.blocks for plan in plans])
    evaluations = np.array([float(plan.n_evals) for plan in plans])
    result, solved = _written_down(games, options, ends, evaluations, done, blocks=blocks)
    left = [plan for plan, each in zip(plans, solved, strict=True) if not each]
    enumerated = [plan for plan in left if _is_enumerated(plan, options)]
    found = iter(enumerate_games(games, [each for plan in enumerated for each in plan.enumerations], options, done))
    for plan in enumerated:
        mine = [next(found) for _ in plan.enumerations]
        result.values[plan.sample] = plan.values([each.values for each in mine], n_players=games.n_players)
        result.magnitude[plan.sample] = np.max([each.magnitude for each in mine], axis=0)
        result.n_evals[plan.sample] = plan.n_evals
    sampled = [plan for plan in left if not _is_enumerated(plan, options)]
    for plan, estimate in zip(sampled, _sample_owen(games, sampled, options, ends.full.shape[1]), strict=True):
        done(1)
        result.values[plan.sample] = plan.spread(estimate.values, n_players=games.n_players)
        result.standard_errors[plan.sample] = plan.spread(estimate.standard_errors, n_players=games.n_players)
        result.converged[plan.sample] = estimate.converged
        result.n_evals[plan.sample] = estimate.n_evals
        result.ways[plan.sample] = "sampled"
    if view is None:
        return result
    # Players of a block that was not looked into share its total equally, and the error of it.
    shown, errors = ([_viewed(each, blocks, view) for each in of] for of in (result.values, result.standard_errors))
    return replace(result, values=np.stack(shown), standard_errors=np.stack(errors))


def _is_enumerated(plan: OwenPlan, options: Options) -> bool:
    """Whether a sample's Owen values are enumerated, after checking that they can be if they must."""
    if options.method == "exact":
        _check_enumerable(plan.n_largest, plan.n_evals, options)
        return True
    if plan.n_units <= 2:
        return True  # there is nothing to sample: the ends and two singles are all there is
    allowed = options.max_evals == "auto" or plan.n_evals <= options.max_evals
    return options.method == "auto" and plan.n_largest <= MAX_PLAYERS and allowed


def _sample_owen(games: Games, plans: Sequence[OwenPlan], options: Options, n_outputs: int) -> Iterator[Sampled]:
    if not plans:
        return iter(())
    streams = np.random.default_rng(options.random_state).spawn(games.n_samples)
    tasks = []
    for plan in plans:
        players = tuple(sorted(player for block in plan.blocks for player in block))
        game = SampleGame(games, plan.sample, players, n_outputs, options.rows_per_batch)
        budget = max(options.sampled_budget(plan.n_units), minimum_owen_evals(plan.n_units))
        if options.max_evals != "auto":
            budget = options.max_evals
        tasks.append((game, plan.units(players), budget, options.tol, streams[plan.sample]))
    return run(_sample_owen_one, tasks, n_jobs=options.n_jobs, in_threads=False)


def _sample_owen_one(
    game: SampleGame, blocks: OwenBlocks, max_evals: int, tol: float | None, rng: np.random.Generator
) -> Sampled:
    return sampled_owen_values(game, blocks, max_evals=max_evals, tol=tol, rng=rng)


def _written_down(
    games: Games,
    options: Options,
    ends: Ends,
    evaluations: FloatArray,
    done: Callable[[int], None],
    *,
    blocks: Grouping | None = None,
) -> tuple[Solution, BoolArray]:
    """Values of samples that are solved without evaluating coalitions, and which these are.

    Samples with few coalitions are left for enumeration, which is as fast and as exact as can be.
    """
    result = _blank(games.n_samples, games.n_players, ends)
    few = (evaluations <= options.exact_budget()) & (evaluations * games.points.n_rows <= _FEW_ROWS)
    if options.method == "sampled" or few.all():
        return result, np.zeros(games.n_samples, dtype=bool)
    members = None if blocks is None else blocks.members
    found = solve_written_down(games, ends, np.flatnonzero(~few), blocks=members)
    result.values[found.samples] = found.values
    result.n_evals[found.samples] = 2
    result.ways[found.samples] = found.way
    solved = np.zeros(games.n_samples, dtype=bool)
    solved[found.samples] = True
    done(len(found.samples))
    return replace(result, notes=found.notes), solved


def _owen_plan(sample: int, active: tuple[int, ...], blocks: Grouping, view: int | None) -> OwenPlan:
    playing = [(at, tuple(sorted({*active} & {*members}))) for at, members in enumerate(blocks.members)]
    present = [(at, members) for at, members in playing if members]
    inside = tuple(i for i, (at, _) in enumerate(present) if view in (None, at))
    return OwenPlan(sample, tuple(members for _, members in present), inside)


def _viewed(values: FloatArray, blocks: Grouping, view: int) -> FloatArray:
    own = values[list(blocks.members[view])]
    others = [values[list(each)].sum(axis=0) for at, each in enumerate(blocks.members) if at != view]
    return np.concatenate([own, np.reshape(others, (-1, values.shape[1]))])


def _blank(n_samples: int, n_players: int, ends: Ends) -> Solution:
    shape = (n_samples, n_players, ends.full.shape[1])
    return Solution(
        values=np.zeros(shape),
        magnitude=np.zeros((n_samples, shape[2])),
        standard_errors=np.zeros(shape),
        converged=np.ones(n_samples, dtype=bool),
        n_evals=np.zeros(n_samples, dtype=np.int64),
        ways=np.full(n_samples, "exact", dtype="<U9"),
        ends=ends,
    )


def _enumerated(games: Games, active: Sequence[tuple[int, ...]], options: Options, left: BoolArray) -> BoolArray:
    """Which of the samples that are left are enumerated whole, after checking that it can be done."""
    sizes = np.array([len(players) for players in active])
    if options.method == "exact":
        largest = int(sizes[left].max())
        _check_enumerable(largest, 1 << largest, options)
        return left
    if options.method == "sampled":
        enumerated = sizes <= 1  # there is nothing to sample: the ends are all there is
    else:
        budgets = np.full(len(sizes), float(options.exact_budget()))
        if options.max_evals == "auto":
            sampled = np.array([options.sampled_budget(int(size)) for size in sizes])
            budgets = np.maximum(budgets, cheap_evaluations(games, sampled))
        enumerated = (sizes <= MAX_PLAYERS) & (2.0**sizes <= budgets)
    for size in np.unique(sizes[left & ~enumerated]):
        least, budget = minimum_evals(int(size)), options.sampled_budget(int(size))
        if budget < least:
            raise InputError(f"`max_evals` must be at least {least} to sample a game of {size} players. Got {budget}.")
    return np.asarray(enumerated & left, dtype=bool)


def _check_enumerable(n_unions: int, n_evals: int, options: Options) -> None:
    # No word of groups or blocks: whoever asks through a collaboration may not be able to choose them.
    instead = 'Use `method="sampled"`, or "auto", which samples where it must.'
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
