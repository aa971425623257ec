"""Backgrounds in vertical collaborations: against direct computation, in every view, and what leaves for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from dcshap import VerticalCollaboration, shapley_values
from dcshap.exceptions import InputError, ProtocolError
from dcshap.explanation import joint, views
from dcshap.explanation.reference import MOST_ROWS, fingerprint_of, reference_rows
from tests.explanation.conftest import columns_of, split
from tests.explanation.test_views import codes_and_reference, composed, spans

M = 4
AGAINST: dict[str, Any] = {"reference": "background", "n_background": M}


def backgrounds(run, n_rows=M):
    """Every party's rows of the background, as codes."""
    return {name: reference_rows(party, "background", n_rows) for name, party in run.parties_.items()}


@pytest.fixture(scope="module", params=spans())
def noisy(request, heart):
    X, y = heart
    run = VerticalCollaboration(KNeighborsClassifier(7), random_state=0, **spans()[request.param])
    return run.fit(split(X.iloc[20:], 3), y)


# --- the values -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["knn", "logistic"])
@pytest.mark.parametrize(("view", "index"), [("full", "shapley"), ("party0", "shapley"), ("full", "owen")])
def test_values_are_those_of_the_composed_model_averaged_over_the_rows(exact_verticals, heart, model, view, index):
    run, X = exact_verticals[2, model], heart[0].head(2)
    codes, _ = codes_and_reference(run, X, 2)
    rows = np.concatenate(list(backgrounds(run).values()), axis=1)
    widths = [len(held) for held in columns_of(2).values()]
    first, second = list(range(widths[0])), list(range(widths[0], sum(widths)))
    game: dict[str, Any] = {"blocks": [first, second], "index": "owen"} if index == "owen" else {"method": "exact"}
    if view != "full":
        game["groups"] = [*([j] for j in first), second]
    each = [shapley_values(composed(run, 2), codes, row, **game) for row in rows]
    found = run.explain(split(X, 2), view=view, index=index, **AGAINST)
    np.testing.assert_allclose(found.values, np.mean([one.values for one in each], axis=0), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.base_values[0], composed(run, 2)(rows).mean(axis=0), rtol=0, atol=1e-9)
    assert found.exact


def test_with_noise_the_base_value_is_the_average_prediction_of_the_rows_as_they_are_sent(noisy, heart):
    points = np.concatenate(
        [noisy.parties_[name].noisy_codes(backgrounds(noisy)[name]) for name in noisy.analyst_.widths_], axis=1
    )
    expected = noisy.analyst_.model_.predict_proba(points).mean(axis=0)
    for index in ("shapley", "owen"):
        found = noisy.explain(split(heart[0].head(2), 3), index=index, **AGAINST)
        np.testing.assert_allclose(found.base_values, np.tile(expected, (2, 1)), rtol=0, atol=1e-12)


def test_views_are_parts_of_the_full_one_and_every_view_sums_to_the_prediction(noisy, heart):
    records = split(heart[0].head(3), 3)
    predictions = noisy.predict_proba(records)
    full, at = noisy.explain(records, index="owen", **AGAINST), 0
    for name, held in columns_of(3).items():
        view = noisy.explain(records, view=name, index="owen", **AGAINST)
        np.testing.assert_allclose(view.values[:, : len(held)], full.values[:, at : at + len(held)], rtol=0, atol=1e-12)
        np.testing.assert_allclose(view.predictions, predictions, rtol=0, atol=1e-12)
        at += len(held)
        for merged in (False, True):
            view = noisy.explain(records, view=name, index="shapley", merged=merged, **AGAINST)
            np.testing.assert_allclose(view.predictions, predictions, rtol=0, atol=1e-12)
    for found in (full, noisy.explain(records, index="shapley", **AGAINST)):
        np.testing.assert_allclose(found.predictions, predictions, rtol=0, atol=1e-12)


def test_a_record_that_is_a_background_row_differs_from_it_in_nothing(noisy):
    party = noisy.parties_["party0"]
    row = backgrounds(noisy)["party0"][:1]
    assert not party.noise_shares(row, row[0]).any()


