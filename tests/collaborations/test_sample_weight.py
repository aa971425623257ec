from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier

from dcshap import HorizontalCollaboration, Schema, VerticalCollaboration
from dcshap.exceptions import InputError

SETTINGS: dict[str, Any] = {"span": "random", "noise": 0.05, "random_state": 0}
WEIGHTS = np.array([0.0, 1.0, 2.0, 3.0] * 20)


@pytest.fixture(scope="module")
def data():
    rng, data = np.random.default_rng(0), {}
    for name in ("north", "south"):
        X = pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd"))
        data[name] = (X, (X["a"] + X["b"] + rng.normal(size=80) > 0).astype(int))
    return data


def coefficients(run: Any) -> Any:
    return np.append(run.analyst_.model_.coef_, run.analyst_.model_.intercept_)


def targets(X: Any) -> dict[str, Any]:
    score = X["a"] + X["b"] + 0.5 * X["c"] * X["d"]
    return {
        "two classes": (score > 0).astype(int),
        "three classes": pd.cut(score, [-9, -1, 1, 9], labels=False),
        "a number": score.clip(-1, 1),  # its range is agreed without weights
    }


def repeated(table: Any) -> Any:
    return table.loc[np.repeat(table.index, WEIGHTS.astype(int))].reset_index(drop=True)


@pytest.mark.filterwarnings("ignore::dcshap.exceptions.PrivacyWarning")
@pytest.mark.parametrize("target", ["two classes", "three classes", "a number"])
@pytest.mark.parametrize("span", ["supervised", "shared", "random"])
def test_a_weight_counts_as_so_many_rows(data, span, target):
    data = {name: (X, targets(X)[target]) for name, (X, _) in data.items()}
    given = data | {"north": tuple(map(repeated, data["north"]))}
    settings = SETTINGS | {"span": span, "noise": 0, "schema": HorizontalCollaboration(**SETTINGS).fit(data).schema_}
    model = Ridge() if target == "a number" else LogisticRegression(tol=1e-10, max_iter=1000)
    weighted = HorizontalCollaboration(model, **settings).fit(data, sample_weight={"north": WEIGHTS})
    often, plain = (HorizontalCollaboration(model, **settings).fit(each) for each in (given, data))
    np.testing.assert_allclose(coefficients(weighted), coefficients(often), atol=1e-5)
    assert np.abs(coefficients(weighted) - coefficients(plain)).max() > 0.01
    maps = [run.parties_["south"].reduction.weights for run in (weighted, often, plain)]
    np.testing.assert_allclose(maps[0], maps[1], atol=1e-9)
    assert bool(np.abs(maps[0] - maps[2]).max() > 1e-3) is (span != "random")


def test_weights_that_are_small_all_over_lose_no_class(data):
    run = HorizontalCollaboration(random_state=0).fit(data, sample_weight=dict.fromkeys(data, np.full(80, 1e-3)))
    assert run.parties_["north"].moments.present().responses.shape == (2, 2)


def test_with_epsilon_no_row_counts_more_than_another_in_the_sums(data):
    private = HorizontalCollaboration(epsilon=1000, random_state=0)
    run = private.fit(data, sample_weight={"north": 50.0 * WEIGHTS})
    assert run.parties_["north"].moments.n_rows == pytest.approx(160, abs=5)


def test_a_party_is_compared_with_itself_by_the_same_weights(data):
    X, y = data["north"]
    turned = {"north": (X, y), "south": (data["south"][0], 1 - data["south"][1])}
    run = HorizontalCollaboration(random_state=0).fit(turned, sample_weight={"south": np.full(80, 1e-6)})
    scores = run.quality(X, y, party="north").scores
    assert float(scores["accuracy"]["pooled"]) == pytest.approx(float(scores["accuracy"]["alone"]), abs=0.03)


def test_equal_weights_change_nothing(data):
    plain = HorizontalCollaboration(random_state=0).fit(data)
    even = HorizontalCollaboration(random_state=0).fit(data, sample_weight={"south": np.ones(80)})
    np.testing.assert_allclose(coefficients(even), coefficients(plain), atol=1e-6)


