from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcshap.exceptions import SchemaError
from dcshap.schema import Category, Number, Schema
from dcshap.schema.encoding import Encoder, widths

SCHEMA = Schema(
    (
        Number("age", 20, 80, 35),
        Category("town", ("a", "b", "c", "d"), "onehot", "c"),
        Category("size", ("small", "middle", "large"), "ordinal", "large"),
    )
)


def even_rows(schema: Schema, n: int = 60_000) -> np.ndarray:
    """Rows spread evenly over every column by themselves."""
    columns: list[Any] = []
    for column in schema.columns:
        if isinstance(column, Number):
            columns.append(np.linspace(column.low, column.high, n))
        else:
            columns.append(np.arange(n) % len(column.categories))
    return np.stack(columns, axis=1).astype(float)


def test_every_raw_column_keeps_track_of_its_coordinates():
    encoder = Encoder.from_schema(SCHEMA)
    assert list(widths(SCHEMA)) == [1, 4, 1]
    assert encoder.blocks == (slice(0, 1), slice(1, 5), slice(5, 6))
    assert encoder.n_coordinates == 6
    assert len(set(encoder.coordinate_names)) == 6


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2), st.integers(0, 2**32 - 1))
def test_a_change_in_one_raw_column_changes_its_coordinates_only(column, seed):
    rng = np.random.default_rng(seed)
    encoder = Encoder.from_schema(SCHEMA)
    row = np.array([[rng.uniform(20, 80), rng.integers(4), rng.integers(3)]])
    other = row.copy()
    other[0, column] = [rng.uniform(20, 80), (row[0, 1] + 1) % 4, (row[0, 2] + 1) % 3][column]
    changed = np.flatnonzero(encoder.encode(row)[0] != encoder.encode(other)[0])
    block = encoder.blocks[column]
    assert set(changed) <= set(range(block.start, block.stop))
    assert len(changed) == (2 if column == 1 else 1)


def test_evenly_spread_rows_have_unit_variance_per_raw_column_around_the_middle():
    encoder = Encoder.from_schema(SCHEMA, around="middle")
    encoded = encoder.encode(even_rows(SCHEMA))
    np.testing.assert_allclose(encoded.mean(axis=0), 0, atol=1e-4)
    for block in encoder.blocks:
        assert encoded[:, block].var(axis=0).sum() == pytest.approx(1, rel=1e-3)


def test_the_typical_row_is_the_origin():
    encoder = Encoder.from_schema(SCHEMA)
    np.testing.assert_array_equal(encoder.encode(np.array([[35.0, 2, 2]])), np.zeros((1, 6)))


def test_a_onehot_block_holds_one_indicator():
    raw = Encoder.unscaled(SCHEMA).encode(np.array([[35.0, 0, 2], [20, 3, 0]]))
    assert raw.tolist() == [[35, 1, 0, 0, 0, 2], [20, 0, 0, 0, 1, 0]]


def test_given_rows_scale_to_mean_zero_and_unit_variance():
    rng = np.random.default_rng(0)
    codes = np.stack([rng.normal(50, 3, 500), rng.integers(4, size=500), rng.integers(3, size=500)], axis=1)
    encoder = Encoder.from_codes(SCHEMA, codes)
    encoded = encoder.encode(codes)
    np.testing.assert_allclose(encoded.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose([encoded[:, b].var(axis=0).sum() for b in encoder.blocks], 1)


def test_a_column_that_is_constant_in_given_rows_is_refused():
    with pytest.raises(SchemaError, match="'size' must vary"):
        Encoder.from_codes(SCHEMA, np.array([[20.0, 0, 1], [30, 1, 1]]))


@pytest.mark.parametrize("make", [Encoder.from_schema, Encoder.unscaled])
def test_decoding_undoes_encoding(make):
    codes = even_rows(SCHEMA, 97)
    encoder = make(SCHEMA)
    np.testing.assert_allclose(encoder.decode(encoder.encode(codes)), codes, atol=1e-12)


def test_column_order_only_permutes_coordinates():
    table = pd.DataFrame({"age": [20.0, 50, 80], "town": list("abd"), "size": ["small", "large", "middle"]})
    turned = SCHEMA.select(["size", "town", "age"])
    one, two = Encoder.from_schema(SCHEMA), Encoder.from_schema(turned)
    position = [two.coordinate_names.index(name) for name in one.coordinate_names]
    np.testing.assert_array_equal(one.encode(SCHEMA.codes(table)), two.encode(turned.codes(table))[:, position])


def test_spans_are_the_widths_of_the_ranges():
    assert Encoder.from_schema(SCHEMA).spans().tolist() == [60, 3, 2]
