"""Shapley and Owen values of any model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from dcshap._typing import BoolArray, FloatArray
from dcshap.exceptions import InputError
from dcshap.shapley.explanation import Explanation
from dcshap.shapley.game.additive import AdditivePoints
from dcshap.shapley.game.cells import cells_of
from dcshap.shapley.game.coalition_points import CoalitionPoints, PointsOf
from dcshap.shapley.game.games import Games, Points
from dcshap.shapley.game.masking import MaskedRows
from dcshap.shapley.game.model import Predict
from dcshap.shapley.game.players import Grouping, Groups, grouping
from dcshap.shapley.models.evaluators import evaluator_for, output_names_of
from dcshap.shapley.options import EngineOptions, Index, Options, spelled_out
from dcshap.shapley.solve import solve

__all__ = ["additive_shapley_values", "coalition_shapley_values", "shapley_values"]


@spelled_out
def shapley_values(
    predict: Predict,
    X: Any,
    reference: Any,
    *,
    groups: Groups | None = None,
    index: Index = "shapley",
    blocks: Groups | None = None,
    view: str | int | None = None,
    **options: Unpack[EngineOptions],
) -> Explanation:
    """Attribute a model's answers to the columns of its input.

    The game of a sample `x`: a coalition's value is the model's answer to the row that has the cells of `x` in the
    coalition's columns and those of the reference elsewhere.

    Parameters
    ----------
    predict : callable
        Maps rows to answers of shape (n,) or (n, K). Rows are what `X` is: an array, or a frame with the dtypes and
        categories of `X`. If it is the method of a fitted scikit-learn model that is recognised (nearest neighbours;
        linear and generalised linear models, networks, Gaussian kernels, quadratic discriminants, also behind
        scalers and PCA in a pipeline) and `X` holds numbers, then the same values are had faster, for many of them
        without evaluating coalitions (see docs/method.md). Wrap the method in a function of your own to have it
        called for every row instead.
    X : array or DataFrame of shape (n, d)
        The samples.
    reference : array or DataFrame of shape (d,), (1, d) or (r, d), or mapping of column to cell
        The row that stands for "absent". With several rows, the model's answers are averaged over them.
    groups : list of lists of columns, or dict of name to columns, optional
        Blocks of columns that play as one, by name or position; every column in exactly one.
    index : {"shapley", "owen"}
        Owen values need `blocks`.
    blocks : list of lists of players, or dict of name to players, optional
        For Owen values: blocks of players, by name or position; every player in exactly one.
    view : str or int, optional
        For Owen values: the block through whose eyes to look, its own players and every other block as one. It
        needs no more evaluations than that.
    method : {"auto", "exact", "sampled"}
        "exact" evaluates all coalitions, of at most 20 players that differ from the reference, or solves a model that
        is recognised. "auto" does so for each sample whose coalitions `max_evals` allows or whose model is recognised,
        and samples coalitions otherwise.
    max_evals : int or "auto"
        How many coalitions of each sample may be evaluated (the model sees as many rows, times those of the
        reference). "auto" is 8192 for exact values, more where that is cheaper than sampling (small trees, boosting,
        networks and neighbours), and `max(2048, 64 * players)` for sampled ones, eight times that with `tol`; where
        `method="exact"` or `index="owen"` it is whatever 20 players need.
    tol : float, optional
        Sample until all standard errors are below it, or `max_evals` is reached.
    batch_size : int, optional
        How many rows one call of `predict` may have; 32768 by default.
    n_jobs : int, optional
        Jobs as joblib counts them. In `joblib.parallel_config(backend="dask")` they run on the cluster.
    random_state : int, Generator, SeedSequence or None
        For sampling. The same seed gives the same values whatever `n_jobs` is.
    progress : bool
        Show a bar on stderr.

    Returns
    -------
    Explanation
        `values` of shape (n, players), or (n, players, K) if `predict` answers with K numbers a row.

    Raises
    ------
    InputError
        If arguments do not fit each other, or exact values are out of reach.
    ModelError
        If the model raises, answers with NaN, or answers the same row differently in two calls.

    Examples
    --------
    >>> import numpy as np
    >>> def area(rows):
    ...     return rows[:, 0] * rows[:, 1]
    >>> e = shapley_values(area, np.array([[3.0, 2.0]]), np.array([1.0, 1.0]))
    >>> e.base_values, e.values
    (array([1.]), array([[3., 2.]]))
    """
    asked = Options(index, **options)
    cells = cells_of(X, reference)
    players = grouping(groups, cells.columns, what="groups", of="column")
    points = MaskedRows(cells, players.members)
    return _explained(
        predict,
        points,
        asked,
        names=players.names,
        blocks=blocks,
        view=view,
        data=X if not isinstance(X, list | tuple) else cells.X,
        reference=cells.reference,
    )


@spelled_out
def additive_shapley_values(
    predict: Predict,
    base: Any,
    offsets: Any,
    *,
    resolution: float = 0.0,
    feature_names: Sequence[str] | None = None,
    index: Index = "shapley",
    blocks: Groups | None = None,
    view: str | int | None = None,
    data: Any = None,
    reference: Any = None,
    **options: Unpack[EngineOptions],
) -> Explanation:
    """Attribute a model's answers to players who each move the model's input by an offset.

    The game of a sample: `z(S) = base + Σ_{i∈S} offset_i`, and a coalition's value is the model's answer to `z(S)`.

    Parameters
    ----------
    predict : callable
        Maps points of shape (n, d) to answers of shape (n,) or (n, K). Methods of recognised scikit-learn models
        are answered faster, see `shapley_values`.
    base : array of shape (d,) or (n, d)
        The point of the empty coalition, one for all samples or one for each.
    offsets : array of shape (n, M, d)
        What each of the M players adds.
    resolution : float
        Points are rounded to multiples of it before the model sees them; 0 leaves them as they are. A power of two
        keeps the rounding itself exact.
    feature_names : sequence of str, optional
        The names of the players.
    index, blocks, view, method, max_evals, tol, batch_size, n_jobs, random_state, progress
        As in `shapley_values`.
    data, reference : table, optional
        Kept in the explanation.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np
    >>> offsets = np.array([[[1.0, 0.0], [0.0, 2.0]]])
    >>> additive_shapley_values(lambda z: z.sum(axis=1), np.zeros(2), offsets).values
    array([[1., 2.]])
    """
    asked = Options(index, **options)
    points = _additive_points(np.asarray(base, np.float64), np.asarray(offsets, np.float64), resolution)
    names = tuple(f"x{i}" for i in range(points.n_players)) if feature_names is None else tuple(feature_names)
    if len(names) != points.n_players:
        raise InputError(f"`feature_names` must name {points.n_players} players. Got {len(names)} names.")
    return _explained(predict, points, asked, names=names, blocks=blocks, view=view, data=data, reference=reference)


@spelled_out
def coalition_shapley_values(
    predict: Predict,
    points_of: PointsOf,
    *,
    n_samples: int,
    feature_names: Sequence[str],
    null_players: BoolArray | None = None,
    index: Index = "shapley",
    blocks: Groups | None = None,
    view: str | int | None = None,
    **options: Unpack[EngineOptions],
) -> Explanation:
    """Attribute a model's answers to players whose coalitions a function turns into the model's input.

    For inputs that are neither cells put together nor sums of what players add.

    Parameters
    ----------
    predict : callable
        Maps points of shape (n, d) to answers of shape (n,) or (n, K).
    points_of : callable
        Maps a sample's number, and coalitions as booleans of shape (n, M), to points of shape (n, d).
    n_samples : int
    feature_names : sequence of str
        The names of the M players.
    null_players : array of bool of shape (n_samples, M), optional
        Which players are known to change nothing; they get exactly 0.
    index, blocks, view, method, max_evals, tol, batch_size, n_jobs, random_state, progress
        As in `shapley_values`.

    Examples
    --------
    >>> import numpy as np
    >>> def points_of(sample, inside):
    ...     return np.where(inside, 3.0, 1.0)
    >>> def product(points):
    ...     return points.prod(axis=1)
    >>> coalition_shapley_values(product, points_of, n_samples=1, feature_names=["a", "b"]).values
    array([[4., 4.]])
    """
    asked, names = Options(index, **options), tuple(feature_names)
    null = np.zeros((n_samples, len(names)), dtype=bool) if null_players is None else null_players
    points = CoalitionPoints(points_of, null)
    return _explained(predict, points, asked, names=names, blocks=blocks, view=view, data=None, reference=None)


def _additive_points(base: FloatArray, offsets: FloatArray, resolution: float) -> AdditivePoints:
    if offsets.ndim != 3:
        raise InputError(f"`offsets` must have shape (samples, players, d). Got {offsets.shape}.")
    bases = base[None, :] if base.ndim == 1 else base
    n, _, d = offsets.shape
    if bases.shape not in ((1, d), (n, d)):
        raise InputError(f"`base` must have shape ({d},) or ({n}, {d}) to fit `offsets`. Got {base.shape}.")
    if not (np.isfinite(bases).all() and np.isfinite(offsets).all()):
        raise InputError("`base` and `offsets` must be finite. Got NaN or infinity.")
    if not (resolution >= 0 and np.isfinite(resolution)):
        raise InputError(f"`resolution` must be 0 or above. Got {resolution!r}.")
    return AdditivePoints(bases, offsets, float(resolution))


def _explained(
    predict: Predict,
    points: Points,
    options: Options,
    *,
    names: tuple[str, ...],
    blocks: Groups | None,
    view: str | int | None,
    data: Any,
    reference: Any,
) -> Explanation:
    grouped = _grouped(names, options, blocks=blocks, view=view)
    at = None if view is None or grouped is None else grouped.position(view, what="view")
    shown = names if at is None or grouped is None else _view_names(names, grouped, at)
    about: dict[str, Any] = {
        "feature_names": shown,
        "index": options.index,
        "data": data,
        "reference": reference,
        "blocks": None
        if grouped is None
        else {name: tuple(names[i] for i in each) for name, each in zip(grouped.names, grouped.members, strict=True)},
        "view": None if at is None or grouped is None else grouped.names[at],
    }
    if points.n_samples == 0:
        return _empty(options, n_players=len(shown), about=about)
    games = Games(points, predict, evaluator_for(predict, points))
    solution = solve(games, options, blocks=grouped, view=at)
    scalar = solution.ends.scalar
    n_outputs = solution.values.shape[2]
    return Explanation(
        values=solution.values[:, :, 0] if scalar else solution.values,
        base_values=solution.ends.base[:, 0] if scalar else np.array(solution.ends.base),
        standard_errors=solution.standard_errors[:, :, 0] if scalar else solution.standard_errors,
        output_names=output_names_of(predict, n_outputs),
        method=solution.method,
        exact=solution.exact,
        notes=solution.notes,
        n_evals=solution.n_evals,
        converged=solution.converged,
        **about,
    )


def _grouped(
    names: tuple[str, ...], options: Options, *, blocks: Groups | None, view: str | int | None
) -> Grouping | None:
    if options.index == "owen":
        if blocks is None:
            raise InputError('`index="owen"` needs `blocks`, lists of the players that belong together. Got None.')
        return grouping(blocks, names, what="blocks", of="player")
    if blocks is not None or view is not None:
        raise InputError('`blocks` and `view` belong to `index="owen"`. Got `index="shapley"`.')
    return None


def _view_names(names: tuple[str, ...], blocks: Grouping, at: int) -> tuple[str, ...]:
    own = tuple(names[i] for i in blocks.members[at])
    return own + tuple(name for i, name in enumerate(blocks.names) if i != at)


def _empty(options: Options, *, n_players: int, about: dict[str, Any]) -> Explanation:
    """The explanation of no samples; a model that is never asked is taken to have one output."""
    return Explanation(
        values=np.empty((0, n_players)),
        base_values=np.empty(0),
        standard_errors=np.empty((0, n_players)),
        output_names=("output",),
        method="sampled" if options.method == "sampled" else "exact",
        exact=options.method != "sampled",
        n_evals=np.empty(0, dtype=np.int64),
        converged=np.empty(0, dtype=bool),
        **about,
    )
