"""Each attack breaks a release that was made to be broken, and finds nothing beyond chance in pure noise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from dcshap.audit.attacks.components import chance_level, components_of, likeness
from dcshap.audit.attacks.decoding import forest_decoded, integer_decoded, linearly_decoded
from dcshap.audit.attacks.extremes import bounds_of_one_row, small_classes
from dcshap.audit.attacks.known_rows import read_with_known
from dcshap.audit.attacks.lattice import descended, found_columns, integer_basis, integer_rows, lattice_gap
from dcshap.audit.attacks.linkage import linked
from dcshap.audit.attacks.lll import reduced_rows, reduced_with_change
from dcshap.audit.attacks.membership import found_at, found_by_model, found_by_moments
from dcshap.audit.attacks.population import read_by_population
from dcshap.audit.attacks.retraining import dimensions_seen
from dcshap.exceptions import InputError
from dcshap.schema import Schema
from tests.audit.releases import integers, mixed, noise, r2


def standardised(rows):
    return (rows - rows.mean(axis=0)) / rows.std(axis=0)


# --- 1. hidden lattice -------------------------------------------------------------------------------------------


def test_integer_relations_of_exact_rows_stand_out_and_their_columns_are_found():
    pytest.importorskip("fpylll")
    rows = integers(120)
    released, _ = mixed(rows, 4)
    assert lattice_gap(released[:40]).beyond > 2
    basis = integer_basis(released[:40])
    assert basis.shape[1] == rows.shape[1]
    further = integer_rows(released, basis)
    found = found_columns(descended(further - further[0])[1:], rows)
    assert len(found) >= 4


def test_no_integer_relation_of_noise_stands_out():
    pytest.importorskip("fpylll")
    beyond = [lattice_gap(noise(40, 4, seed=seed)).beyond for seed in range(4)]
    assert max(beyond) < 0.5
    assert not integer_basis(noise(40, 4)).shape[1]


def test_reduced_rows_are_the_same_with_the_change_of_basis_that_leads_to_them():
    pytest.importorskip("fpylll")
    basis = np.concatenate([np.eye(30), np.rint(noise(30, 4) * 2.0**20)], axis=1)
    rows, change = reduced_with_change(basis)
    np.testing.assert_array_equal(change @ basis, rows)
    np.testing.assert_array_equal(reduced_rows(basis), rows)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setattr("dcshap.audit.attacks.lll._fpylll", lambda: None)
    with pytest.raises(InputError, match=r"dcshap\[audit\]"):
        lattice_gap(noise(40, 2))


# --- 2. decoding with the map ----------------------------------------------------------------------------------


def test_whole_rows_are_decoded_exactly_from_half_as_many_dimensions():
    pytest.importorskip("fpylll")
    rows = integers(200)
    released, weights = mixed(rows, 3)
    found = integer_decoded(released, weights, center=rows.mean(axis=0), spread=rows.std(axis=0))
    np.testing.assert_array_equal(found, rows)


def test_no_row_is_decoded_from_noise():
    pytest.importorskip("fpylll")
    rows = integers(200)
    released, weights = mixed(rows, 3)
    drowned = released.std() * noise(200, 3)
    found = integer_decoded(drowned, weights, center=rows.mean(axis=0), spread=rows.std(axis=0), noise=released.std())
    assert not (found == rows).all(axis=1).any()


def test_linear_decoding_is_the_regression_of_rows_on_their_release():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40_000, 5)) @ rng.standard_normal((5, 5))
    released, weights = mixed(rows, 2)
    released = released + 0.5 * noise(len(rows), 2)
    found = linearly_decoded(released, weights, np.zeros(2), rows, noise=0.5)
    design = np.column_stack([np.ones(len(rows)), released])
    wanted = design @ np.linalg.lstsq(design, rows)[0]
    np.testing.assert_allclose(found, wanted, atol=0.05)


def test_a_forest_reads_what_is_not_linear_and_nothing_from_noise():
    rng = np.random.default_rng(0)
    hidden = rng.uniform(-1, 1, (1200, 1))
    released = np.concatenate([np.cos(3 * hidden), np.sin(3 * hidden) ** 2], axis=1)
    read = forest_decoded(released[600:], released[:600], hidden[:600] ** 2)
    assert r2(read, hidden[600:] ** 2)[0] > 0.8
    assert r2(forest_decoded(noise(600, 2), noise(600, 2, seed=5), hidden[:600] ** 2), hidden[600:] ** 2)[0] < 0.05


# --- 3. components ---------------------------------------------------------------------------------------------


def test_single_columns_are_found_in_mixed_rows_and_none_in_noise():
    rows = np.random.default_rng(0).exponential(size=(2000, 4))
    released, _ = mixed(rows, 4)
    assert likeness(components_of(released), rows).min() > 0.95
    found = components_of(noise(2000, 4))
    assert likeness(found, rows).max() < 1.5 * chance_level(found, rows)
    assert chance_level(found, rows) < 0.15


# --- 4. linkage ------------------------------------------------------------------------------------------------


def test_exact_reconstructions_are_linked_and_noise_is_linked_as_often_as_chance_has_it():
    rows = np.random.default_rng(0).standard_normal((500, 5))
    at = np.arange(500)
    assert linked(rows, at, rows, weights=np.ones(5)) == 1
    assert linked(noise(500, 5), at, rows, weights=np.ones(5)) < 0.02


def test_rows_that_are_alike_share_the_hit():
    rows = np.zeros((4, 2))
    assert linked(rows, np.arange(4), rows, weights=np.ones(2)) == pytest.approx(0.25)


# --- 5. a public sample ----------------------------------------------------------------------------------------


def population(n, seed):
    rng = np.random.default_rng(seed)
    return standardised(
        np.stack(
            [rng.exponential(size=n), rng.binomial(1, 0.15, n), rng.beta(0.3, 0.9, n), rng.lognormal(size=n)], axis=1
        )
    )


def test_a_public_sample_reads_rows_behind_an_unknown_map_and_nothing_of_noise():
    rows, public = population(1500, 0), population(1500, 1)
    released, _ = mixed(rows, 4)
    assert r2(read_by_population(released, public), rows).mean() > 0.6
    assert r2(read_by_population(noise(1500, 4), public), rows).max() < 0.05


# --- 6. known rows ---------------------------------------------------------------------------------------------


def test_a_few_known_rows_give_the_others_away_and_nothing_of_noise():
    rows = standardised(integers(300))
    released, _ = mixed(rows, 6)
    assert r2(read_with_known(released[20:], rows[:20], of=released[:20]), rows[20:]).min() > 0.99
    drowned = noise(300, 6)
    assert r2(read_with_known(drowned[20:], rows[:20], of=drowned[:20]), rows[20:]).mean() < 0.05


# --- 7. retraining ---------------------------------------------------------------------------------------------


def test_new_maps_show_new_dimensions_and_kept_ones_none():
    rows = standardised(integers(300))
    first, second = mixed(rows, 2, seed=1)[0], mixed(rows, 2, seed=2)[0]
    assert dimensions_seen([first, second]) == 4
    assert dimensions_seen([first, first]) == 2
    assert dimensions_seen([]) == 0


# --- 9. membership ---------------------------------------------------------------------------------------------


def test_a_model_that_learns_labels_by_heart_gives_members_away_and_one_of_two_weights_does_not():
    rng = np.random.default_rng(0)
    points, labels = rng.standard_normal((400, 8)), rng.integers(0, 2, 400)
    assert found_by_model(RandomForestClassifier(30, random_state=0), points, labels) > 0.2
    assert found_by_model(LogisticRegression(), points, labels) < 0.04


def test_members_of_a_small_sum_of_many_columns_are_found_and_those_of_a_large_one_are_not():
    rng = np.random.default_rng(0)
    assert found_by_moments(rng.standard_normal((60, 30))) > 0.5
    assert found_by_moments(rng.standard_normal((6000, 2))) < 0.04


def test_chance_finds_as_many_members_as_there_are_false_alarms():
    rng = np.random.default_rng(0)
    assert found_at(rng.standard_normal(20_000), rng.standard_normal(20_000)) == pytest.approx(0.01, abs=0.004)


# --- 10. labels and schema -------------------------------------------------------------------------------------


def test_bounds_that_one_row_attains_and_rare_classes_are_counted():
    schema = Schema.from_frames([pd.DataFrame({"a": [0.0, 1.0, 1.0, 2.0, 2.0], "b": [0.0, 1.0, 2.0, 2.0, 9.0]})])
    codes = np.array([[0, 0], [1, 1], [1, 2], [2, 2], [2, 9]], dtype=float)
    assert bounds_of_one_row(codes, schema) == {"a": 1, "b": 2}
    assert small_classes(np.array([0] * 9 + [1] * 10)) == 1
