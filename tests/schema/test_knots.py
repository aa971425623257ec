from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcshap.exceptions import RangeWarning, SchemaError
from dcshap.schema import Category, Number, Schema
from dcshap.schema.encoding import Encoder, widths
from dcshap.schema.knots import auto_knots, choose_knots, hat_scale, hats, robust_range

KNOTS = (0.0, 1.0, 3.0, 10.0)
SCHEMA = Schema((Number("x", 0, 10, 2, KNOTS), Category("town", ("a", "b", "c"), "onehot", "b"), Number("z", -1, 1)))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-5, 15), min_size=1, max_size=20))
def test_weights_add_up_to_one_and_give_the_number_back(values):
    weights = hats(np.array(values), KNOTS)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert weights.min() >= 0
    assert np.max(np.sum(weights > 0, axis=1)) <= 2
    np.testing.assert_allclose(weights @ np.array(KNOTS), np.clip(values, 0, 10), atol=1e-12)


def test_a_linear_function_of_the_weights_goes_straight_between_knots():
    heights = np.array([1.0, -2.0, 5.0, 0.0])
    x = np.linspace(0, 10, 101)
    np.testing.assert_allclose(hats(x, KNOTS) @ heights, np.interp(x, KNOTS, heights))


def test_the_scale_is_that_of_values_even_between_neighbours():
    rng = np.random.default_rng(0)
    place = rng.uniform(0, 3, 200_000)
    weights = hats(np.interp(place, np.arange(4), KNOTS), KNOTS)
    assert np.sqrt(weights.var(axis=0).sum()) == pytest.approx(hat_scale(4), rel=0.01)


def test_knots_are_quantiles_between_the_ends():
    values = np.random.default_rng(0).exponential(size=20_000)
    low, high = robust_range(values)
    knots = choose_knots(values, 5, low=low, high=high)
    assert knots[0] == low
    assert knots[-1] == high
    np.testing.assert_allclose(knots[1:-1], np.quantile(values, [0.25, 0.5, 0.75]), rtol=0.05)


def test_a_value_that_most_rows_have_is_a_knot_and_the_others_share_the_rest():
    rng = np.random.default_rng(0)
    gains = np.where(rng.random(10_000) < 0.9, 0.0, rng.lognormal(8, 1, 10_000))
    low, high = robust_range(gains)
    knots = choose_knots(gains, 5, low=low, high=high)
    assert knots[0] == 0
    assert len(knots) == 5
    assert knots[1] > 500


def test_few_different_values_are_the_knots():
    assert choose_knots(np.array([1.0, 2, 2, 3, 4] * 9), 5, low=1, high=4) == (1, 2, 3, 4)
    assert choose_knots(np.array([0.0, 1] * 9), 5, low=0, high=1) == ()
    assert choose_knots(np.arange(100.0), 2, low=0, high=99) == ()


def test_small_tables_get_no_knots_and_large_ones_more():
    numbers = [auto_knots(n) for n in (10, 999, 1000, 10_000, 50_000, 10**6, 10**9)]
    assert numbers[:2] == [0, 0]
    assert numbers[2] >= 3
    assert numbers == sorted(numbers)
    assert numbers[-1] == numbers[-2]


def test_robust_ranges_leave_out_a_hundredth_at_either_end():
    values = np.arange(10_001.0)
    assert robust_range(values) == (100, 9900)
    assert robust_range(np.array([7.0] * 999 + [9.0])) == (7, 9)
    assert robust_range(np.array([7.0] * 5)) == (7, 7)


def test_a_column_with_knots_is_a_block_that_begins_at_its_typical_value():
    encoder = Encoder.from_schema(SCHEMA)
    assert list(widths(SCHEMA)) == [4, 3, 1]
    np.testing.assert_array_equal(encoder.encode(np.array([[2.0, 1, 0]])), np.zeros((1, 8)))
    assert len(set(encoder.coordinate_names)) == 8


@settings(max_examples=25, deadline=None)
@given(st.floats(0, 10), st.integers(0, 2), st.floats(-1, 1))
def test_what_was_encoded_is_decoded(x, town, z):
    encoder = Encoder.from_schema(SCHEMA)
    row = np.array([[x, town, z]])
    np.testing.assert_allclose(encoder.decode(encoder.encode(row)), row, atol=1e-9)


def test_a_schema_with_knots_is_written_and_read():
    clipped = Schema((Number("x", 0, 10, 2, KNOTS, clipped=True), Number("z", -1, 1)))
    assert Schema.from_yaml(clipped.to_yaml()) == clipped
    assert "knots" not in Schema((Number("z", -1, 1),)).to_yaml()
    assert clipped.differences(Schema((Number("x", 0, 10, 2), Number("z", -1, 1)))) == [
        "column 'x' differs in clipped",
        "column 'x' differs in knots",
    ]


@pytest.mark.parametrize("knots", [(0, 10), (0, 5, 5, 10), (0, 7, 5, 10), (1, 5, 10), (0, 5, 9)])
def test_knots_that_do_not_ascend_from_low_to_high_are_refused(knots):
    with pytest.raises(SchemaError, match="knots must ascend"):
        Number("x", 0, 10, 2, knots)


def test_a_schema_from_tables_may_have_knots_and_robust_ranges():
    rng = np.random.default_rng(0)
    frames = [pd.DataFrame({"pay": rng.lognormal(3, 2, 1500), "sex": rng.choice(["f", "m"], 1500)}) for _ in range(2)]
    plain = Schema.from_frames(frames)
    robust = Schema.from_frames(frames, knots="auto", robust=True)
    few = Schema.from_frames([frames[0][:900]], knots="auto", robust=True)
    assert isinstance(robust["pay"], Number)
    assert isinstance(few["pay"], Number)
    assert isinstance(plain["pay"], Number)
    assert len(robust["pay"].knots) == auto_knots(3000)
    assert few["pay"].knots == ()
    assert few["pay"].clipped
    assert plain["pay"].high > 3 * robust["pay"].high
    assert plain["pay"].knots == ()
    assert not plain["pay"].clipped


@pytest.mark.parametrize("knots", [1, 2, -3, "many", 2.5, True])
def test_a_number_of_knots_that_cannot_be_is_refused(knots):
    with pytest.raises(SchemaError, match="knots"):
        Schema.from_frames([pd.DataFrame({"x": [1.0, 2.0, 3.0]})], knots=knots)


def test_clipped_values_are_counted_and_count_as_the_ends():
    schema = Schema((Number("a", 0, 1, clipped=True), Number("b", 0, 1), Number("c", 0, 1, None, (0, 0.5, 1))))
    codes = schema.codes(np.array([[5.0, 0.5, 0.5], [0.5, 0.5, 7.0], [-3.0, 0.5, 9.0]]))
    assert schema.clipped(codes) == {"a": 2, "c": 2}
    assert schema.clipped(codes[:0]) == {}
    inside = np.array([[1.0, 0.5, 0.5], [0.5, 0.5, 1.0], [0.0, 0.5, 1.0]])
    encoder = Encoder.from_schema(schema)
    np.testing.assert_array_equal(encoder.encode(codes), encoder.encode(inside))
    with pytest.warns(RangeWarning, match="b 1"):
        schema.codes(np.array([[0.5, 2.0, 0.5]]))
