from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from dcshap.collaboration import noise
from dcshap.collaboration.noise import frozen_noise, noise_scale, record_digests, text_digests
from dcshap.exceptions import InputError


def draws(records, d=3, seed=7, name="map"):
    return frozen_noise(record_digests(records, private_seed=seed), np.ones(d), private_seed=seed, map_name=name)


def test_the_block_function_is_that_of_rfc_8439():
    key = np.frombuffer(bytes(range(32)), dtype="<u4")
    nonce = np.frombuffer(bytes.fromhex("000000090000004a00000000"), dtype="<u4")[None]
    expected = (
        "e4e7f110 15593bd1 1fdd0f50 c47120a3 c7f4d1c7 0368c033 9aaa2204 4e6cd4c3 "
        "466482d2 09aa9f07 05d7c214 a2028bd9 d19c12b5 b94e16de e883d0cb 4e3c50a2"
    )
    assert [f"{word:08x}" for word in noise._chacha20(key, 1, nonce)[0]] == expected.split()


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.integers(0, 39), st.integers(1, 20))
def test_a_record_has_the_same_noise_whatever_it_comes_with(n, at, d):
    records = np.random.default_rng(0).integers(0, 5, (40, 4)).astype(float)
    together = draws(records, d)
    np.testing.assert_array_equal(draws(records[[at]], d)[0], together[at])
    np.testing.assert_array_equal(draws(records[:n], d), together[:n])


def test_equal_records_share_their_noise_and_others_do_not():
    records = np.array([[1.0, 0.0, np.nan], [1.0, -0.0, np.nan], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    found = draws(records)
    np.testing.assert_array_equal(found[0], found[1])
    assert len(np.unique(found, axis=0)) == 3


def test_another_seed_or_map_gives_other_noise():
    records = np.random.default_rng(0).standard_normal((500, 4))
    first = draws(records).ravel()
    for other in (draws(records, seed=8), draws(records, name="another")):
        assert abs(np.corrcoef(first, other.ravel())[0, 1]) < 0.1


def test_draws_are_standard_normal_and_independent():
    found = draws(np.arange(40_000.0)[:, None], d=10)
    assert scipy.stats.kstest(found.ravel(), "norm").pvalue > 0.001
    correlations = np.corrcoef(np.concatenate([found, found**2], axis=1).T)
    assert np.abs(correlations - np.eye(20)).max() < 0.025
    # Neighbouring records are unrelated too.
    assert abs(np.corrcoef(found[1:, 0], found[:-1, 0])[0, 1]) < 0.025


def test_scale_is_per_dimension():
    scaled = frozen_noise(
        record_digests(np.arange(20_000.0)[:, None], private_seed=1), np.array([1, 0.1]), private_seed=1, map_name="m"
    )
    np.testing.assert_allclose(scaled.std(axis=0), [1, 0.1], rtol=0.03)


def test_the_scale_is_a_fraction_of_the_spread_and_the_same_under_any_rotation():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((300, 3)) * [1.0, 2.0, 0.1] + 7
    turned = rows @ np.linalg.qr(rng.standard_normal((3, 3)))[0]
    expected = 0.2 * np.sqrt(rows.var(axis=0).mean())
    np.testing.assert_allclose(noise_scale(rows), expected)
    np.testing.assert_allclose(noise_scale(turned), expected)
    np.testing.assert_allclose(noise_scale(np.ones((4, 2)), fraction=0.5, at_least=3.0), 1.5)
    for fraction in (-0.1, np.nan, np.inf):
        with pytest.raises(InputError, match="noise"):
            noise_scale(rows, fraction=fraction)


def test_records_may_be_named_by_identifiers():
    digests = text_digests(["a", "b", "a"], private_seed=3)
    np.testing.assert_array_equal(digests[0], digests[2])
    assert not np.array_equal(digests[0], digests[1])
    assert not np.array_equal(digests, text_digests(["a", "b", "a"], private_seed=4))


def test_different_records_have_different_digests():
    grid = np.stack(np.meshgrid(np.arange(300.0), np.arange(300.0)), axis=-1).reshape(-1, 2)
    assert len(np.unique(record_digests(grid, private_seed=0), axis=0)) == len(grid)


def test_noise_does_not_depend_on_where_a_table_is_cut_into_chunks():
    records = np.random.default_rng(0).integers(0, 50, (2 * noise.CHUNK + 3, 12)).astype(float)
    together = draws(records, d=4)
    for start in (1, noise.CHUNK - 2, noise.CHUNK, 2 * noise.CHUNK):
        np.testing.assert_array_equal(draws(records[start:], d=4), together[start:])
