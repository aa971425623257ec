from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap import HorizontalCollaboration, VerticalCollaboration
from dcshap.collaboration.messages import Sent
from dcshap.exceptions import InputError
from dcshap.protocol.steps import ALGORITHM_3, ALGORITHM_4, PARTY_VIEWS, PREDICT, SHARE_MODEL, training
from dcshap.report import (
    Report,
    collaboration_report,
    disagreement_section,
    explanation_report,
    explanation_section,
    parties_table,
    reference_section,
    seen_section,
    sent_table,
    settings_table,
)
from dcshap.report.collaboration import KINDS
from tests.report.checker import Page
from tests.report.conftest import Make

COLUMNS = ["age", "income", "debt", "city"]


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, pd.Series[Any]]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=COLUMNS[:3])
    X["city"] = rng.choice(["Ulm", "Bonn", "<Trier>"], size=200)
    return X, (X["income"] - X["debt"] > 0).map({True: "pays", False: "defaults"})


@pytest.fixture(scope="module")
def horizontal(table: Any) -> HorizontalCollaboration:
    X, y = table
    run = HorizontalCollaboration(LogisticRegression(), n_components=3, random_state=8731)
    return run.fit({"north": (X[:120], y[:120]), "south": (X[120:], y[120:])})


@pytest.fixture(scope="module")
def vertical(table: Any) -> VerticalCollaboration:
    X, y = table
    run = VerticalCollaboration(LogisticRegression(), n_components=1, random_state=8731)
    return run.fit({"bank": X[["age", "income"]], "shop": X[["debt", "city"]]}, y)


# --- explanations ----------------------------------------------------------------------------------------------


def test_the_page_of_an_explanation_shows_samples_values_reference_and_fingerprint(horizontal: Any, table: Any):
    explanation = horizontal.explain(table[0][:3], party="north")
    page = Page(explanation_report(explanation).html())
    words = " ".join(page.text)
    assert page.problems == []
    assert explanation.reference_fingerprint in words
    assert "Shapley values, exact" in words
    assert words.count("All contributions to class pays") == 3


def test_a_party_view_is_labelled_as_owen_and_the_other_party_s_values_are_not_shown(vertical: Any, table: Any):
    X = {"bank": table[0][["age", "income"]][:2], "shop": table[0][["debt", "city"]][:2]}
    page = Page(explanation_report(vertical.explain(X, view="bank", index="owen")).html())
    words = " ".join(page.text)
    assert page.problems == []
    assert "These are Owen values" in words
    assert "view of bank" in words
    assert "DC Features" in words
    assert "debt" not in words


def test_where_samples_are_left_out_the_page_says_so(make: Make):
    words = " ".join(Page(explanation_report(make(np.ones((30, 2))), max_samples=4).html()).text)
    assert "The first 4 of 30 samples are shown" in words
    assert "Sample 3" in words
    assert "Sample 4" not in words
    with pytest.raises(InputError, match="max_samples"):
        explanation_report(make([[1.0]]), max_samples=0)


def test_sampled_values_come_with_their_standard_errors_and_how_many_converged(make: Make):
    sampled = make(
        np.ones((2, 2)), exact=False, standard_errors=np.full((2, 2), 0.125), converged=np.array([True, False])
    )
    words = " ".join(Page(explanation_report(sampled).html()).text)
    assert "standard error is 0.125; 1 of 2 samples reached the precision" in words
    assert "standard error" in words


@pytest.mark.parametrize(
    ("reference", "shown"),
    [
        (None, "does not carry its reference"),
        (np.array([1.5, 2.5]), "2.5"),
        (np.array([[1.5, 2.5]]), "2.5"),
        (pd.Series({"f0": 1.5, "f1": 2.5}), "2.5"),
        (pd.DataFrame({"f0": [1.0, 2.0], "f1": [3.0, 4.0]}), "averaged over 2 reference rows"),
    ],
)
def test_a_reference_of_any_make_is_shown(make: Make, reference: Any, shown: str):
    page = Page(Report("R", [reference_section(make([[0.1, 0.2]], reference=reference))]).html())
    assert page.problems == []
    assert shown in " ".join(page.text)
    assert Page(explanation_report(make([[0.1, 0.2]], reference=reference)).html()).problems == []