@pytest.mark.parametrize("kind", ["mean", "medoid"])
def test_a_reference_from_a_party_s_own_rows_leaves_with_noise_and_views_still_agree(noisy, heart, kind):
    party, records = noisy.parties_["party1"], split(heart[0].head(2), 3)
    vectors = views.disclose(party, party.records_of(records["party1"]), reference=kind)
    exact = party.reduce_codes(getattr(party.own_rows, kind))
    assert np.abs(vectors.absent - exact).max() > 1e-3
    predictions = noisy.predict_proba(records)
    full = noisy.explain(records, index="owen", reference=kind)
    view = noisy.explain(records, view="party0", index="owen", reference=kind)
    np.testing.assert_allclose(view.predictions, predictions, rtol=0, atol=1e-12)
    np.testing.assert_allclose(full.predictions, predictions, rtol=0, atol=1e-12)


# --- what leaves a party ----------------------------------------------------------------------------------------------


def test_the_rows_are_frozen_and_a_smaller_background_is_the_beginning_of_a_larger_one(noisy, tmp_path):
    many = backgrounds(noisy, 130)
    noisy.save(tmp_path / "run")
    again = VerticalCollaboration.load(tmp_path / "run")
    for name, rows in many.items():
        assert len(np.unique(rows, axis=0)) > 100
        for n in (1, 7, 100, 130):
            np.testing.assert_array_equal(reference_rows(again.parties_[name], "background", n), rows[:n])


def test_retraining_with_more_records_shows_no_new_vector(heart):
    X, y = heart
    run = VerticalCollaboration(random_state=np.random.default_rng(0)).fit(split(X.iloc[20:], 2), y)
    nobody = {name: party.records_of(split(X.head(0), 2)[name]) for name, party in run.parties_.items()}
    before = {name: views.disclose(party, nobody[name], **AGAINST).absent for name, party in run.parties_.items()}
    run.fit(split(X.iloc[10:], 2), y)
    for name, party in run.parties_.items():
        np.testing.assert_array_equal(views.disclose(party, nobody[name], **AGAINST).absent, before[name])


def test_vectors_of_the_rows_carry_noise_and_the_rows_themselves_stay(noisy, heart):
    records = split(heart[0].head(2), 3)
    rows = backgrounds(noisy)
    for name, party in noisy.parties_.items():
        vectors = views.disclose(party, party.records_of(records[name]), **AGAINST)
        assert vectors.absent.shape == (M, noisy.analyst_.widths_[name])
        assert np.abs(vectors.absent - party.reduce_codes(rows[name])).min(axis=1).max() > 0
        noise = vectors.absent - party.reduce_codes(rows[name])
        assert noise.std() > 0.05 * vectors.absent.std()
        part = joint.record_part(party, party.records_of(records[name]), **AGAINST)
        assert len(part.reference) == 0
    for found in (noisy.explain(records, **AGAINST), noisy.explain(records, index="owen", **AGAINST)):
        assert found.reference is None
        parts = [fingerprint_of(noisy.parties_[name].agreement.schema, rows[name]) for name in noisy.parties_]
        assert found.reference_fingerprint == "-".join(parts)
    assert noisy.explain(records, view="party1", **AGAINST).reference_fingerprint == parts[1]


def test_columns_of_different_parties_are_independent_and_those_of_one_are_not(heart):
    X, y = heart
    run = VerticalCollaboration(random_state=0).fit({"a": X[["age", "thalach", "ca"]], "b": X[["trestbps", "chol"]]}, y)
    rows = backgrounds(run, MOST_ROWS)
    own = np.corrcoef(rows["a"][:, 0], rows["a"][:, 1])[0, 1]
    assert own < -0.25  # of Heart's patients -0.4
    across = np.corrcoef(np.concatenate([rows["a"], rows["b"]], axis=1).T)[:3, 3:]
    assert np.abs(across).max() < 4 / np.sqrt(MOST_ROWS)


# --- given rows, and what is refused ----------------------------------------------------------------------------------


