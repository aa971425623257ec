from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from dcshap.collaboration.mechanism import (
    MomentPrivacy,
    delta_of,
    gaussian_sigma,
)
from dcshap.collaboration.moments import Moments, class_responses, number_responses
from dcshap.exceptions import InputError, PrivacyError


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@settings(max_examples=30, deadline=None)
@given(st.floats(0.05, 15), st.floats(-9, -2))
def test_sigma_is_the_least_that_is_private(epsilon, exponent):
    delta = 10.0**exponent
    sigma = gaussian_sigma(epsilon, delta)
    # δ as the definition has it: the worst event is a half line, found here by search.
    cuts = np.linspace(-60 * sigma, 60 * sigma, 400_001)
    worst = np.max(scipy.stats.norm.sf(cuts, 1, sigma) - np.exp(epsilon) * scipy.stats.norm.sf(cuts, 0, sigma))
    assert worst == pytest.approx(delta, rel=1e-3)
    assert delta_of(0.99 * sigma, epsilon) > delta


def test_sigma_is_below_the_classical_one():
    for epsilon in (0.1, 0.5, 0.99):
        assert gaussian_sigma(epsilon, 1e-6) < np.sqrt(2 * np.log(1.25 / 1e-6)) / epsilon


@pytest.mark.parametrize("classes", [True, False])
def test_one_row_moves_the_release_by_no_more_than_its_sensitivity(classes):
    """The privacy loss of any row, computed from its own change and the noise, stays within that of sigma."""
    rng = np.random.default_rng(0)
    X = unit(np.concatenate([rng.standard_normal((300, 4)), np.eye(4), np.ones((1, 4))]))
    y = rng.uniform(0, 1, len(X))
    y[:4] = [0, 1, 0, 1]
    R = class_responses((y > 0.5).astype(int), [0, 1]) if classes else number_responses(y, low=0, high=1)
    privacy = MomentPrivacy(2.0, 3, 4, 2, 4, classes=classes)

    class Ones(np.random.Generator):
        def standard_normal(self, size=None, *_, **__):
            return np.ones(size)

    spread = privacy.noised(np.zeros(3 + 8 + 10), Ones(np.random.PCG64())) * np.sqrt(
        2
    )  # of the two other parties together
    moved = [np.linalg.norm(Moments.of([x[None]], r[None], classes=classes).flat() / spread)
             for x, r in zip(X, R, strict=True)]  # fmt: skip
    assert max(moved) <= 1 / privacy.sigma * (1 + 1e-9)
    if classes:
        assert max(moved) == pytest.approx(1 / privacy.sigma)


def test_the_others_noise_suffices_without_ones_own():
    privacy = MomentPrivacy(1.0, 4, 1, 2, 3, classes=True)
    rng = np.random.default_rng(0)
    zero = np.zeros(3 + 6 + 6)
    others = np.array([sum(privacy.noised(zero, rng) for _ in range(3)) for _ in range(4000)])
    np.testing.assert_allclose(others[:, :3].std(axis=0), privacy.deviations[0], rtol=0.05)
    np.testing.assert_allclose(others[:, 3:9].std(axis=0), privacy.deviations[1], rtol=0.05)
    np.testing.assert_allclose(others[:, [9, 12, 14]].std(axis=0), privacy.deviations[2], rtol=0.05)
    np.testing.assert_allclose(others[:, [10, 11, 13]].std(axis=0), privacy.deviations[2] / np.sqrt(2), rtol=0.05)


def test_a_member_is_not_found_more_often_than_the_guarantee_allows():
    """The best test between two neighbouring tables: its hits less e^ε times its false alarms stay below δ."""
    rng = np.random.default_rng(1)
    X = unit(rng.standard_normal((50, 3)))
    y = np.arange(50) % 2
    epsilon, delta = 0.5, 0.01
    privacy = MomentPrivacy(epsilon, 2, 1, 2, 3, classes=True, delta=delta)
    with_it, without = (Moments.of([X[:k]], class_responses(y[:k], [0, 1]), classes=True).flat() for k in (50, 49))
    # The adversary is the other party: it knows its own noise, and one share is left.
    n = 20_000
    seen = {name: np.array([privacy.noised(flat, rng) for _ in range(n)]) for name, flat in
            (("with", with_it), ("without", without))}  # fmt: skip
    spread = seen["without"].std(axis=0)
    direction = (with_it - without) / spread**2
    scores = {name: rows @ direction for name, rows in seen.items()}
    for cut in np.quantile(scores["with"], [0.1, 0.5, 0.9, 0.99]):
        hits, alarms = (np.mean(scores[name] > cut) for name in ("with", "without"))
        assert hits <= np.exp(epsilon) * alarms + delta + 0.02


