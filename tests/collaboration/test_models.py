"""Any scikit-learn compatible model, any kind of target, any number of parties."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from dcshap import HorizontalCollaboration, VerticalCollaboration
from dcshap.exceptions import ModelError, RangeWarning
from tests.collaboration.helpers import parties, table, target

CLASSIFIERS = {
    "knn": KNeighborsClassifier(5),
    "logistic": LogisticRegression(),
    "forest": RandomForestClassifier(20, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=20, random_state=0),
    "mlp": MLPClassifier(hidden_layer_sizes=(8,), learning_rate_init=0.05, max_iter=500, tol=1e-3, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "stacking": StackingClassifier([("knn", KNeighborsClassifier(5))], cv=2),
}
REGRESSORS = {
    "knn": KNeighborsRegressor(5),
    "ridge": Ridge(),
    "forest": RandomForestRegressor(20, random_state=0),
    "boosting": HistGradientBoostingRegressor(max_iter=30, random_state=0),
    "mlp": make_pipeline(
        StandardScaler(),
        MLPRegressor(hidden_layer_sizes=(8,), learning_rate_init=0.05, max_iter=900, tol=1e-3, random_state=0),
    ),
}
TARGETS = {
    "numbers": lambda y: y,
    "text": lambda y: np.array(["low", "middle", "high"])[y],
    "objects": lambda y: np.array(["low", "middle", "high"], dtype=object)[y],
    "category": lambda y: pd.Series(np.array(["low", "middle", "high"])[y], dtype="category"),
    "string": lambda y: pd.Series(np.array(["low", "middle", "high"])[y], dtype="string"),
    "floats": lambda y: y.astype(float),
    "list": lambda y: ["low" if value else "high" for value in y],
    "truth": lambda y: y > 0,
    "truth objects": lambda y: (y > 0).astype(object),
    "polars": lambda y: pl.Series(np.array(["low", "middle", "high"])[y]),
}


def vertical_tables(X: pd.DataFrame, n: int = 2) -> dict[str, pd.DataFrame]:
    cuts = {2: [3], 3: [2, 4]}[n]
    return {f"v{i}": X.iloc[:, a:b] for i, (a, b) in enumerate(zip([0, *cuts], [*cuts, 6], strict=True))}


# --- horizontal ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", CLASSIFIERS.values(), ids=CLASSIFIERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_learns_from_all_parties(model, classes):
    data = parties(2, 150, classes=classes)
    run = HorizontalCollaboration(model, random_state=0).fit(data)
    for name, (X, y) in data.items():
        probabilities = run.predict_proba(X, party=name)
        assert probabilities.shape == (150, classes)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        assert run.score(X, y, party=name) == np.mean(run.predict(X, party=name) == y)
        assert run.score(X, y, party=name) > 0.6
    assert not hasattr(model, "n_features_in_")  # the one that was given stays as it was


@pytest.mark.parametrize("model", REGRESSORS.values(), ids=REGRESSORS)
def test_a_regressor_learns_from_all_parties(model):
    data = {name: (X, X["n0"] - 2 * X["n1"]) for name, (X, _) in parties(2, 150).items()}
    run = HorizontalCollaboration(model, random_state=0).fit(data)
    for name, (X, y) in data.items():
        assert run.predict(X, party=name).shape == (150,)
        assert run.score(X, y, party=name) > 0.5
    with pytest.raises(ModelError, match="gives no probabilities"):
        run.predict_proba(data["party0"][0], party="party0")


@pytest.mark.parametrize("kind", TARGETS)
def test_labels_of_any_type_come_back_as_they_were(kind):
    data = {name: (X, TARGETS[kind](y)) for name, (X, y) in parties(2, 100, classes=3).items()}
    run = HorizontalCollaboration(LogisticRegression(), random_state=0).fit(data)
    X, y = data["party0"]
    assert set(run.predict(X, party="party0").tolist()) <= set(np.asarray(y).tolist())
    assert run.score(X, y, party="party0") > 0.5


def test_a_class_that_only_one_party_has_is_known_to_all():
    data = parties(2, 100, classes=3)
    (X0, y0), (X1, y1) = data.values()
    run = HorizontalCollaboration(LogisticRegression(), random_state=0).fit(
        {"a": (X0[y0 < 2], y0[y0 < 2]), "b": (X1[y1 > 0], y1[y1 > 0])}
    )
    assert run.predict_proba(X0.iloc[:3], party="a").shape == (3, 3)


@pytest.mark.parametrize("n", [2, 10])
@pytest.mark.parametrize("span", ["supervised", "private", "shared", "random"])
def test_any_number_of_parties_train_together(n, span):
    data = parties(n, 40)
    run = HorizontalCollaboration(LogisticRegression(), span=span, random_state=0).fit(data)
    assert list(run.parties_) == list(data)
    assert np.mean([run.score(X, y, party=name) for name, (X, y) in data.items()]) > 0.65


def test_predictions_come_in_the_order_of_the_rows():
    data = parties(2, 60)
    run = HorizontalCollaboration(KNeighborsClassifier(3), random_state=0).fit(data)
    X, _ = data["party0"]
    order = np.random.default_rng(0).permutation(60)
    np.testing.assert_array_equal(
        run.predict_proba(X.iloc[order], party="party0"), run.predict_proba(X, party="party0")[order]
    )


def test_frames_arrays_and_polars_tables_predict_alike():
    data = parties(2, 60)
    run = HorizontalCollaboration(LogisticRegression(), random_state=0).fit(data)
    X, _ = data["party0"]
    expected = run.predict_proba(X, party="party1")
    np.testing.assert_array_equal(run.predict_proba(run.schema_.codes(X), party="party1"), expected)
    np.testing.assert_array_equal(run.predict_proba(pl.from_pandas(X), party="party1"), expected)
    np.testing.assert_array_equal(run.predict_proba(X[X.columns[::-1]], party="party1"), expected)


def test_arrays_train_alike_to_frames():
    frames = parties(2, 60)
    run = HorizontalCollaboration(LogisticRegression(), random_state=0).fit(frames)
    codes = {name: (run.schema_.codes(X), y) for name, (X, y) in frames.items()}
    again = HorizontalCollaboration(LogisticRegression(), schema=run.schema_, random_state=0).fit(codes)
    X, _ = frames["party0"]
    np.testing.assert_array_equal(again.predict_proba(X, party="party0"), run.predict_proba(X, party="party0"))


def test_numeric_arrays_need_no_schema():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5))
    data = {"a": (X[:40], X[:40, 0] > 0), "b": (X[40:], X[40:, 0] > 0)}
    run = HorizontalCollaboration(LogisticRegression(), 4, random_state=0).fit(data)
    assert run.schema_.names == ("x0", "x1", "x2", "x3", "x4")


def test_a_public_table_serves_as_anchor():
    data = parties(2, 100)
    public = table(400, seed=0)
    with pytest.warns(RangeWarning):
        run = HorizontalCollaboration(LogisticRegression(), anchor=public, span="private", random_state=0).fit(data)
    assert run.parties_["party0"].anchor.rows.shape == (400, 6)
    assert run.score(*data["party0"], party="party0") > 0.7
    run = HorizontalCollaboration(LogisticRegression(), anchor=public, random_state=0).fit(data)
    assert run.parties_["party0"].anchor.rows.shape == (400, 8)
    assert run.score(*data["party0"], party="party0") > 0.7


def test_missing_values_mean_the_reference_in_training_and_prediction():
    data = parties(2, 100)
    run = HorizontalCollaboration(LogisticRegression(), missing="reference", random_state=0)
    holed = {name: (X.mask(np.random.default_rng(0).random(X.shape) < 0.1), y) for name, (X, y) in data.items()}
    run.fit(holed)
    party = run.parties_["party0"]
    reference = run.schema_.frame(party.anchor.reference()[None])
    row = holed["party0"][0].iloc[[0]]
    absent = row.assign(n0=np.nan, town=pd.Categorical([None], row["town"].cat.categories))
    filled = row.assign(n0=reference["n0"].to_numpy(), town=reference["town"].to_numpy())
    np.testing.assert_array_equal(party.points(absent), party.points(filled))


def test_without_scaling_columns_keep_their_units():
    data = parties(2, 80)
    run = HorizontalCollaboration(LogisticRegression(), span="private", scaled=False, random_state=0).fit(data)
    X, y = data["party0"]
    np.testing.assert_array_equal(run.parties_["party0"].encode(X), run.schema_.codes(X))
    assert run.score(X, y, party="party0") > 0.6


def test_a_run_is_an_estimator_that_can_be_cloned_and_set():
    run = HorizontalCollaboration(LogisticRegression(C=2), 4, span="shared", random_state=0)
    again = clone(run).set_params(model__C=3)
    assert again.get_params()["span"] == "shared"
    assert (run.model.C, again.model.C) == (2, 3)


@pytest.mark.parametrize(
    ("columns", "wanted", "dimensions"),
    [
        (12, 0.75, 9),
        (13, 0.75, 10),
        (4, 0.75, 3),
        (2, 0.75, 1),
        (2, 0.1, 1),
        (6, 0.99, 5),
        (6, 3, 3),
        (6, np.int64(5), 5),
    ],
)
def test_components_are_a_number_or_a_fraction_rounded(columns, wanted, dimensions):
    rng = np.random.default_rng(0)
    data = {name: (rng.standard_normal((30, columns)), np.arange(30) % 2) for name in "ab"}
    run = HorizontalCollaboration(LogisticRegression(), wanted, random_state=0).fit(data)
    assert run.parties_["a"].send_representation("analyst").rows.shape == (30, dimensions)


# --- vertical -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [*CLASSIFIERS.values(), *REGRESSORS.values()], ids=[*CLASSIFIERS, *REGRESSORS])
def test_vertical_parties_train_any_model(model):
    X = table(200)
    y = target(X, classes=3) if is_classifier(model) else X["n0"] - X["n4"]
    run = VerticalCollaboration(model, random_state=0).fit(vertical_tables(X), y)
    assert run.score(vertical_tables(X), y) > 0.45
    if is_classifier(model):
        assert run.predict_proba(vertical_tables(X)).shape == (200, 3)
    else:
        with pytest.raises(ModelError, match="gives no probabilities"):
            run.predict_proba(vertical_tables(X))


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("holder", [None, "v0", "v1"])
def test_any_party_may_hold_the_labels(n, holder):
    X = table(100)
    run = VerticalCollaboration(LogisticRegression(), random_state=0).fit(
        vertical_tables(X, n), target(X), label_party=holder
    )
    assert [line.sender for line in run.sent_ if line.kind == "RecordLabels"] == [holder or "v0"]
    assert run.score(vertical_tables(X, n), target(X)) > 0.75


def test_records_are_joined_by_identifier_and_those_not_held_by_all_are_dropped_and_counted():
    X = table(100).set_axis([f"id{i}" for i in range(100)])
    y = pd.Series(target(X), index=X.index).iloc[:90]
    tables = vertical_tables(X)
    tables = {"v0": tables["v0"].iloc[5:].sample(frac=1, random_state=0), "v1": tables["v1"].iloc[:97]}
    run = VerticalCollaboration(KNeighborsClassifier(1), random_state=0).fit(tables, y)
    assert run.joined_.n_common == 85
    assert run.joined_.n_dropped == {"v0": 10, "v1": 12}
    common = X.index[5:90]
    asked = {name: part.loc[common] for name, part in tables.items()}
    np.testing.assert_array_equal(run.predict(asked), y.loc[common])  # 1-NN knows its own rows: the join was right


@pytest.mark.parametrize("kind", [list, tuple, np.asarray])
def test_labels_without_an_index_are_matched_row_by_row(kind):
    X = table(40).set_axis([f"id{i}" for i in range(40)])
    run = VerticalCollaboration(KNeighborsClassifier(1), random_state=0).fit(
        vertical_tables(X), kind(target(X).tolist())
    )
    assert run.joined_.n_common == 40
    np.testing.assert_array_equal(run.predict(vertical_tables(X)), target(X))


def test_integer_text_and_float_identifiers_are_the_same_records():
    X = table(40)
    tables = vertical_tables(X)
    tables["v1"] = tables["v1"].set_axis([str(i) for i in range(40)])
    tables["v0"] = tables["v0"].set_axis(np.arange(40.0))
    assert VerticalCollaboration(LogisticRegression(), random_state=0).fit(tables, target(X)).joined_.n_common == 40


def test_predictions_come_in_the_order_of_the_first_table():
    X = table(60).set_axis([f"id{i}" for i in range(60)])
    tables = vertical_tables(X)
    run = VerticalCollaboration(LogisticRegression(), random_state=0).fit(tables, target(X))
    expected = run.predict_proba(tables)
    order = np.random.default_rng(0).permutation(60)
    np.testing.assert_allclose(run.predict_proba({"v1": tables["v1"].iloc[order], "v0": tables["v0"]}), expected[order])
    np.testing.assert_allclose(run.predict_proba({"v0": tables["v0"], "v1": tables["v1"].iloc[order]}), expected)


def test_vertical_arrays_are_matched_row_by_row():
    X = np.random.default_rng(0).standard_normal((80, 6))
    y = X[:, 0] + X[:, 4] > 0
    run = VerticalCollaboration(LogisticRegression(), random_state=0).fit({"a": X[:, :3], "b": X[:, 3:]}, y)
    assert run.parties_["b"].agreement.schema.names == ("b.x0", "b.x1", "b.x2")
    assert run.predict({"a": X[:5, :3], "b": X[:5, 3:]}).shape == (5,)


def test_vertical_polars_tables_are_matched_row_by_row():
    X = table(60)
    tables = {name: pl.from_pandas(part) for name, part in vertical_tables(X).items()}
    run = VerticalCollaboration(LogisticRegression(), random_state=0).fit(tables, target(X))
    text = {name: part.astype({"town": "str"} if "town" in part else {}) for name, part in vertical_tables(X).items()}
    plain = VerticalCollaboration(LogisticRegression(), random_state=0).fit(text, target(X))
    np.testing.assert_array_equal(run.predict_proba(tables), plain.predict_proba(text))


def test_each_vertical_party_may_have_dimensions_of_its_own():
    X = table(60)
    run = VerticalCollaboration(LogisticRegression(), {"v0": 1, "v1": 0.67}, random_state=0).fit(
        vertical_tables(X), target(X)
    )
    assert run.analyst_.widths_ == {"v0": 1, "v1": 2}


def test_a_model_without_probabilities_still_predicts():
    data = parties(2, 60)
    run = HorizontalCollaboration(LinearSVC(), random_state=0).fit(data)
    assert run.predict(data["party0"][0], party="party0").shape == (60,)
    with pytest.raises(ModelError, match="LinearSVC gives no probabilities"):
        run.predict_proba(data["party0"][0], party="party0")