def test_a_table_for_every_party_serves_as_background(noisy, heart):
    X = heart[0]
    records, tables = split(X.head(2), 3), split(X.iloc[30:33], 3)
    for index in ("shapley", "owen"):
        found = noisy.explain(records, reference=tables, index=index)
        each = [
            noisy.explain(records, reference={name: t.iloc[[at]] for name, t in tables.items()}, index=index)
            for at in range(3)
        ]
        np.testing.assert_allclose(found.values, np.mean([one.values for one in each], axis=0), rtol=0, atol=1e-12)
        assert len(found.reference) == 3
        assert list(found.reference.columns) == [c for held in columns_of(3).values() for c in held]
    one_row = noisy.explain(records, reference={name: table.iloc[0] for name, table in tables.items()})
    np.testing.assert_array_equal(one_row.values, noisy.explain(records, reference=_first(tables)).values)


def _first(tables):
    return {name: table.head(1) for name, table in tables.items()}


def test_references_that_do_not_fit_are_refused(noisy, heart):
    X = heart[0]
    records, tables = split(X.head(2), 3), split(X.iloc[30:33], 3)
    with pytest.raises(InputError, match=r"at most 500 rows\. Got 501"):
        noisy.explain(records, reference="background", n_background=501)
    with pytest.raises(InputError, match="at least one row"):
        noisy.explain(records, reference="background", n_background=0)
    with pytest.raises(InputError, match="'party1': 2"):
        noisy.explain(records, reference=tables | {"party1": tables["party1"].head(2)})
    with pytest.raises(InputError, match="rows for each of"):
        noisy.explain(records, reference={"party0": tables["party0"]})
    with pytest.raises(InputError, match="one of"):
        noisy.explain(records, reference="everybody")


def test_parties_that_bring_different_numbers_of_rows_are_refused(noisy, heart):
    noisy._share_model()
    records = {name: noisy.parties_[name].records_of(t) for name, t in split(heart[0].head(1), 3).items()}
    sizes = {"party0": 3, "party1": 3, "party2": 2}
    parts = [
        joint.disclose_columns(noisy.parties_[name], records[name], reference="background", n_background=n)
        for name, n in sizes.items()
    ]
    with pytest.raises(ProtocolError, match="as many rows of the reference"):
        joint.explain_all(noisy.analyst_, parts)
    others = [
        views.disclose(noisy.parties_[name], records[name], reference="background", n_background=sizes[name])
        for name in ("party1", "party2")
    ]
    with pytest.raises(ProtocolError, match="3 rows of the reference"):
        views.explain_view(noisy.parties_["party0"], records["party0"], others, reference="background", n_background=3)


def test_sampled_values_have_standard_errors_that_tell_how_far_they_are_from_exact_ones(heart):
    X, y = heart
    run = VerticalCollaboration(KNeighborsClassifier(7), random_state=0).fit(split(X.iloc[20:], 2), y)
    records = split(X.head(6), 2)
    exact = run.explain(records, index="shapley", **AGAINST)
    sampled = run.explain(records, index="shapley", method="sampled", max_evals=256, random_state=1, **AGAINST)
    assert not sampled.exact
    off = np.abs(sampled.values - exact.values) / np.maximum(sampled.standard_errors, 1e-12)
    assert np.mean(off[sampled.standard_errors > 1e-9] < 3) > 0.9


@pytest.mark.filterwarnings("ignore::dcshap.exceptions.PrivacyWarning")
def test_a_reduction_that_is_not_linear_gives_the_same_games(heart):
    X, y = heart
    run = VerticalCollaboration(
        LogisticRegression(max_iter=500), 3, span="private", reduction=Nystroem(), noise=0.0, random_state=0
    ).fit(split(X, 2), y)
    codes, _ = codes_and_reference(run, X.head(1), 2)
    rows = np.concatenate(list(backgrounds(run, 2).values()), axis=1)
    each = [shapley_values(composed(run, 2), codes, row, method="exact").values for row in rows]
    found = run.explain(split(X.head(1), 2), index="shapley", reference="background", n_background=2)
    np.testing.assert_allclose(found.values, np.mean(each, axis=0), rtol=0, atol=1e-9)