def test_an_explanation_of_no_samples_still_makes_a_page(make: Make):
    assert Page(explanation_report(make(np.empty((0, 3)))).html()).problems == []


def test_a_row_is_called_by_its_own_name(make: Make):
    data = pd.DataFrame({"f0": [1, 2]}, index=["A-17", "A-18"])
    assert explanation_section(make([[0.1], [0.2]], data=data), -1).heading == "Sample 1, row A-18"


# --- collaborations -----------------------------------------------------------------------------------------------


def test_the_page_of_a_collaboration_tells_who_took_part_and_what_each_role_saw(horizontal: Any, table: Any):
    explained = {
        method: {party: horizontal.explain(table[0][:9], party=party, reference=kind) for party in horizontal.parties_}
        for method, kind in (("KernelSHAP", "own"), ("DC-SHAP", "anchor"))
    }
    page = Page(
        collaboration_report(
            horizontal,
            title="North & south",
            accuracy=pd.DataFrame({"party": ["north"], "alone": [0.71], "together": [0.8]}),
            explanations=explained,
            disagreements={"KernelSHAP": horizontal.disagreement(table[0][:9], reference="own")},
            examples=[explanation_section(explained["DC-SHAP"]["north"])],
        ).html()
    )
    words = " ".join(page.text)
    assert page.problems == []
    for heading in (
        "Who took part",
        "Accuracy",
        "Do the explanations agree?",
        "Example explanations",
        "What each role saw",
    ):
        assert heading in words
    assert "Where the difference comes from" in words
    assert "The analyst never sees raw rows" in words


def test_a_vertical_collaboration_has_a_page_too(vertical: Any):
    page = Page(collaboration_report(vertical).html())
    assert page.problems == []
    assert "The data dictionary of shop" in " ".join(page.text)


def test_parties_are_counted_by_what_they_sent_also_after_loading(horizontal: Any, tmp_path: Path):
    expected = [["north", 120, 4, 3], ["south", 80, 4, 3]]
    assert parties_table(horizontal).values.tolist() == expected
    horizontal.save(tmp_path / "run")
    assert parties_table(HorizontalCollaboration.load(tmp_path / "run")).values.tolist() == expected


def test_parties_are_counted_by_what_they_trained_with(table: Any):
    X, y = table
    run = VerticalCollaboration(LogisticRegression(), n_components=1, random_state=0)
    run.fit({"bank": X[["age", "income"]], "shop": X[["debt", "city"]]}, y)
    run.predict({"bank": X[["age", "income"]][:3], "shop": X[["debt", "city"]][:3]})
    assert parties_table(run).values.tolist() == [["bank", 200, 2, 1], ["shop", 200, 2, 1]]


def test_the_seed_of_everything_secret_is_not_in_the_page(horizontal: Any):
    assert "random_state" not in set(settings_table(horizontal)["setting"])
    assert "8731" not in collaboration_report(horizontal).html().split("</style>")[1]


def test_a_public_anchor_is_named_and_not_printed(table: Any):
    X, y = table
    public = X.sample(50, random_state=1)
    run = HorizontalCollaboration(LogisticRegression(), n_components=3, anchor=public, random_state=0)
    run.fit({"north": (X[:120], y[:120]), "south": (X[120:], y[120:])})
    assert settings_table(run).set_index("setting")["value"]["anchor"] == "a given table"


