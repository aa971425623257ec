from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from dcshap._typing import BoolArray, FloatArray
from dcshap.exceptions import InputError
from dcshap.shapley.sampled import gaussian_process
from dcshap.shapley.sampled.gaussian_process import PRIOR_MEANS
from dcshap.shapley.sampled.odd_kernel import OddKernel, nugget_weights, signs
from dcshap.shapley.sampled.pairs import PairSampler, n_pairs_of
from dcshap.shapley.sampled.sampling import minimum_evals, sampled_values


class TableGame:
    """A game given by the values of all its coalitions, in the order of their bits."""

    def __init__(self, table: FloatArray) -> None:
        self.table = table if table.ndim == 2 else table[:, None]
        self.n_players = len(table).bit_length() - 1
        self.n_outputs = self.table.shape[1]
        self.asked: list[int] = []

    def __call__(self, coalitions: BoolArray, /) -> FloatArray:
        keys = coalitions @ (1 << np.arange(self.n_players))
        self.asked.extend(keys)
        return self.table[keys]

    @cached_property
    def exact(self) -> FloatArray:
        """By the definition, over coalitions without the player."""
        m = self.n_players
        values = np.zeros((m, self.n_outputs))
        keys = np.arange(1 << m)
        for player in range(m):
            without = keys[keys >> player & 1 == 0]
            weights = np.array([1.0 / (m * comb(m - 1, int(size))) for size in np.bitwise_count(without)])
            values[player] = weights @ (self.table[without | 1 << player] - self.table[without])
        return values


class FunctionGame:
    n_outputs = 1

    def __init__(self, function: Callable[[FloatArray], FloatArray], n_players: int) -> None:
        self.function, self.n_players = function, n_players

    def __call__(self, coalitions: BoolArray, /) -> FloatArray:
        return self.function(coalitions.astype(float))[:, None]


def members_of_all(m: int) -> FloatArray:
    return ((np.arange(1 << m)[:, None] >> np.arange(m)) & 1).astype(float)


def network_game(m: int, seed: int, n_outputs: int = 1) -> TableGame:
    """A smooth game with interactions of all orders and players of very different weight."""
    rng = np.random.default_rng(seed)
    inner = rng.normal(size=(m, 6)) * rng.gamma(0.5, size=(m, 1))
    hidden = np.tanh(members_of_all(m) @ inner + rng.normal(size=6))
    return TableGame(hidden @ rng.normal(size=(6, n_outputs)))


