from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dcshap import Explanation, shapley_values
from dcshap.shapley.telling.likeness import as_in_reference

TABLE = pd.DataFrame({"age": [40.0, 60.0], "bmi": [25.0, np.nan], "dose": [1.0, 3.0]}, index=["P1", "P2"])
REFERENCE = pd.DataFrame({"age": [40.0], "bmi": [np.nan], "dose": [2.0]})


def _sum(rows: pd.DataFrame) -> np.ndarray:
    return rows.fillna(0.0).to_numpy(dtype=float).sum(axis=1)


@pytest.fixture
def explained() -> Explanation:
    return shapley_values(_sum, TABLE, REFERENCE)


def test_features_that_equal_the_reference_are_named_and_others_are_not(explained):
    assert as_in_reference(explained, 0) == {"age"}
    assert as_in_reference(explained, 1) == {"bmi"}  # missing in both


def test_a_zero_of_a_feature_that_differs_from_the_reference_is_a_zero():
    blind = shapley_values(lambda rows: np.zeros(len(rows)), TABLE, REFERENCE)
    assert as_in_reference(blind, 0) == {"age"}


def test_an_export_has_identifier_cell_contribution_base_value_and_prediction(explained):
    frame = explained.to_frame()
    row = frame[(frame["row"] == "P2") & (frame["feature"] == "dose")].iloc[0]
    assert (row["value"], row["contribution"], row["base_value"], row["prediction"]) == (3.0, 1.0, 42.0, 63.0)
    assert list(frame["as_in_reference"]) == [True, False, False, False, True, False]


def test_an_export_of_chosen_outputs_tells_of_one_output_of_each_sample():
    two = shapley_values(lambda rows: np.stack([_sum(rows), -_sum(rows)], axis=1), TABLE, REFERENCE)
    frame = two.to_frame(two.chosen_outputs())
    assert len(frame) == 6
    assert set(frame["output"]) == {"output 1"}


def test_a_player_s_contributions_are_found_by_name(explained):
    np.testing.assert_array_equal(explained["age"], explained.values[:, 0])
    with pytest.raises(KeyError, match="There is no player 'height' among"):
        explained["height"]


def test_samples_come_one_after_the_other(explained):
    assert [each.data.index[0] for each in explained] == ["P1", "P2"]
    assert all(len(each) == 1 for each in explained)


def test_what_is_compared_with_is_said_in_words(explained):
    assert explained.compared_with == "the reference row"
    several = shapley_values(_sum, TABLE, pd.concat([REFERENCE, REFERENCE + 1.0]))
    assert several.compared_with == "2 reference rows, on average"


def test_an_explanation_goes_to_shap_and_comes_back():
    pytest.importorskip("shap")
    two = shapley_values(lambda rows: np.stack([_sum(rows), -_sum(rows)], axis=1), TABLE, REFERENCE)
    back = Explanation.from_shap(two.to_shap())
    np.testing.assert_array_equal(back.values, two.values)
    np.testing.assert_array_equal(back.predictions, two.predictions)
    assert back.feature_names == two.feature_names
    assert back.output_names == two.output_names


def test_a_notebook_shows_contributions_and_escapes_names():
    odd = TABLE.rename(columns={"dose": "<script>"})
    one = shapley_values(_sum, odd, REFERENCE.rename(columns={"dose": "<script>"}))[0]
    html = one._repr_html_()
    assert "&lt;script&gt;" in html
    assert "<script>" not in html
    assert "as in the reference" in html
    assert "Compared with the reference row." in html
    assert "prefers-color-scheme:dark" in html
    assert len(html) < 10_000
    assert "mean size" in shapley_values(_sum, TABLE, REFERENCE)._repr_html_()
