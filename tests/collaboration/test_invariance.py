"""Who sends first, in which order rows and columns stand, and what is private must not change the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

from dcshap import HorizontalCollaboration, VerticalCollaboration
from tests.collaboration.helpers import parties, table, target

COMMON = st.sampled_from(["supervised", "shared", "random"])
ANY = st.sampled_from(["supervised", "private", "shared", "random"])
ALIGNMENTS = st.sampled_from(["affine", "svd", "orthogonal"])
SEEDS = st.integers(0, 2**32 - 1)
cases = settings(max_examples=10, deadline=None)

Data = dict[str, tuple[pd.DataFrame, np.ndarray[Any, Any]]]


class OtherPrivateSeeds(HorizontalCollaboration):
    """The same run, but for every party's private randomness."""

    def _private_seed(self, name: str) -> int:
        return super()._private_seed(name) + 1


def train(
    data: Data, cls: type[HorizontalCollaboration] = HorizontalCollaboration, **given_settings: Any
) -> HorizontalCollaboration:
    model = given_settings.pop("model", KNeighborsClassifier(3))
    return cls(model, **({"random_state": 3, "n_anchor": 300} | given_settings)).fit(data)


def with_ties(data: Data) -> Data:
    """The same rows on a coarse raster: many are equal, and many neighbours equally far."""
    return {name: (X.round({f"n{j}": 0 for j in range(5)}), y) for name, (X, y) in data.items()}


def assert_alike(one: HorizontalCollaboration, two: HorizontalCollaboration, X: pd.DataFrame) -> None:
    for name in one.parties_:
        np.testing.assert_allclose(two.parties_[name].points(X), one.parties_[name].points(X), rtol=0, atol=1e-9)
        np.testing.assert_array_equal(two.predict_proba(X, party=name), one.predict_proba(X, party=name))


@cases
@given(span=COMMON, alignment=ALIGNMENTS, n_parties=st.integers(2, 5), rows=st.integers(12, 40), seed=SEEDS)
def test_in_a_common_span_every_party_s_composed_map_is_the_same(span, alignment, n_parties, rows, seed):
    run = train(parties(n_parties, rows, seed=seed), span=span, alignment=alignment, random_state=seed)
    X = run.schema_.codes(parties(n_parties, rows, seed=seed)["party1"][0])
    first, *others = [party.points(X) for party in run.parties_.values()]
    for other in others:
        np.testing.assert_allclose(other, first, rtol=0, atol=1e-9)


@cases
@given(span=ANY, seed=SEEDS)
def test_the_order_of_parties_changes_nothing(span, seed):
    data = with_ties(parties(3, 30, seed=seed))
    turned = dict(sorted(data.items(), reverse=True))
    assert_alike(train(data, span=span), train(turned, span=span), data["party1"][0])


@cases
@given(span=ANY, seed=SEEDS)
def test_the_order_of_rows_changes_nothing(span, seed):
    data = with_ties(parties(2, 40, seed=seed))
    rng = np.random.default_rng(seed)
    shuffled = {}
    for name, (X, y) in data.items():
        order = rng.permutation(len(X))
        shuffled[name] = (X.iloc[order], y[order])
    assert_alike(train(data, span=span), train(shuffled, span=span), data["party1"][0])


@cases
@given(span=ANY, order=st.permutations(range(6)), seed=SEEDS)
def test_the_order_of_columns_changes_nothing(span, order, seed):
    data = with_ties(parties(2, 40, seed=seed))
    turned = {name: (X.iloc[:, order], y) for name, (X, y) in data.items()}
    assert_alike(train(data, span=span), train(turned, span=span), data["party1"][0])


@pytest.mark.filterwarnings("ignore::dcshap.exceptions.PrivacyWarning")
@cases
@given(span=COMMON, alignment=ALIGNMENTS, seed=SEEDS)
def test_in_a_common_span_private_seeds_change_no_prediction_but_by_noise(span, alignment, seed):
    data = with_ties(parties(2, 40, seed=seed))
    one = train(data, span=span, alignment=alignment, noise=0)
    two = train(data, OtherPrivateSeeds, span=span, alignment=alignment, noise=0)
    assert one.parties_["party0"].private_seed != two.parties_["party0"].private_seed
    assert not np.allclose(one.parties_["party0"].reduction.weights, two.parties_["party0"].reduction.weights)
    assert_alike(one, two, data["party1"][0])


