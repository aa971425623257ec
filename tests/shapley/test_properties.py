"""The axioms of Shapley and Owen values, on random games."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dcshap._typing import FloatArray
from dcshap.shapley import shapley_values

# Compiling and importing are slow the first time, which says nothing about the games.
relaxed = settings(deadline=None, max_examples=60)

sizes = st.integers(1, 7)
numbers = st.floats(-10, 10, allow_subnormal=False)


@st.composite
def games(draw, *, n_outputs: int = 2):
    """A table of all coalitions' values, as a model of zeros and ones."""
    n_players = draw(sizes)
    return draw(arrays(float, (2**n_players, n_outputs), elements=numbers))


def n_players_of(table: FloatArray) -> int:
    return len(table).bit_length() - 1


def model_of(table: FloatArray) -> Callable[[FloatArray], FloatArray]:
    places = 2 ** np.arange(n_players_of(table))
    return lambda rows: np.asarray(table[(rows @ places).astype(int)])


def attributed(table: FloatArray, **options: Any) -> FloatArray:
    """The values of the game in the table, shape (n_players, n_outputs)."""
    m = n_players_of(table)
    return np.asarray(shapley_values(model_of(table), np.ones((1, m)), np.zeros(m), **options).values[0])


@st.composite
def partitions(draw, n: int):
    """Blocks of n players."""
    block_of = draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n))
    return [[i for i in range(n) if block_of[i] == k] for k in sorted(set(block_of))]


@relaxed
@given(games())
def test_values_add_up_to_the_grand_coalitions_gain(table):
    np.testing.assert_allclose(attributed(table).sum(axis=0), table[-1] - table[0], atol=1e-10)


@relaxed
@given(games(), st.data())
def test_players_who_contribute_alike_get_alike(table, data):
    m = n_players_of(table)
    assume(m >= 2)
    i, j = data.draw(st.permutations(range(m)))[:2]
    masks = np.arange(len(table))
    swapped = masks & ~(1 << i | 1 << j) | (masks >> i & 1) << j | (masks >> j & 1) << i
    values = attributed((table + table[swapped]) / 2)
    np.testing.assert_allclose(values[i], values[j], atol=1e-10)


@relaxed
@given(games(), st.data())
def test_a_player_who_always_adds_the_same_gets_just_that(table, data):
    i = data.draw(st.integers(0, n_players_of(table) - 1))
    gain = data.draw(numbers)
    masks = np.arange(len(table))
    values = attributed(table[masks & ~(1 << i)] + gain * (masks >> i & 1)[:, None])
    np.testing.assert_allclose(values[i], gain, atol=1e-10)


@relaxed
@given(games(n_outputs=4), numbers)
def test_values_are_linear_in_the_game(table, factor):
    first, second = table[:, :2], table[:, 2:]
    expected = attributed(first) + factor * attributed(second)
    np.testing.assert_allclose(attributed(first + factor * second), expected, atol=1e-9)


@relaxed
@given(games(), st.data())
def test_renaming_players_renames_their_values(table, data):
    m = n_players_of(table)
    order = np.array(data.draw(st.permutations(range(m))))
    masks = np.arange(len(table))
    renamed = sum((masks >> new & 1) << old for new, old in enumerate(order))
    np.testing.assert_allclose(attributed(table[renamed]), attributed(table)[order], atol=1e-10)


@relaxed
@given(games(), st.data())
def test_a_group_of_columns_is_one_player_of_the_game_between_groups(table, data):
    groups = data.draw(partitions(n_players_of(table)))
    together = np.array([sum(1 << i for i in group) for group in groups])
    masks = np.arange(2 ** len(groups))[:, None]
    between = table[((masks >> np.arange(len(groups)) & 1) * together).sum(axis=1)]
    np.testing.assert_allclose(attributed(table, groups=groups), attributed(between), atol=1e-10)


@relaxed
@given(games(), st.data())
def test_owen_values_of_a_block_add_up_to_its_value_in_the_game_between_blocks(table, data):
    blocks = data.draw(partitions(n_players_of(table)))
    owen = attributed(table, index="owen", blocks=blocks)
    totals = np.array([owen[block].sum(axis=0) for block in blocks])
    np.testing.assert_allclose(totals, attributed(table, groups=blocks), atol=1e-10)


@relaxed
@given(games())
def test_owen_values_are_shapley_values_where_blocks_are_single_players_or_everybody(table):
    players = list(range(n_players_of(table)))
    expected = attributed(table)
    np.testing.assert_allclose(attributed(table, index="owen", blocks=[[i] for i in players]), expected, atol=1e-10)
    np.testing.assert_allclose(attributed(table, index="owen", blocks=[players]), expected, atol=1e-10)


@relaxed
@given(games(), st.data())
def test_owen_values_take_the_evaluations_that_were_counted_and_no_more(table, data):
    m = n_players_of(table)
    blocks = data.draw(partitions(m))
    seen: list[int] = []

    def counting(rows):
        seen.append(len(rows))
        return model_of(table)(rows)

    explanation = shapley_values(counting, np.ones((1, m)), np.zeros(m), index="owen", blocks=blocks)
    p = len(blocks)
    counted = sum(2 ** (len(block) + p - 1) for block in blocks) - (p - 1) * 2**p
    assert explanation.n_evals.tolist() == [counted]
    assert sum(seen) == counted + 2  # the two ends are asked for twice, to see whether the model repeats itself
