"""What pairs of features do together: Shapley–Taylor interactions of any model.

The Shapley–Taylor index of order 2 (Sundararajan, Dhamdhere, Agarwal, 2020) gives single players `v({i}) − v(∅)`, and a
pair what is left on average when it arrives after others::

    I_ij = (2/n) Σ_{T ⊆ N∖ij} (v(T∪ij) − v(T∪i) − v(T∪j) + v(T)) / C(n−1, |T|)

Single effects and interactions add up to the model's answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from dcshap._typing import BoolArray, FloatArray, IntArray
from dcshap.exceptions import InputError
from dcshap.shapley.exact.closed import closed_interactions
from dcshap.shapley.exact.enumeration import MAX_PLAYERS
from dcshap.shapley.exact.pairings import pair_interactions
from dcshap.shapley.game.cells import cells_of
from dcshap.shapley.game.games import Ends, Games, SampleGame
from dcshap.shapley.game.masking import MaskedRows
from dcshap.shapley.game.model import Predict
from dcshap.shapley.game.players import Groups, grouping
from dcshap.shapley.models.evaluators import evaluator_for, output_names_of
from dcshap.shapley.models.written import TOLERANCE, form_of
from dcshap.shapley.options import EngineOptions, Options, spelled_out
from dcshap.shapley.sampled.meetings import minimum_meeting_evals, sampled_interactions

__all__ = ["Interactions", "shapley_interactions"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Interactions:
    """Shapley–Taylor interactions of `n` samples.

    Parameters
    ----------
    values : array of shape (n, M, M) or (n, M, M, K)
        The interaction of players i and j at [i, j] and at [j, i]; what i does alone at [i, i]. `base_values` and the
        upper triangle, diagonal included, add up to the model's answer.
    standard_errors : array shaped as `values`
        Zero where values are exact.
    base_values : array of shape (n,) or (n, K)
    feature_names, output_names : tuples of str
    method : {"exact", "product", "sampled"}
    n_evals : array of shape (n,)
    """

    values: FloatArray
    standard_errors: FloatArray
    base_values: FloatArray
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    method: str
    n_evals: IntArray

    @property
    def exact(self) -> bool:
        """Whether no sample was sampled."""
        return self.method != "sampled"

    @property
    def predictions(self) -> FloatArray:
        """The model's answers, shape (n,) or (n, K)."""
        rows, columns = np.triu_indices(self.values.shape[1])
        return np.asarray(self.base_values + self.values[:, rows, columns].sum(axis=1))


@spelled_out
def shapley_interactions(
    predict: Predict, X: Any, reference: Any, *, groups: Groups | None = None, **options: Unpack[EngineOptions]
) -> Interactions:
    """Attribute a model's answers to columns and pairs of columns.

    Parameters
    ----------
    predict, X, reference, groups
        As in `shapley_values`.
    method, max_evals, tol, batch_size, n_jobs, random_state, progress
        As in `shapley_values`. Sampling needs as many evaluations as there are pairs, several times; `n_jobs` and
        `progress` are of no use here.

    Examples
    --------
    >>> import numpy as np
    >>> def area(rows):
    ...     return rows[:, 0] * rows[:, 1]
    >>> found = shapley_interactions(area, np.array([[3.0, 2.0]]), np.array([1.0, 1.0]))
    >>> found.values[0]
    array([[2., 2.],
           [2., 1.]])
    """
    asked, cells = Options(**options), cells_of(X, reference)
    players = grouping(groups, cells.columns, what="groups", of="column")
    points = MaskedRows(cells, players.members)
    if points.n_samples == 0 or points.n_players < 2:
        raise InputError(
            f"Interactions need at least one sample and two players. Got {points.n_samples} and {points.n_players}."
        )
    games = Games(points, predict, evaluator_for(predict, points))
    ends = games.ends()
    pairs, errors, n_evals, method = _pairs(games, asked, ends)
    alone = np.stack([_alone(games, at) for at in range(points.n_samples)]) - ends.base[:, None, :]
    values, spread = _square(pairs, alone), _square(errors, np.zeros_like(alone))
    return Interactions(
        values=values[..., 0] if ends.scalar else values,
        standard_errors=spread[..., 0] if ends.scalar else spread,
        base_values=ends.base[:, 0] if ends.scalar else np.array(ends.base),
        feature_names=players.names,
        output_names=output_names_of(predict, values.shape[3]),
        method=method,
        n_evals=n_evals,
    )


def _pairs(games: Games, options: Options, ends: Ends) -> tuple[FloatArray, FloatArray, IntArray, str]:
    """Interactions of all pairs (n, n_pairs, K), their standard errors, evaluations, and how they were found."""
    n, m, n_outputs = games.n_samples, games.n_players, ends.full.shape[1]
    if options.method != "sampled":
        if m <= MAX_PLAYERS and (options.method == "exact" or 2.0**m <= options.exact_budget()):
            values = np.stack([pair_interactions(games, at, n_outputs, options.rows_per_batch) for at in range(n)])
            return values, np.zeros_like(values), np.full(n, 1 << m), "exact"
        written = _written_down(games, ends)
        if written is not None:
            return written, np.zeros_like(written), np.full(n, 2 + m), "product"
    if options.method == "exact":
        raise InputError(
            f"Exact interactions must be of at most {MAX_PLAYERS} players, or of a model that is known. Got {m}. "
            f'Use `method="sampled"`, or `groups` that make fewer players of the columns.'
        )
    budget = minimum_meeting_evals(m) * 4 if options.max_evals == "auto" else options.max_evals
    streams = np.random.default_rng(options.random_state).spawn(n)
    sampled = []
    for at, stream in enumerate(streams):
        game = SampleGame(games, at, tuple(range(m)), n_outputs, options.rows_per_batch)
        sampled.append(sampled_interactions(game, max_evals=budget, rng=stream))
    values, errors = (np.stack([getattr(each, name) for each in sampled]) for name in ("values", "standard_errors"))
    return values, errors, np.array([each.n_evals for each in sampled]), "sampled"


def _written_down(games: Games, ends: Ends) -> FloatArray | None:
    """Interactions of a model that is known, if all are within the tolerance."""
    samples = np.arange(games.n_samples)
    form, _ = form_of(games, samples)
    if form is None:
        return None
    found = closed_interactions(games.points, form, samples, ends.full.shape[1])
    scale = np.maximum(np.abs(ends.base).max(axis=1), np.abs(ends.full).max(axis=1))
    return found.values if (found.error <= TOLERANCE * scale).all() else None


def _alone(games: Games, sample: int) -> FloatArray:
    """Values of single players (n_players, K)."""
    inside: BoolArray = np.eye(games.n_players, dtype=bool)
    return games.coalition_values(sample, inside)


def _square(pairs: FloatArray, alone: FloatArray) -> FloatArray:
    """Pairs (n, n_pairs, K) and single players (n, M, K) as symmetric matrices (n, M, M, K)."""
    n, m, n_outputs = alone.shape
    values = np.zeros((n, m, m, n_outputs))
    first, second = np.triu_indices(m, 1)
    values[:, first, second] = values[:, second, first] = pairs
    values[:, np.arange(m), np.arange(m)] = alone
    return values