@pytest.mark.parametrize("y_as", ["series", "array"])
def test_vertical_weights_follow_their_labels(data, y_as):
    X, y = data["north"]
    tables = {"one": X[["a", "c"]].sample(frac=1, random_state=0), "two": X[["b", "d"]].iloc[5:]}
    labels = y if y_as == "series" else y.loc[tables["one"].index].to_numpy()
    weights = WEIGHTS if y_as == "series" else WEIGHTS[tables["one"].index]
    run = VerticalCollaboration(Ridge(), random_state=0).fit(tables, labels, sample_weight=weights)
    held = run.analyst_.held_
    points = np.concatenate([rows for rows, *_ in held.values()], axis=1)
    sent = next(iter(held.values()))[1]
    assert len(sent) == 75
    unweighted = Ridge().fit(points, sent)
    assert np.abs(run.analyst_.model_.coef_ - unweighted.coef_).max() > 1e-3


def test_vertical_weights_are_the_same_whether_labels_have_an_index_or_a_place(data):
    X, y = data["north"]
    tables = {"one": X[["a", "c"]].sample(frac=1, random_state=0), "two": X[["b", "d"]]}
    order = tables["one"].index
    by_index = VerticalCollaboration(Ridge(), random_state=0).fit(tables, y, sample_weight=WEIGHTS)
    by_place = VerticalCollaboration(Ridge(), random_state=0).fit(
        tables, y[order].to_numpy(), sample_weight=WEIGHTS[order]
    )
    np.testing.assert_array_equal(coefficients(by_index), coefficients(by_place))


@pytest.mark.filterwarnings("ignore::dcshap.exceptions.PrivacyWarning")
@pytest.mark.parametrize("target", ["two classes", "three classes", "a number"])
def test_in_a_vertical_holder_s_span_a_weight_counts_as_so_many_rows(data, target):
    X, _ = data["north"]
    y = targets(X)[target]
    tables = {"one": X[["a", "c"]], "two": X[["b", "d"]]}
    model = Ridge() if target == "a number" else LogisticRegression()
    settings: dict[str, Any] = {"noise": 0, "random_state": 0, "schema": Schema.from_frames([X])}
    weighted = VerticalCollaboration(model, **settings).fit(tables, y, sample_weight=WEIGHTS)
    often = VerticalCollaboration(model, **settings).fit({k: repeated(t) for k, t in tables.items()}, repeated(y))
    plain = VerticalCollaboration(model, **settings).fit(tables, y)
    maps = [run.parties_["one"].reduction.weights for run in (weighted, often, plain)]
    np.testing.assert_allclose(maps[0], maps[1], atol=1e-9)
    assert np.abs(maps[0] - maps[2]).max() > 1e-3


def test_a_vertical_guest_keeps_what_predicts_the_records_that_count():
    """Where half of the records count nothing, the guest's span is about the others."""
    rng = np.random.default_rng(1)
    guest = pd.DataFrame(rng.normal(size=(4000, 8)), columns=[f"g{i}" for i in range(8)])
    host = pd.DataFrame(rng.normal(size=(4000, 2)), columns=["h0", "h1"])
    counts = np.arange(4000) % 2
    score = np.where(counts == 1, 2 * guest["g0"], 4 * guest["g1"])
    y = (score + rng.normal(size=4000) > 0).astype(int)
    tables, new = {"host": host, "guest": guest}, {"host": host[counts == 1], "guest": guest[counts == 1]}
    scores = {}
    for name, weights in {"plain": None, "weighted": np.maximum(counts, 1e-3)}.items():
        run = VerticalCollaboration(LogisticRegression(), 1, random_state=0).fit(tables, y, sample_weight=weights)
        scores[name] = (run.predict(new) == y[counts == 1]).mean()
    assert scores["weighted"] > scores["plain"] + 0.05, scores


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"west": WEIGHTS}, r"some of \['north', 'south'\]"),
        (WEIGHTS, "must be a mapping"),
        ({"north": WEIGHTS[:3]}, r"must hold 80 finite numbers.*shape \(3,\)"),
        ({"north": -WEIGHTS}, "60 of them missing or negative"),
        ({"north": WEIGHTS * np.nan}, "80 of them missing or negative"),
        ({"north": WEIGHTS * 0}, "not all 0"),
    ],
)
def test_weights_that_cannot_be_are_refused(data, weights, words):
    with pytest.raises(InputError, match=words):
        HorizontalCollaboration(random_state=0).fit(data, sample_weight=weights)


def test_a_model_that_takes_no_weights_is_named(data):
    with pytest.raises(InputError, match="KNeighborsClassifier takes no `sample_weight`"):
        HorizontalCollaboration(KNeighborsClassifier(3), random_state=0).fit(data, sample_weight={"north": WEIGHTS})
