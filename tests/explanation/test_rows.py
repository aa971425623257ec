from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier

from dcshap import HorizontalCollaboration, Schema, datasets, disagreement, shapley_values
from dcshap.exceptions import InputError, ReferenceWarning, SchemaError


@pytest.mark.parametrize("reference", ["anchor", "own", "mean", "medoid"])
def test_values_and_base_sum_to_the_partys_prediction(horizontal, heart, reference):
    X = heart[0].head(20)
    for party in horizontal.parties_:
        explained = horizontal.explain(X, party=party, reference=reference)
        np.testing.assert_allclose(explained.predictions, horizontal.predict_proba(X, party=party), atol=1e-8)
        assert explained.party == party
        assert explained.output_names == ("0", "1")


def test_algorithm_2_equals_shapley_values_of_the_composed_model(horizontal, heart):
    X = heart[0].head(4)
    schema, party = horizontal.schema_, horizontal.parties_["north"]
    codes, reference = schema.codes(X), party.anchor.reference()

    def composed(rows):
        return party.predict_proba(rows)

    independent = shapley_values(composed, codes, reference, method="exact")
    explained = horizontal.explain(X, party="north")
    np.testing.assert_allclose(explained.values, independent.values, atol=1e-9)


def test_all_parties_share_the_reference_by_default_and_can_prove_it(horizontal, heart):
    X = heart[0].head(2)
    default = {horizontal.explain(X, party=p).reference_fingerprint for p in horizontal.parties_}
    own = {horizontal.explain(X, party=p, reference="own").reference_fingerprint for p in horizontal.parties_}
    assert len(default) == 1
    assert len(own) == 2


def test_a_given_row_is_used_as_reference(horizontal, heart):
    X = heart[0]
    row = X.iloc[5]
    explained = horizontal.explain(X.iloc[[7]], party="south", reference=row)
    base = horizontal.predict_proba(X.iloc[[5]], party="south")
    np.testing.assert_allclose(explained.base_values, base, atol=1e-12)
    with pytest.raises(InputError, match="'anchor', 'own', 'mean', 'medoid'"):
        horizontal.explain(X.head(1), party="south", reference="median")


def test_shared_span_explains_alike_and_private_span_better_than_kernelshap(horizontal, horizontal_data, heart):
    X = heart[0].head(20)
    shared = HorizontalCollaboration(KNeighborsClassifier(7), span="shared", random_state=0).fit(horizontal_data)

    def rmse(run, reference):
        return disagreement({p: run.explain(X, party=p, reference=reference) for p in run.parties_}).rmse

    assert rmse(shared, "anchor") < 1e-9
    assert rmse(horizontal, "anchor") < rmse(horizontal, "own") / 3


@pytest.mark.slow
def test_label_skewed_adult_disagrees_at_most_a_third_as_much_as_with_own_references():
    data = datasets.load_adult("train")
    kept, aside = datasets.hold_out(data.target, 100)
    X, y = data.data.iloc[kept].reset_index(drop=True), data.target.iloc[kept].reset_index(drop=True)
    parts = {f"p{i}": (X.iloc[rows], y.iloc[rows]) for i, rows in enumerate(datasets.label_skew(y))}
    rows = data.data.iloc[aside[:50]]
    found = {}
    for span in ("private", "shared"):
        run = HorizontalCollaboration(KNeighborsClassifier(7), 9, span=span, random_state=0).fit(parts)
        for reference in ("own", "anchor"):
            explained = {p: run.explain(rows, party=p, reference=reference) for p in run.parties_}
            found[span, reference] = disagreement(explained).rmse
    assert found["private", "anchor"] <= found["private", "own"] / 3
    assert found["shared", "anchor"] < 1e-3


def test_a_reduction_that_is_not_linear_takes_the_general_path(horizontal_data, heart):
    X = heart[0].head(3)
    run = HorizontalCollaboration(KNeighborsClassifier(7), 5, span="private", reduction=Nystroem(), random_state=0)
    run.fit(horizontal_data)
    explained = run.explain(X, party="north")
    np.testing.assert_allclose(explained.predictions, run.predict_proba(X, party="north"), atol=1e-8)
    assert explained.feature_names == run.schema_.names
    assert explained.output_names == ("0", "1")


def test_onehot_columns_are_one_player_each(horizontal_data, heart):
    schema = Schema.from_frames({name: X for name, (X, _) in horizontal_data.items()}, onehot=["cp", "thal"])
    run = HorizontalCollaboration(KNeighborsClassifier(7), schema=schema, random_state=0).fit(horizontal_data)
    explained = run.explain(heart[0].head(5), party="north")
    assert explained.feature_names == schema.names
    np.testing.assert_allclose(explained.predictions, run.predict_proba(heart[0].head(5), party="north"), atol=1e-8)


