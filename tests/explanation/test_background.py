from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcshap import HorizontalCollaboration, datasets, disagreement
from dcshap.collaboration.mechanism import MomentPrivacy
from dcshap.collaboration.moments import Moments, class_responses
from dcshap.exceptions import InputError
from dcshap.explanation.background import draw_background
from dcshap.schema import Schema
from dcshap.schema.encoding import Encoder


def table(n: int = 3000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal(n)
    town = np.clip(np.rint(latent + 0.7 * rng.standard_normal(n) + 1), 0, 3).astype(int)
    return pd.DataFrame({
        "age": np.clip(40 + 12 * latent + 5 * rng.standard_normal(n), 18, 90),
        "gain": np.where(rng.random(n) < 0.85, 0.0, rng.lognormal(7 + latent, 0.8)),
        "town": pd.Categorical(np.array(["a", "b", "c", "d"])[town]),
        "size": pd.Categorical(np.clip(np.rint(2 + latent), 0, 4).astype(int), categories=range(5)),
    })  # fmt: skip


def setting(knots: int = 0):
    X = table()
    schema = Schema.from_frames([X], onehot=["town"], knots=knots, robust=True)
    encoder = Encoder.from_schema(schema)
    encoded = encoder.encode(schema.codes(X))
    y = (encoded[:, 0] > 0).astype(int)
    return encoder, encoded, Moments.of([encoded], class_responses(y, [0, 1]), classes=True)


@pytest.mark.parametrize("knots", [0, 6])
def test_means_and_covariances_are_those_of_the_rows(knots):
    encoder, _, moments = setting(knots)
    drawn = encoder.encode(draw_background(encoder, moments, n_rows=4000, seed=1))
    spread = np.sqrt(np.diag(moments.covariance))
    assert np.abs((drawn.mean(axis=0) - moments.mean) / spread).max() < 0.12
    difference = np.cov(drawn.T, bias=True) - moments.covariance
    assert np.linalg.norm(difference) < 0.2 * np.linalg.norm(moments.covariance)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 60), st.integers(0, 10_000), st.sampled_from([0, 5]))
def test_every_cell_is_one_that_the_schema_allows(n, seed, knots):
    encoder, _, moments = setting(knots)
    codes = draw_background(encoder, moments, n_rows=n, seed=seed)
    assert codes.shape == (n, 4)
    schema = encoder.schema
    np.testing.assert_allclose(schema.codes(schema.frame(codes)), codes)
    assert schema.clipped(codes) == {}


def test_the_same_seed_gives_the_same_rows_in_any_order_of_columns():
    encoder, _, moments = setting()
    rows = draw_background(encoder, moments, n_rows=50, seed=3)
    np.testing.assert_array_equal(rows, draw_background(encoder, moments, n_rows=50, seed=3))
    assert not np.array_equal(rows, draw_background(encoder, moments, n_rows=50, seed=4))
    names = ["town", "size", "gain", "age"]
    schema = encoder.schema.select(names)
    other = Encoder.from_schema(schema)
    X = table()
    encoded = other.encode(schema.codes(X))
    turned = Moments.of([encoded], class_responses((encoded[:, -1] > 0).astype(int), [0, 1]), classes=True)
    again = draw_background(other, turned, n_rows=50, seed=3)
    np.testing.assert_allclose(again[:, [3, 2, 0, 1]], rows, atol=1e-6)


def test_rounding_errors_in_the_moments_change_nothing():
    encoder, _, moments = setting()
    rng = np.random.default_rng(0)
    shaken = Moments(
        moments.responses, moments.sums * (1 + 1e-14 * rng.standard_normal(moments.sums.shape)), moments.products, True
    )
    one, other = (draw_background(encoder, m, n_rows=200, seed=3) for m in (moments, shaken))
    np.testing.assert_array_equal(one, other)


def test_a_value_that_most_rows_have_is_drawn_as_often():
    encoder, _, moments = setting(6)
    gains = draw_background(encoder, moments, n_rows=2000, seed=1)[:, 1]
    assert np.mean(gains == 0) == pytest.approx(0.85, abs=0.06)


def test_private_moments_give_valid_rows_too():
    encoder, encoded, moments = setting()
    privacy = MomentPrivacy(1.0, 2, 4, 2, encoder.n_coordinates, classes=True)
    y = (encoded[:, 0] > 0).astype(int)
    flat = Moments.of([privacy.bounded(encoded)], class_responses(y, [0, 1]), classes=True).flat()
    rng = np.random.default_rng(0)
    noisy = Moments.from_flat(
        privacy.noised(flat, rng), n_responses=2, n_coordinates=encoder.n_coordinates, classes=True
    )
    codes = draw_background(encoder, privacy.restored(noisy), n_rows=500, seed=1)
    encoder.schema.codes(encoder.schema.frame(codes))
    assert np.abs(encoder.encode(codes).mean(axis=0) - moments.mean).max() < 0.4


def test_what_does_not_fit_is_refused():
    encoder, _, moments = setting()
    with pytest.raises(InputError, match="at least one row"):
        draw_background(encoder, moments, n_rows=0, seed=1)
    with pytest.raises(InputError, match="coordinates"):
        draw_background(setting(5)[0], moments, n_rows=5, seed=1)


# --- explanations against a background --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run():
    heart = datasets.load_heart()
    north, south = datasets.label_skew(heart.target)
    X, y = heart.data, heart.target
    data = {"north": (X.iloc[north], y.iloc[north]), "south": (X.iloc[south], y.iloc[south])}
    return HorizontalCollaboration(random_state=0).fit(data), X.head(6)


def test_values_against_a_background_are_the_mean_of_those_against_its_rows(run):
    collaboration, X = run
    found = collaboration.explain(X, party="north", reference="background", n_background=7)
    rows = found.reference
    single = [collaboration.explain(X, party="north", reference=rows.iloc[[at]]) for at in range(7)]
    assert np.allclose(found.values, np.mean([each.values for each in single], axis=0), rtol=0, atol=1e-14)
    assert np.allclose(found.base_values[0], collaboration.predict_proba(rows, party="north").mean(axis=0), atol=1e-12)
    assert np.allclose(found.predictions, collaboration.predict_proba(X, party="north"), atol=1e-12)


def test_all_parties_draw_the_same_background_and_explain_alike(run):
    collaboration, X = run
    found = {name: collaboration.explain(X, party=name, reference="background") for name in collaboration.parties_}
    assert len({each.reference_fingerprint for each in found.values()}) == 1
    assert disagreement(found).rmse < 1e-12
    assert len(found["north"].reference) == 100


def test_a_background_comes_back_from_disk(run, tmp_path):
    collaboration, X = run
    collaboration.save(tmp_path / "run")
    again = HorizontalCollaboration.load(tmp_path / "run")
    options: dict[str, Any] = {"party": "south", "reference": "background", "n_background": 5}
    assert np.array_equal(again.explain(X, **options).values, collaboration.explain(X, **options).values)


def test_a_table_of_rows_serves_as_background(run):
    collaboration, X = run
    found = collaboration.explain(X, party="north", reference=X.head(3))
    assert len(found.reference) == 3
    assert collaboration.disagreement(X.head(2), reference="background").rmse < 1e-12


def test_without_moments_a_background_cannot_be_drawn(run):
    _, X = run
    private = HorizontalCollaboration(span="random", random_state=0)
    heart = datasets.load_heart()
    private.fit({"a": (heart.data[:100], heart.target[:100]), "b": (heart.data[100:], heart.target[100:])})
    with pytest.raises(InputError, match="span='supervised'"):
        private.explain(X, party="a", reference="background")