@pytest.mark.parametrize("span", ["supervised", "private", "shared", "random"])
def test_a_model_that_depends_on_the_order_of_rows_comes_out_the_same(span):
    data = with_ties(parties(2, 40))
    shuffled = {name: (X.iloc[::-1], y[::-1]) for name, (X, y) in sorted(data.items(), reverse=True)}
    model = RandomForestClassifier(5, random_state=0)
    assert_alike(train(data, span=span, model=model), train(shuffled, span=span, model=model), data["party1"][0])


@pytest.mark.filterwarnings("ignore::dcshap.exceptions.PrivacyWarning")
@pytest.mark.parametrize("span", ["supervised", "private", "shared", "random"])
def test_the_rows_in_a_model_do_not_stand_party_by_party(span):
    data = parties(2, 200)
    run = train(data, span=span, noise=0)  # so that they can be told
    held = run.analyst_.model_._fit_X
    first = {point.tobytes() for point in run.parties_["party0"].points(data["party0"][0])}
    of_first = np.array([row.tobytes() in first for row in held])
    assert of_first.sum() == 200
    assert 60 < of_first[:200].sum() < 140


def test_all_spans_agree_on_what_is_shared_and_private():
    """With private spans maps differ: that is what the common ones are for."""
    data = parties(2, 60)
    X = data["party0"][0]
    points = [party.points(X) for party in train(data, span="private").parties_.values()]
    assert np.abs(points[0] - points[1]).max() > 1e-3


# --- vertical -----------------------------------------------------------------------------------------------------


@cases
@given(seed=SEEDS)
def test_the_order_of_parties_rows_and_columns_changes_no_vertical_prediction(seed):
    X = table(60, seed=seed).set_axis([f"r{i}" for i in range(60)])
    y = pd.Series(target(X), index=X.index)
    data = {"a": X[["n0", "n1", "n2"]], "b": X[["n3", "n4", "town"]]}
    turned = {
        "b": data["b"].sample(frac=1, random_state=seed)[["town", "n4", "n3"]],
        "a": data["a"].sample(frac=1, random_state=seed // 2),
    }
    one = VerticalCollaboration(RandomForestClassifier(5, random_state=0), random_state=0).fit(data, y)
    two = VerticalCollaboration(RandomForestClassifier(5, random_state=0), random_state=0).fit(
        turned, y, label_party="a"
    )
    np.testing.assert_array_equal(two.predict_proba(data), one.predict_proba(data))


def test_a_seeded_run_can_be_repeated():
    X = table(60)
    data = {"a": X[["n0", "n1", "n2"]], "b": X[["n3", "n4", "town"]]}
    model = RandomForestClassifier(5, random_state=0)
    runs = [VerticalCollaboration(model, random_state=4).fit(data, target(X)) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].predict_proba(data), runs[1].predict_proba(data))
    split = parties(2, 60)
    both = [HorizontalCollaboration(model, random_state=np.random.default_rng(4)).fit(split) for _ in range(2)]
    X, _ = split["party0"]
    np.testing.assert_array_equal(both[0].predict_proba(X, party="party0"), both[1].predict_proba(X, party="party0"))


@pytest.mark.parametrize("span", ["supervised", "private", "shared", "random"])
def test_a_generator_or_no_seed_keeps_the_private_maps_when_the_same_object_trains_again(span):
    data = parties(2, 60)
    for random_state in (None, np.random.default_rng(0)):
        run = HorizontalCollaboration(KNeighborsClassifier(3), span=span, random_state=random_state).fit(data)
        before = [party.reduction.weights for party in run.parties_.values()]
        run.fit(data)
        for party, weights in zip(run.parties_.values(), before, strict=True):
            np.testing.assert_array_equal(party.reduction.weights, weights)
