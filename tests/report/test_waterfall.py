from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer

from dcshap.exceptions import InputError
from dcshap.report import describe_waterfall, side_by_side, style, waterfall
from dcshap.report.style import NEGATIVE, POSITIVE
from tests.report.conftest import Make
from tests.report.drawn import bars, clipped, overlapping, rows, texts


def test_bars_are_the_values_and_lead_from_base_value_to_prediction(make: Make):
    explanation = make([[0.1, -0.3, 0.05], [0.2, 0.1, -0.4]])
    (axes,) = waterfall(explanation, 1).axes
    drawn = bars(axes)
    assert [bar.get_width() for bar in drawn] == pytest.approx([0.1, 0.2, -0.4])  # from the bottom, smallest first
    at = 0.25
    for bar in drawn:
        assert bar.get_x() == pytest.approx(at)
        at += bar.get_width()
    assert at == pytest.approx(explanation.predictions[1])
    assert list(rows(axes)) == ["base value", "f1", "f0", "f2", "prediction"]


def test_colours_say_the_sign_and_so_do_the_numbers(make: Make):
    figure = waterfall(make([[0.1, -0.3]]))
    colours = [to_hex(bar.get_facecolor()) for bar in bars(figure.axes[0])]
    assert colours == [POSITIVE, NEGATIVE]
    assert {"+0.100", "−0.300", "0.250", "0.050"} <= set(texts(figure))


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"age": [39.0], "job": ["Sales"], "note": [None]}),
        pl.DataFrame({"age": [39.0], "job": ["Sales"], "note": [None]}),
        np.array([[39, "Sales", None]], dtype=object),
    ],
)
def test_labels_show_the_value_whatever_the_table_is_made_of(make: Make, data: Any):
    figure = waterfall(make([[0.3, 0.2, 0.1]], feature_names=("age", "job", "note"), data=data))
    assert {"age = 39", "job = Sales", "note = missing"} <= set(rows(figure.axes[0]))


def test_players_that_are_no_columns_have_no_value(make: Make):
    figure = waterfall(make([[0.3, 0.2]], feature_names=("person", "work"), data=np.ones((1, 5))))
    assert {"person", "work"} <= set(rows(figure.axes[0]))


def test_other_parties_features_stand_apart_hatched_below_a_rule_and_without_value(make: Make):
    names = ("age", "DC Features (shop)", "DC Features (telco)", "DC Features (own)")
    bars = {"DC Features (shop)": ("shop",), "DC Features (telco)": ("telco",)}  # what a column is called says nothing
    data = pd.DataFrame({"age": [1], "DC Features (shop)": [9], "DC Features (own)": [2]})
    (axes,) = waterfall(make([[0.1, 0.9, -0.8, 0.2]], feature_names=names, data=data, bars=bars)).axes
    at = rows(axes)
    assert list(at)[1:3] == ["DC Features (telco)", "DC Features (shop)"]
    hatched = {container.get_label() for container in axes.containers if container[0].get_hatch()}
    assert hatched == {"DC Features (shop)", "DC Features (telco)"}
    rules = [np.asarray(line.get_ydata()) for line in axes.get_lines() if line.get_linestyle() == "--"]
    assert [rule.tolist() for rule in rules] == [[2.5, 2.5]]


@pytest.mark.parametrize(
    ("shape", "output", "shown"),
    [((2, 3, 2), None, 1), ((2, 3, 2), "k0", 0), ((2, 3, 2), 0, 0), ((2, 3, 1), None, 0), ((2, 3, 4), "k2", 2)],
)
def test_the_output_is_the_second_of_two_or_the_one_asked_for(make: Make, shape: Any, output: Any, shown: int):
    explanation = make(np.random.default_rng(0).normal(size=shape))
    (axes,) = waterfall(explanation, 1, output).axes
    assert sorted(bar.get_width() for bar in bars(axes)) == pytest.approx(sorted(explanation.values[1, :, shown]))


def test_of_several_classes_the_predicted_one_is_shown(make: Make):
    values = np.zeros((1, 2, 3))
    values[0, 0] = [0.1, 0.7, -0.2]
    assert any("k1" in text for text in texts(waterfall(make(values))))


def test_probabilities_are_called_classes_and_other_outputs_are_not(make: Make):
    values = np.array([[[0.1, -0.1]]])
    assert "Sample 0, class k1: 0.150" in texts(waterfall(make(values, base_values=np.array([[0.75, 0.25]]))))
    assert "Sample 0, output k1: 4.90" in texts(waterfall(make(values, base_values=np.array([[2.0, 5.0]]))))


def test_sampled_values_have_whiskers_of_one_standard_error_and_say_so(make: Make):
    errors = np.array([[0.02, 0.01]])
    figure = waterfall(make([[0.1, -0.3]], exact=False, standard_errors=errors))
    (axes,) = figure.axes
    whiskers = [each for each in axes.containers if isinstance(each, ErrorbarContainer)]
    segments = [segment for each in whiskers for segment in each[2][0].get_segments()]
    assert sorted(np.ptp(segment[:, 0]) / 2 for segment in segments) == pytest.approx([0.01, 0.02])
    assert "+0.100 ± 0.020" in texts(figure)
    assert any("sampled" in text and "standard error" in text for text in texts(figure))


@pytest.mark.parametrize("index", ["shapley", "owen"])
def test_which_index_it_is_is_written_in_the_picture(make: Make, index: str):
    figure = waterfall(make([[0.1]], index=index, view="bank"))
    assert any(text.startswith(index.capitalize()) and "view of bank" in text for text in texts(figure))