def test_noise_is_fresh():
    privacy = MomentPrivacy(1.0, 2, 1, 2, 3, classes=True)
    one, other = (privacy.noised(np.zeros(15)) for _ in range(2))
    assert np.all(one != other)


def test_the_floor_is_where_the_spectrum_of_pure_noise_ends():
    privacy = MomentPrivacy(1.0, 2, 1, 2, 60, classes=True)
    rng = np.random.default_rng(0)
    size = 3 + 120 + 60 * 61 // 2
    flat = privacy.noised(np.zeros(size), rng) + privacy.noised(np.zeros(size), rng)
    noise = Moments.from_flat(flat, n_responses=2, n_coordinates=60, classes=True).products / 1000
    assert np.linalg.eigvalsh(noise)[-1] == pytest.approx(privacy.floor(1000), rel=0.15)


def table(n, p, strength, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = rng.standard_normal((n, p))
    X[:, 0] += strength * y
    return unit(X), y


def released(privacy, X, y, seed=0):
    rng = np.random.default_rng(seed)
    flat = Moments.of([X], class_responses(y, [0, 1]), classes=True).flat()
    flat = privacy.noised(flat, rng) + privacy.noised(np.zeros_like(flat), rng)
    return Moments.from_flat(flat, n_responses=2, n_coordinates=privacy.n_coordinates, classes=True)


def test_enough_rows_pass_and_too_few_are_refused_with_the_number_needed():
    privacy = MomentPrivacy(1.0, 2, 1, 2, 6, classes=True)
    privacy.require_signal(released(privacy, *table(20_000, 6, 2.0)))
    with pytest.raises(PrivacyError, match=r"About \d+ rows would be needed") as error:
        privacy.require_signal(released(privacy, *table(60, 6, 2.0)))
    needed = int(str(error.value).split("About ")[1].split()[0])
    assert 200 < needed < 20_000
    privacy.require_signal(released(privacy, *table(3 * needed, 6, 2.0)))


def test_a_class_that_the_noise_covers_is_left_out():
    X, y = table(4000, 6, 2.0)
    labels = np.where(np.arange(len(y)) < 5, 2, y)
    privacy = MomentPrivacy(1.0, 2, 1, 3, 6, classes=True)
    for seed in range(5):
        flat = Moments.of([X], class_responses(labels, [0, 1, 2]), classes=True).flat()
        noisy = privacy.noised(flat, np.random.default_rng(seed))
        total = Moments.from_flat(noisy, n_responses=3, n_coordinates=6, classes=True)
        assert privacy.restored(total).present().sums.shape == (2, 6)


def test_pure_noise_is_refused_nearly_always():
    privacy = MomentPrivacy(1.0, 2, 1, 2, 20, classes=True)
    X, y = table(800, 20, 0.0)
    passed = 0
    for seed in range(40):
        try:
            privacy.require_signal(released(privacy, X, y, seed))
            passed += 1
        except PrivacyError:
            pass
    assert passed <= 4


def test_rows_beyond_the_radius_are_pulled_back_to_it():
    privacy = MomentPrivacy(1.0, 2, 4, 2, 2, classes=True)
    rows = privacy.bounded(np.array([[3.0, 4.0], [0.0, 0.0], [0.0, -1.0]]))
    np.testing.assert_allclose(rows, np.array([[0.6, 0.8], [0, 0], [0, -0.5]]))


@pytest.mark.parametrize("classes", [True, False])
def test_with_little_noise_the_moments_come_back(classes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3)) * 0.1
    R = class_responses((X[:, 0] > 0).astype(int), [0, 1]) if classes else number_responses(X[:, 0], low=-1, high=1)
    privacy = MomentPrivacy(1e4, 2, 5, 2, 3, classes=classes)
    flat = Moments.of([privacy.bounded(X)], R, classes=classes).flat()
    noisy = Moments.from_flat(privacy.noised(flat), n_responses=2, n_coordinates=3, classes=classes)
    np.testing.assert_allclose(privacy.restored(noisy).covariance, np.cov(X.T, bias=True), atol=0.002)


def test_bad_settings_are_refused():
    for epsilon in (0, -1, np.inf, np.nan):
        with pytest.raises(InputError, match="epsilon"):
            gaussian_sigma(epsilon)
    with pytest.raises(InputError, match="delta"):
        gaussian_sigma(1.0, 0.0)
    with pytest.raises(InputError, match="2 parties"):
        MomentPrivacy(1.0, 1, 1, 2, 3, classes=True).noised(np.zeros(15))
    with pytest.raises(InputError, match="15 numbers"):
        MomentPrivacy(1.0, 2, 1, 2, 3, classes=True).noised(np.zeros(14))
