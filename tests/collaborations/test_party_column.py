from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dcshap import HorizontalCollaboration, VerticalCollaboration
from dcshap.collaborations import PartyColumnClassifier, PartyColumnRegressor
from dcshap.exceptions import InputError

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(160, 4))
ROWS = pd.DataFrame(NUMBERS, columns=["age", "bmi", "dose", "days"]).assign(hospital=["north", "south"] * 80)
SICK = pd.Series(np.where(NUMBERS[:, 0] + NUMBERS[:, 2] > 0, "yes", "no"), name="sick")
COST = pd.Series(NUMBERS @ [3.0, -2.0, 1.0, 0.0], name="cost")

WEIGHTS = "the ranges of the schema, the noise on rows and who is dealt which row do not know weights"
EXCEPTIONS = {
    PartyColumnClassifier: {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
        "check_classifiers_train": "two columns are reduced to one dimension: .76 on three classes instead of .83",
    },
    PartyColumnRegressor: {"check_sample_weight_equivalence_on_dense_data": WEIGHTS},
}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [PartyColumnClassifier(), PartyColumnRegressor()],
    expected_failed_checks=lambda estimator: EXCEPTIONS[type(estimator)],
)
def test_scikit_learn_s_conventions_hold(estimator, check):
    check(estimator)


def test_simulated_parties_are_cross_validated_as_any_classifier():
    scores = cross_val_score(PartyColumnClassifier("hospital"), ROWS, SICK, cv=3)
    assert scores.mean() > 0.9


def test_a_grid_search_reaches_the_collaboration_s_settings_through_a_pipeline():
    model = PartyColumnClassifier("hospital", collaboration=HorizontalCollaboration(random_state=0))
    piped = make_pipeline(FunctionTransformer(lambda table: table.drop(columns="days")), model)
    grid = {"partycolumnclassifier__collaboration__noise": [0.1, 0.3]}
    found = GridSearchCV(piped, grid, cv=2).fit(ROWS, SICK)
    assert found.best_score_ > 0.85
    best = found.best_estimator_[-1].collaboration_
    assert list(best.parties_) == ["north", "south"]
    assert "hospital" not in best.schema_.names


def test_a_regressor_of_simulated_parties_predicts_rows_of_unknown_parties_too():
    model = PartyColumnRegressor("hospital").fit(ROWS, COST)
    elsewhere = ROWS.assign(hospital="west")
    assert model.score(elsewhere, COST) > 0.8


def test_rows_without_the_party_s_column_are_refused():
    with pytest.raises(InputError, match="must be a DataFrame with the column 'hospital', which says whose each is"):
        PartyColumnClassifier("hospital").fit(ROWS.drop(columns="hospital"), SICK)


def test_sample_weights_are_routed_to_the_collaboration():
    weights = np.where(SICK == "yes", 1.0, 0.05)
    with config_context(enable_metadata_routing=True):
        model = (
            PartyColumnClassifier("hospital").set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        )
        grid = GridSearchCV(model, {"random_state": [0]}, cv=2).fit(ROWS, SICK, sample_weight=weights)
    plain = PartyColumnClassifier("hospital").fit(ROWS, SICK)
    assert (grid.predict(ROWS) == "yes").mean() > (plain.predict(ROWS) == "yes").mean() + 0.05


@pytest.mark.parametrize("kind", [HorizontalCollaboration, VerticalCollaboration])
def test_a_collaboration_is_cloned_with_its_settings_and_without_what_it_learnt(kind):
    made = kind(LogisticRegression(C=2.0), noise=0.3, random_state=1)
    copy = clone(made.set_params(model__C=3.0, n_anchor=500))
    assert copy.get_params()["model__C"] == 3.0
    assert (copy.noise, copy.n_anchor, copy.random_state) == (0.3, 500, 1)
    assert not hasattr(copy, "parties_")


def test_a_regression_s_output_bears_the_target_s_name():
    parts = {name: (ROWS[ROWS["hospital"] == name].drop(columns="hospital")) for name in ("north", "south")}
    together = HorizontalCollaboration(Ridge(), random_state=0)
    together.fit({name: (table, COST.loc[table.index]) for name, table in parts.items()})
    explained = together.explain(ROWS.head(2).drop(columns="hospital"), party="north")
    assert explained.output_names == ("cost",)
    assert "the predicted cost" in explained.reasons()[0].sentence
    side = {"bank": ROWS[["age", "bmi"]], "shop": ROWS[["dose", "days"]]}
    vertical = VerticalCollaboration(Ridge(), random_state=0).fit(side, COST, label_party="shop")
    asked = {name: table.head(2) for name, table in side.items()}
    ways: list[dict[str, Any]] = [{}, {"view": "bank"}, {"view": "bank", "index": "owen"}, {"index": "owen"}]
    for options in ways:
        assert vertical.explain(asked, **options).output_names == ("cost",)


def test_what_a_collaboration_s_explanation_compares_with_is_said(tmp_path):
    parts = {name: (ROWS[ROWS["hospital"] == name].drop(columns="hospital")) for name in ("north", "south")}
    together = HorizontalCollaboration(random_state=0)
    together.fit({name: (table, SICK.loc[table.index]) for name, table in parts.items()})
    rows = ROWS.head(1).drop(columns="hospital")
    said = {
        "anchor": "a typical case (the reference row), the same for every party",
        "background": "a synthetic population (the average over its rows), the same for every party",
        "own": "the median of north's own rows",
    }
    for kind, words in said.items():
        explained = together.explain(rows, party="north", reference=kind, n_background=5)
        assert explained.compared_with == words
        explained.save(tmp_path / "saved.zip")
        assert type(explained).load(tmp_path / "saved.zip").compared_with == words
    assert together.explain(rows, party="north", reference=rows).compared_with == "the reference row"
    html = together._repr_html_()
    assert "north" in html
    assert "LogisticRegression, span supervised, noise 0.2" in html
    found = together.disagreement(rows)
    assert "Disagreement between north, south over 1 samples" in found._repr_html_()