def test_what_does_not_fit_is_folded_into_a_bar_that_says_so_and_nothing_is_lost(make: Make):
    values = np.random.default_rng(1).normal(size=(1, 100))
    errors = np.full((1, 100), 0.1)
    explanation = make(values, exact=False, standard_errors=errors)
    (axes,) = waterfall(explanation).axes
    assert "86 other features" in rows(axes)
    assert len(bars(axes)) == 15
    assert sum(bar.get_width() for bar in bars(axes)) == pytest.approx(values.sum())
    assert "−" in describe_waterfall(explanation)
    assert len(bars(waterfall(explanation, max_features=None).axes[0])) == 100


def test_the_whisker_of_the_folded_bar_is_no_longer_than_the_total_allows(make: Make):
    values = np.r_[[5.0, 4.0], np.ones(50)][None]
    figure = waterfall(make(values, exact=False, standard_errors=np.full((1, 52), 0.1)), max_features=3)
    assert "+50.0 ± 0.2" in texts(figure)


def test_nothing_is_clipped_and_no_labels_overlap_in_hard_cases(make: Make):
    names = (
        "a very long feature name that somebody wrote into a spreadsheet and never shortened",
        "größe $x$ <b>",
        "доход",
    )
    data = pd.DataFrame(
        {names[0]: [1234567.891], names[1]: [np.nan], names[2]: ["a category with a text that is too long"]}
    )
    hard = make(
        [[0.1, -0.2, 3e-9]],
        feature_names=names,
        data=data,
        output_names=("an output with a name that is longer than anybody would want to read, really",),
        base_values=np.array([-0.4]),
        view="a party whose name is as long as a name may be, which is sixty-four",
        index="owen",
        exact=False,
    )
    for explanation in (hard, make([[0.0]]), make([[-1e7]], base_values=np.array([-3e6]))):
        figure = waterfall(explanation)
        assert clipped(figure) == []
        assert not overlapping(figure.axes[0].get_yticklabels())
        assert not overlapping(figure.axes[0].get_xticklabels())


def test_a_dollar_in_a_name_is_a_dollar(make: Make):
    figure = waterfall(make([[0.1, 0.2]], feature_names=("$", "cost $ of $_")))
    figure.draw_without_rendering()
    assert "cost $ of $_" in rows(figure.axes[0])


def test_letters_that_the_usual_font_lacks_get_another_font(make: Make, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(style, "_further_families", lambda: ["DejaVu Serif"])
    (axes,) = waterfall(make([[0.1, 0.2]], feature_names=("年収", "größe"))).axes
    families = {label.get_text(): label.get_fontfamily() for label in axes.get_yticklabels()}
    assert families["年収"] == [*families["größe"], "DejaVu Serif"]


def test_a_flat_explanation_is_drawn(make: Make):
    (axes,) = waterfall(make(np.zeros((1, 3)), base_values=np.zeros(1))).axes
    low, high = axes.get_xlim()
    assert low < 0 < high


def test_pyplot_and_its_settings_are_left_alone(make: Make):
    before = dict(plt.rcParams)
    waterfall(make([[0.1]]))
    assert plt.get_fignums() == []
    assert dict(plt.rcParams) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sample": 2}, "one of 2 samples"),
        ({"output": "no"}, "one of \\['k0', 'k1'\\]"),
        ({"output": 2}, "position below 2"),
        ({"max_features": 1}, "at least 2"),
    ],
)
def test_what_there_is_not_cannot_be_drawn(make: Make, arguments: dict[str, Any], message: str):
    with pytest.raises(InputError, match=message):
        waterfall(make(np.ones((2, 3, 2))), **arguments)


def test_values_that_are_no_numbers_cannot_be_drawn(make: Make):
    with pytest.raises(InputError, match="finite"):
        waterfall(make([[np.nan, 1.0]]))


def test_the_description_says_what_the_picture_shows(make: Make):
    words = describe_waterfall(make([[0.1, -0.3]], data=np.array([[7.0, 8.0]])))
    assert words == (
        "Waterfall of Shapley values, exact for output, from base value 0.250 to prediction 0.050. "
        "Compared with a reference that the explanation does not carry. f1 = 8: −0.300; f0 = 7: +0.100."
    )


def test_a_feature_as_in_the_reference_is_called_so_instead_of_zero(make: Make):
    data, reference = np.array([[7.0, 8.0, np.nan]]), np.array([[7.0, 9.0, 1.0]])
    figure = waterfall(make([[0.0, 0.0, 0.0]], data=data, reference=reference))
    # f1 differs from the reference and yet contributes nothing; f2 is missing, and so absent.
    assert [text for text in texts(figure) if text in ("0", "as in the reference")].count("0") == 1
    assert texts(figure).count("as in the reference") == 2
    assert "f2 = missing" in texts(figure)
    assert "Compared with the reference row" in texts(figure)


def test_rows_that_are_typical_for_all_parties_say_so_beside_each_other(make: Make):
    told = {"data": np.array([[7.0, 8.0]]), "reference": np.array([[7.0, 9.0]])}
    figure = side_by_side({"north": make([[0.0, 0.1]], **told), "south": make([[0.0, 0.2]], **told)})
    assert "f0 = 7 (= typical)" in texts(figure)
    assert "f1 = 8" in texts(figure)