def test_no_cell_of_the_data_is_in_a_page_without_examples(horizontal: Any, table: Any):
    text = " ".join(Page(collaboration_report(horizontal).html()).text)
    own = table[0][["age", "income", "debt"]].to_numpy().ravel()
    low_and_high = {f"{value:.4g}" for name in COLUMNS[:3] for value in (table[0][name].min(), table[0][name].max())}
    shown = [f"{value:.4g}" for value in own if len(f"{value:.4g}") > 5]
    assert [value for value in shown if value in text and value not in low_and_high] == []


def test_messages_are_summed_up_by_recipient_with_the_analyst_first():
    sent = [
        Sent("a", "b", "AnchorSeed", {}, 16),
        Sent("a", "analyst", "Representation", {"rows": (5, 3), "labels": (5,)}, 160),
        Sent("a", "analyst", "Representation", {"rows": (5, 3), "labels": (5,)}, 160),
        Sent("analyst", "b", "SharedModel", {}, 0),
        Sent("b", "requester", "Novelty", {}, 1),
    ]
    table = sent_table(sent).astype(object).where(lambda frame: frame.notna(), None).values.tolist()
    assert table[0] == ["analyst", KINDS["Representation"], "Representation", "a", "rows 5 × 3; labels 5", 2, 320]
    assert [row[0] for row in table] == ["analyst", "b", "b", "requester"]
    assert table[2][-1] is None  # a model's size is not counted
    assert table[3][1] == "Novelty"
    assert Page(Report("R", [seen_section([])]).html()).problems == []


def test_every_kind_of_message_is_explained(vertical: Any, horizontal: Any, table: Any):
    X = {"bank": table[0][["age", "income"]][:2], "shop": table[0][["debt", "city"]][:2]}
    vertical.predict(X)
    vertical.explain(X, index="shapley")
    vertical.explain(X, index="owen")
    kinds = {line.kind for line in [*vertical.sent_, *horizontal.sent_]}
    assert kinds <= set(KINDS)
    tables = [
        training(kind, span=span) for kind in ("horizontal", "vertical") for span in ("private", "shared", "supervised")
    ]
    tables += [SHARE_MODEL, ALGORITHM_3, ALGORITHM_4, PARTY_VIEWS, PREDICT]
    messages = [step.message for table in tables for step in table]
    named = {m.__name__ for message in messages for m in (message if isinstance(message, tuple) else (message,))}
    assert named == set(KINDS)  # all that can travel in one process, and nothing that no longer does


# --- the disagreement ---------------------------------------------------------------------------------------------


def test_contradictions_are_listed_with_what_the_other_methods_make_of_them(make: Make):
    north, south = make([[0.2, 0.3], [0.1, 0.1]]), make([[-0.2, 0.3], [0.1, -0.3]])
    agreed = make([[0.123, 0.3], [0.1, 0.1]])
    kept = make([[0.123, 0.3], [0.1, -0.4]])
    explanations = {"KernelSHAP": {"north": north, "south": south}, "DC-SHAP": {"north": agreed, "south": kept}}
    page = Page(Report("R", [disagreement_section(explanations)]).html())
    words = " ".join(" ".join(page.text).split())
    assert page.problems == []
    assert "contradict each other 2 times" in words
    assert "With DC-SHAP, 1 of them remain." in words
    assert "0 f0 +0.200 −0.200 +0.123 +0.123" in words


def test_where_parties_agree_the_page_says_so(make: Make):
    same = {"north": make([[0.2, 0.3]]), "south": make([[0.2, 0.3]])}
    page = Page(Report("R", [disagreement_section({"shared span": same})]).html())
    assert page.problems == []
    assert "no two parties contradict each other" in " ".join(page.text)


def test_of_many_contradictions_the_largest_are_listed_and_it_says_so(make: Make):
    values = np.linspace(0.1, 1, 40).reshape(20, 2)
    words = " ".join(
        Page(Report("R", [disagreement_section({"m": {"a": make(values), "b": make(-values)}})]).html()).text
    )
    assert "The 12 largest are listed" in words
