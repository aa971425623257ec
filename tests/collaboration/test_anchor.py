from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dcshap import datasets
from dcshap.collaboration import Agreement, Anchor, HorizontalParty
from dcshap.collaboration.messages import AnchorSeed
from dcshap.exceptions import InputError, PrivacyWarning, RangeWarning, SchemaError
from dcshap.schema import Category, Number, Schema
from tests.collaboration.helpers import table

SCHEMA = Schema(
    (
        Number("a", -1.0, 4.0, 0.7),
        Number("b", 1000.0, 2000.0),
        Category("c", ("x", "y", "z"), "ordinal", "x"),
        Category("d", ("x", "y", "z", "w"), "onehot", "z"),
    )
)


def draw(**settings) -> Anchor:
    given: dict[str, Any] = {"kind": "gaussian", "n_rows": 4000, "seed": 1} | settings
    return Anchor.draw(SCHEMA, **given)


def test_the_gaussian_anchor_is_isotropic():
    rows = draw().rows
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.cov(rows.T), np.eye(7), atol=0.08)


def test_the_gaussian_anchor_is_gaussian_in_every_direction():
    half = draw(n_rows=8000).rows[:4000]  # the other half are the negatives
    for direction in np.random.default_rng(0).standard_normal((20, 7)):
        assert stats.kstest(half @ direction / np.linalg.norm(direction), "norm").pvalue > 1e-4


def test_the_gaussian_anchor_is_neither_clipped_nor_rounded():
    codes = draw().codes
    assert (codes[:, 0] < -1).any()
    assert (codes[:, 0] > 4).any()
    assert (codes[:, 2] < 0).any()
    assert not np.equal(codes[:, 2], np.rint(codes[:, 2])).any()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**64),
    st.integers(12, 500),
    st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(0.1, 1e3), st.floats(0, 1)), min_size=1, max_size=4),
)
def test_the_median_of_the_gaussian_anchor_is_exactly_the_typical_row(seed, n_rows, ranges):
    columns = [Number(f"x{j}", low, low + width, low + share * width) for j, (low, width, share) in enumerate(ranges)]
    schema = Schema((*columns, Category("c", ("x", "y", "z"), "ordinal", "x")))
    anchor = Anchor.draw(schema, kind="gaussian", n_rows=n_rows, seed=seed)
    assert anchor.reference().tolist() == [*(column.typical for column in columns), 0]


def test_the_reference_of_onehot_categories_is_the_typical_one():
    for seed in range(10):
        for n_rows in (20, 2000):
            assert draw(seed=seed, n_rows=n_rows).reference()[3] == 2


@pytest.mark.parametrize("kind", ["gaussian", "uniform"])
def test_columns_come_from_streams_of_their_own(kind):
    order = ["d", "b", "a", "c"]
    one = draw(kind=kind)
    two = Anchor.draw(SCHEMA.select(order), kind=kind, n_rows=4000, seed=1)
    np.testing.assert_array_equal(two.codes, one.codes[:, [SCHEMA.names.index(name) for name in order]])
    position = [two.encoder.coordinate_names.index(name) for name in one.encoder.coordinate_names]
    np.testing.assert_array_equal(two.rows[:, position], one.rows)


@pytest.mark.parametrize("kind", ["gaussian", "uniform"])
def test_the_seed_alone_decides(kind):
    np.testing.assert_array_equal(draw(kind=kind, seed=5).rows, draw(kind=kind, seed=5).rows)
    assert not np.array_equal(draw(kind=kind, seed=5).rows, draw(kind=kind, seed=6).rows)


def test_the_uniform_anchor_fills_the_schema():
    anchor = draw(kind="uniform")
    assert -1 <= anchor.codes[:, 0].min() < -0.9
    assert 3.9 < anchor.codes[:, 0].max() <= 4
    assert np.unique(anchor.codes[:, 2]).tolist() == [0, 1, 2]
    assert np.unique(anchor.codes[:, 3]).tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(anchor.rows.mean(axis=0), 0, atol=0.05)
    np.testing.assert_allclose(anchor.rows.var(axis=0)[[0, 1, 2]], 1, atol=0.06)


@pytest.mark.parametrize("kind", ["gaussian", "uniform"])
def test_without_scaling_rows_are_the_codes(kind):
    schema = SCHEMA.select(["a", "b", "c"])
    anchor = Anchor.draw(schema, kind=kind, n_rows=100, seed=0, scaled=False)
    np.testing.assert_allclose(anchor.rows, anchor.codes)


def test_a_public_table_is_used_as_it_is_and_sets_the_scale():
    X = table(300)
    schema = Schema.from_frames([X])
    anchor = Anchor.from_table(schema, X)
    np.testing.assert_array_equal(anchor.codes, schema.codes(X))
    np.testing.assert_allclose(anchor.rows.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(anchor.rows.std(axis=0), 1)
    np.testing.assert_array_equal(anchor.reference(), schema.median(schema.codes(X)))


def test_a_public_table_must_fit_the_schema():
    X = table(300)
    with pytest.raises(SchemaError, match="'n4'"):
        Anchor.from_table(Schema.from_frames([X]), X.drop(columns="n4"))
    with pytest.warns(RangeWarning, match="n0"):
        Anchor.from_table(Schema.from_frames([X.iloc[:20]]), X)


def test_a_missing_value_is_encoded_as_the_reference():
    anchor = draw()
    absent = anchor.encode(np.array([[np.nan, 1500, 1, np.nan]]))
    np.testing.assert_array_equal(absent, anchor.encode(np.array([[0.7, 1500, 1, 2]])))


def test_a_uniform_anchor_warns_the_party_that_proposes_it():
    for kind in ("gaussian", "uniform"):
        party = HorizontalParty("north", Agreement(SCHEMA, anchor=kind))
        party.anchor_seed = 3
        if kind == "uniform":
            with pytest.warns(PrivacyWarning, match="independent component analysis"):
                message = party.send_anchor("south")
        else:
            message = party.send_anchor("south")
        assert message == AnchorSeed(3)
        assert party.send_anchor("west") == message  # and warns once


@pytest.mark.parametrize("kind", ["normal", None, 3])
def test_an_unknown_anchor_is_refused(kind):
    with pytest.raises(InputError, match="`anchor` must be 'gaussian', 'uniform' or a table"):
        HorizontalParty("north", Agreement(SCHEMA, anchor=kind)).send_anchor("south")


def test_too_few_anchor_rows_are_refused():
    with pytest.raises(InputError, match=r"more rows than .* dimensions\. Got 4 rows for 3 dimensions"):
        Agreement(SCHEMA, span="private", n_anchor=4)
    with pytest.raises(InputError, match="`n_anchor` must be a whole number"):
        Agreement(SCHEMA, n_anchor=100.0)  # type: ignore[arg-type]  # that is the point
    X = table(5)
    with pytest.raises(InputError, match="Got 5 rows for 5 dimensions"):
        Agreement(Schema.from_frames([table(50)]), span="private", anchor=X)


def test_the_anchor_of_real_data_is_typical_of_it():
    X = datasets.load_adult().data
    schema = Schema.from_frames([X])
    reference = Anchor.draw(schema, kind="gaussian", n_rows=2000, seed=0).reference()
    np.testing.assert_array_equal(reference, schema.median(schema.codes(X)))