def test_a_missing_value_is_absent_and_gets_nothing(horizontal_data, heart):
    with_gaps = {
        name: (X.mask(np.arange(X.size).reshape(X.shape) % 37 == 0), y) for name, (X, y) in horizontal_data.items()
    }
    run = HorizontalCollaboration(KNeighborsClassifier(7), missing="reference", random_state=0).fit(with_gaps)
    X = heart[0].head(3).copy()
    X.loc[X.index[1], "chol"] = np.nan
    explained = run.explain(X, party="south")
    at = explained.feature_names.index("chol")
    assert (explained.values[1, at] == 0).all()
    np.testing.assert_allclose(explained.predictions, run.predict_proba(X, party="south"), atol=1e-8)


def test_a_regressor_has_one_output(horizontal_data, heart):
    X = heart[0]
    data = {name: (X_i.drop(columns="chol"), X_i["chol"]) for name, (X_i, _) in horizontal_data.items()}
    run = HorizontalCollaboration(RandomForestRegressor(10, random_state=0), random_state=0).fit(data)
    rows = X.drop(columns="chol").head(3)
    explained = run.explain(rows, party="north")
    assert explained.values.shape == (3, 9)
    np.testing.assert_allclose(explained.predictions, run.predict(rows, party="north"), atol=1e-8)


def test_a_classifier_without_probabilities_is_explained_by_its_scores(horizontal_data, heart):
    run = HorizontalCollaboration(RidgeClassifier(), random_state=0).fit(horizontal_data)
    explained = run.explain(heart[0].head(2), party="north")
    scores = run.parties_["north"].model_.decision_function(run.parties_["north"].points(heart[0].head(2)))
    np.testing.assert_allclose(explained.predictions, scores, atol=1e-8)


def test_a_reference_unlike_the_data_is_warned_of_once_with_all_its_columns(horizontal_data, heart):
    frames = {name: X for name, (X, _) in horizontal_data.items()}
    by_hand = Schema.from_frames(frames).to_dict()
    for name in ("chol", "oldpeak"):
        by_hand["columns"][name] |= {"low": 0, "high": 5000}
        by_hand["columns"][name].pop("typical")
    run = HorizontalCollaboration(KNeighborsClassifier(7), schema=Schema.from_dict(by_hand), random_state=0)
    run.fit(horizontal_data)
    with pytest.warns(ReferenceWarning, match=r"\['chol', 'oldpeak'\]") as caught:
        run.explain(heart[0].head(2), party="north")
    assert len(caught) == 1


def test_more_than_20_players_are_sampled_with_standard_errors():
    data = datasets.load_breast_cancer()
    halves = datasets.label_skew(data.target)
    parts = {f"p{i}": (data.data.iloc[rows], data.target.iloc[rows]) for i, rows in enumerate(halves)}
    run = HorizontalCollaboration(KNeighborsClassifier(7), random_state=0).fit(parts)
    X = data.data.head(2)
    explained = run.explain(X, party="p0", max_evals=600, random_state=0)
    assert not explained.exact
    assert (explained.standard_errors > 0).any()
    np.testing.assert_allclose(explained.predictions, run.predict_proba(X, party="p0"), atol=1e-8)


def test_rows_that_do_not_fit_the_schema_are_refused(horizontal, heart):
    X = heart[0].head(2)
    with pytest.raises(SchemaError, match="'chol'"):
        horizontal.explain(X.drop(columns="chol"), party="north")
    with pytest.raises(SchemaError, match="'sex' has 1 values"):
        horizontal.explain(X.assign(sex=pd.Series([0, 9], index=X.index, dtype="category")), party="north")
    with pytest.raises(InputError, match="one of"):
        horizontal.explain(X, party="west")


def test_the_explanation_shows_raw_values_and_the_rows_own_index(horizontal, heart):
    X = heart[0].iloc[[3, 1]]
    explained = horizontal.explain(X, party="north")
    assert list(explained.data.index) == ["patient-3", "patient-1"]
    assert explained.data["sex"].tolist() == X["sex"].tolist()
    assert list(explained.reference.columns) == list(X.columns)


@pytest.mark.parametrize("reduction", ["pca", Nystroem()])
def test_no_rows_give_an_empty_explanation(horizontal_data, heart, reduction):
    run = HorizontalCollaboration(KNeighborsClassifier(7), 5, span="private", reduction=reduction, random_state=0)
    explained = run.fit(horizontal_data).explain(heart[0].head(0), party="north")
    assert len(explained) == len(explained.data) == 0
    assert explained.feature_names == tuple(heart[0].columns)