def vote_game(m: int, seed: int) -> TableGame:
    """The share of the 7 nearest of some points that are of one class: rough, and with few different values."""
    rng = np.random.default_rng(seed)
    points, x = rng.normal(size=(150, m)), 1.5 * rng.normal(size=m)
    labels = points[:, : m // 2].sum(axis=1) + points[:, 0] * points[:, 1] > 0
    hybrids = members_of_all(m) * x
    distances = (points**2).sum(axis=1) - 2.0 * hybrids @ points.T
    return TableGame(labels[np.argpartition(distances, 7, axis=1)[:, :7]].mean(axis=1))


def cubic_game(m: int, seed: int) -> TableGame:
    """Products of three players' signs that stand out of something smooth."""
    rng, smooth = np.random.default_rng(seed), vote_game(m, seed)
    signs = 2 * members_of_all(m) - 1
    triples = np.stack([signs[:, rng.choice(m, 3, replace=False)].prod(axis=1) for _ in range(3)], axis=1)
    return TableGame(smooth.table + triples @ rng.normal(1.0, 0.2, size=(3, 1)))


def estimate(game: TableGame | FunctionGame, max_evals: int, seed: int = 0, tol: float | None = None):
    return sampled_values(game, max_evals=max_evals, tol=tol, rng=np.random.default_rng(seed))


# --- what is always so ------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), m=st.integers(1, 9), spare=st.integers(0, 150))
def test_values_sum_to_the_difference_of_the_ends_and_the_budget_is_kept(seed, m, spare):
    game = network_game(m, seed, n_outputs=2)
    game.table += 100.0
    found = estimate(game, minimum_evals(m) + spare, seed)
    np.testing.assert_allclose(found.values.sum(axis=0), game.table[-1] - game.table[0], rtol=0, atol=1e-11)
    assert found.values.shape == found.standard_errors.shape == (m, 2)
    assert found.n_evals == len(game.asked) <= minimum_evals(m) + spare
    assert len(set(game.asked)) == len(game.asked)


@pytest.mark.parametrize("m", [1, 2, 3, 4, 7, 8])
@pytest.mark.parametrize("max_evals_over", [0, 1000])
def test_values_are_exact_when_all_coalitions_are_evaluated(m, max_evals_over):
    game = TableGame(np.random.default_rng(m).normal(size=(1 << m, 3)))
    found = estimate(game, (1 << m) + max_evals_over)
    np.testing.assert_allclose(found.values, game.exact, atol=1e-13)
    assert not found.standard_errors.any()
    assert found.converged
    assert found.n_evals == 1 << m


@pytest.mark.parametrize("m", [5, 20, 61])
def test_additive_games_are_exact_with_the_least_budget(m):
    weights = np.random.default_rng(m).normal(size=m)
    found = estimate(FunctionGame(lambda members: 5.0 + members @ weights, m), minimum_evals(m))
    np.testing.assert_allclose(found.values[:, 0], weights, atol=1e-12)


def test_additive_games_have_no_error_once_there_are_pairs_enough_to_tell():
    game = FunctionGame(lambda members: 5.0 + members @ np.arange(20.0), 20)
    least, enough = estimate(game, minimum_evals(20)), estimate(game, 82)
    assert least.standard_errors.all()
    assert not least.converged
    assert not enough.standard_errors.any()
    assert enough.converged


def test_a_game_that_looks_additive_by_chance_is_not_given_out_as_exact():
    # All that a least budget evaluates is additive; a pair of players together is not.
    game = FunctionGame(lambda members: members[:, 0] + (members.sum(axis=1) == 2) - (members.sum(axis=1) == 8), 10)
    found = estimate(game, minimum_evals(10))
    assert found.standard_errors.any()
    assert not found.converged


def test_a_constant_output_is_worth_nothing_and_does_not_disturb_the_others():
    game = network_game(10, seed=1)
    constant = np.full_like(game.table, 0.3)
    beside = estimate(TableGame(np.hstack([game.table, constant])), 200)
    np.testing.assert_allclose(beside.values[:, 1], 0.0, atol=1e-15)
    # To rounding: sums over two columns may be taken in another order than those over one.
    np.testing.assert_allclose(beside.values[:, 0], estimate(game, 200).values[:, 0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("beside", [0, 1])
def test_an_output_that_few_coalitions_change_is_no_trouble_where_the_kernel_is_chosen_from_others(beside):
    rng = np.random.default_rng(0)
    s = np.concatenate([np.ones((1, 14)), rng.choice([-1.0, 1.0], (400, 14))])
    odd = np.concatenate([np.zeros((401, 1)), s.sum(axis=1, keepdims=True)], axis=1)[:, : 1 + beside]
    odd[7, 0] = 1.0  # one pair of all
    for seed in range(8):
        found = gaussian_process.shapley_posterior(
            s, odd, np.random.default_rng(seed), blind=np.ones(len(s), dtype=bool), rounding=np.full(1 + beside, 1e-12)
        )
        assert np.isfinite(found.mean).all()
        assert np.isfinite(found.variance).all()


def test_outputs_that_determine_each_other_get_opposite_values():
    game = vote_game(10, seed=0)
    found = estimate(TableGame(np.hstack([game.table, 1.0 - game.table])), 160)
    np.testing.assert_allclose(found.values[:, 0], -found.values[:, 1], atol=1e-10)
    np.testing.assert_allclose(found.values[:, :1], estimate(game, 160).values, atol=1e-6)


def test_the_same_seed_gives_the_same_values_and_another_does_not():
    game = vote_game(11, seed=0)
    np.testing.assert_array_equal(estimate(game, 200, seed=3).values, estimate(game, 200, seed=3).values)
    assert (estimate(game, 200, seed=3).values != estimate(game, 200, seed=4).values).any()


def test_values_scale_with_the_game():
    game = network_game(10, seed=2)
    found, scaled = estimate(game, 120), estimate(TableGame(-1e6 * game.table), 120)
    np.testing.assert_allclose(scaled.values, -1e6 * found.values, rtol=1e-5)
    np.testing.assert_allclose(scaled.standard_errors, 1e6 * found.standard_errors, rtol=1e-3)


def test_null_players_are_told_from_the_others():
    m = 24  # of which three play
    game = FunctionGame(lambda members: members[:, 0] * members[:, 1] + np.tanh(2 * members[:, 2] - members[:, 0]), m)
    values = estimate(game, 16 * m).values[:, 0]
    assert np.abs(values[3:]).max() < 0.01 * np.abs(values[:3]).max()


# --- accuracy ---------------------------------------------------------------------------------------------------------


def leverage_shap(game: TableGame, max_evals: int, seed: int) -> FloatArray:
    """Regression with the Shapley kernel over the probability of being drawn (arXiv 2410.01917)."""
    m = game.n_players
    half = PairSampler(m, np.random.default_rng(seed)).draw_up_to(max_evals // 2 - 1)
    coalitions = np.concatenate([half, ~half])
    sizes = coalitions.sum(axis=1)
    weights = 1.0 / (np.bincount(sizes)[sizes] * sizes * (m - sizes))
    worth = game.table[-1, 0] - game.table[0, 0]
    target = game(coalitions)[:, 0] - game.table[0, 0] - sizes / m * worth
    centred = coalitions - sizes[:, None] / m
    solution = np.linalg.lstsq((centred.T * weights) @ centred, (centred.T * weights) @ target)[0]
    return np.asarray(solution + worth / m)


@pytest.mark.parametrize("kind", [network_game, vote_game])
def test_errors_are_far_below_those_of_leverage_shap(kind):
    ours, theirs = 0.0, 0.0
    for seed in range(12):
        game = kind(11, seed)
        exact = game.exact[:, 0]
        ours += ((estimate(game, 176, seed).values[:, 0] - exact) ** 2).sum() / (exact**2).sum()
        theirs += ((leverage_shap(game, 176, seed) - exact) ** 2).sum() / (exact**2).sum()
    assert ours < 0.7 * theirs


@pytest.mark.parametrize(("kind", "max_evals"), [(network_game, 100), (vote_game, 88), (vote_game, 400)])
def test_intervals_of_two_standard_errors_cover_the_exact_values_as_often_as_they_should(kind, max_evals):
    covered = []
    for seed in range(40):
        game = kind(11, seed)
        found = estimate(game, max_evals, seed)
        covered.extend(np.abs(found.values - game.exact) <= 1.96 * found.standard_errors)
    assert 0.85 <= np.mean(covered) <= 0.99


def test_pairs_beyond_those_of_the_process_lower_the_error_and_its_estimate(monkeypatch):
    monkeypatch.setattr(gaussian_process, "MAX_PROCESS", 128)
    errors, covered = {256: 0.0, 1600: 0.0}, []
    for seed in range(12):
        game = vote_game(11, seed)
        for max_evals in errors:
            found = estimate(game, max_evals, seed)
            errors[max_evals] += ((found.values - game.exact) ** 2).sum()
            np.testing.assert_allclose(found.values.sum(), game.table[-1, 0] - game.table[0, 0], atol=1e-12)
        covered.extend(np.abs(found.values - game.exact) <= 1.96 * found.standard_errors)
    assert errors[1600] < 0.4 * errors[256]
    assert 0.85 <= np.mean(covered) <= 1.0


@pytest.mark.parametrize("kind", [vote_game, cubic_game])
def test_a_trend_looked_for_among_some_of_the_pairs_serves_all_of_them(kind, monkeypatch):
    covered, errors = [], []
    for searched in (64, 2048):
        monkeypatch.setattr(gaussian_process, "MAX_SEARCHED", searched)
        for seed in range(12):
            game = kind(11, seed)
            found = estimate(game, 600, seed)
            np.testing.assert_allclose(found.values.sum(), game.table[-1, 0] - game.table[0, 0], atol=1e-12)
            covered.extend(np.abs(found.values - game.exact) <= 1.96 * found.standard_errors + 1e-12)
            errors.append(((found.values - game.exact) ** 2).sum() / (game.exact**2).sum())
    assert np.mean(covered) >= 0.85
    assert np.mean(errors[:12]) < 3 * np.mean(errors[12:]) + 1e-20


# --- convergence ------------------------------------------------------------------------------------------------------


def test_sampling_stops_when_standard_errors_are_below_tol():
    game = network_game(14, seed=0)
    scale = np.abs(game.exact).max()
    coarse, fine = estimate(game, 4000, tol=0.1 * scale), estimate(game, 4000, tol=0.002 * scale)
    assert coarse.converged
    assert fine.converged
    assert coarse.n_evals < fine.n_evals <= 4000
    assert fine.standard_errors.max() <= 0.002 * scale


def test_a_tol_out_of_reach_uses_the_budget_and_says_so():
    found = estimate(vote_game(12, seed=0), 300, tol=1e-9)
    assert not found.converged
    assert found.n_evals == 300


def test_a_tol_out_of_reach_ends_with_exact_values_if_the_budget_allows():
    game = vote_game(10, seed=0)
    found = estimate(game, 5000, tol=1e-9)
    assert found.converged
    assert found.n_evals == 1024
    np.testing.assert_allclose(found.values, game.exact, atol=1e-13)


def test_without_tol_convergence_is_relative_to_the_largest_value():
    game = network_game(12, seed=3)
    for max_evals in (50, 100, 2000):
        found = estimate(game, max_evals)
        assert found.converged == (found.standard_errors.max() <= 0.05 * np.abs(found.values).max())
    assert found.converged
    assert not estimate(vote_game(12, seed=0), 50).converged


# --- bad input --------------------------------------------------------------------------------------------------------


def test_a_budget_below_the_least_is_refused_with_the_least():
    with pytest.raises(InputError, match=r"must be at least 22 to sample a game of 10 players\. Got 21"):
        estimate(network_game(10, seed=0), 21)


@pytest.mark.parametrize("tol", [0.0, -1.0, float("nan")])
def test_a_tol_that_is_not_positive_is_refused(tol):
    with pytest.raises(InputError, match="`tol` must be a positive number"):
        estimate(network_game(5, seed=0), 20, tol=tol)


# --- the parts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [2, 3, 6, 9])
def test_a_sampler_draws_every_pair_once_whatever_the_rounds(m):
    sampler = PairSampler(m, np.random.default_rng(0))
    rounds = sorted({min(n, n_pairs_of(m)) for n in (1, m, 3 * m, 40, 255)})
    drawn = np.concatenate([sampler.draw_up_to(n) for n in rounds])
    assert sampler.n_drawn == rounds[-1] == len(drawn)
    pairs = {frozenset({row.tobytes(), (~row).tobytes()}) for row in drawn}
    assert len(pairs) == len(drawn)


def test_single_players_are_drawn_whole_and_other_sizes_evenly():
    drawn = PairSampler(20, np.random.default_rng(0)).draw_up_to(20 + 85)
    assert np.bincount(drawn.sum(axis=1)).tolist() == [0, 20] + [10] * 8 + [5]


def test_the_prior_of_the_values_follows_from_that_of_the_game():
    m = 6
    rng = np.random.default_rng(0)
    kernel = OddKernel(linear=0.7, nugget=0.3, relevance=rng.uniform(0.05, 1.5, size=m))
    everyone = np.array(list(product([True], *[[False, True]] * (m - 1))))  # one coalition of each pair
    s = signs(everyone)
    game = kernel.smooth(s, s) + kernel.nugget * np.eye(len(s))
    weights = nugget_weights(s)  # φ = weightsᵀ o
    np.testing.assert_allclose(kernel.with_values(s), game @ weights, atol=1e-12)
    np.testing.assert_allclose(kernel.of_values(), weights.T @ game @ weights, atol=1e-12)


def test_the_weights_of_odd_parts_give_shapley_values():
    game = TableGame(np.random.default_rng(0).normal(size=128))
    everyone = members_of_all(7) > 0
    odd = (game.table - game.table[::-1]) / 2
    first = everyone[:, 0]
    np.testing.assert_allclose(nugget_weights(signs(everyone[first])).T @ odd[first], game.exact, atol=1e-13)


def test_the_gradient_of_the_loss_is_its_slope():
    rng = np.random.default_rng(0)
    s = signs(rng.random((30, 5)) > 0.5)
    odd = rng.normal(size=(30, 2))
    at = np.concatenate([PRIOR_MEANS, np.zeros(5)]) + 0.3 * rng.normal(size=8)
    slope = approx_fprime(at, lambda p: gaussian_process._loss(p, s, odd)[0], 1e-6)
    np.testing.assert_allclose(gaussian_process._loss(at, s, odd)[1], slope, rtol=1e-3, atol=1e-4)
