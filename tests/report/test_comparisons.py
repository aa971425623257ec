"""Pictures that compare: views, methods, parties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer

from dcshap import disagreement
from dcshap.exceptions import InputError
from dcshap.report import dots, rmse_bars, side_by_side
from dcshap.report.style import BAND, SERIES
from tests.report.conftest import Make
from tests.report.drawn import bars, clipped, overlapping, rows, texts

RNG = np.random.default_rng(0)


# --- dots -----------------------------------------------------------------------------------------------------


def test_each_dot_is_a_feature_of_one_sample_in_the_row_of_the_feature(make: Make):
    full = make(RNG.normal(size=(20, 3, 2)))
    host = make(RNG.normal(size=(20, 2, 2)), feature_names=("f1", "DC Features"), bars={"DC Features": ("shop",)})
    figure = dots({"full": full, "host": host})
    order = {name: at for at, name in enumerate(["f0", "f1", "f2", "DC Features"])}
    assert rows(figure.axes[0]) == order
    for axes, explanation in zip(figure.axes, (full, host), strict=True):
        drawn = {str(cloud.get_label()): np.asarray(cloud.get_offsets()) for cloud in axes.collections}
        assert set(drawn) == set(explanation.feature_names)
        for j, name in enumerate(explanation.feature_names):
            np.testing.assert_allclose(drawn[name][:, 0], explanation.values[:, j, 1])
            assert (np.abs(drawn[name][:, 1] - order[name]) < 0.5).all()


def test_equal_values_do_not_hide_each_other(make: Make):
    figure = dots({"one": make(np.full((7, 1), 0.1))})
    heights = np.asarray(figure.axes[0].collections[0].get_offsets())[:, 1]
    assert len(set(heights.round(6))) == 7


def test_every_panel_says_which_index_it_shows(make: Make):
    values = RNG.normal(size=(5, 2))
    figure = dots({"third party": make(values), "bank": make(values, index="owen")})
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "third party\nShapley values, exact",
        "bank\nOwen values, exact",
    ]


@pytest.mark.parametrize("n_views", [1, 3, 5])
def test_any_number_of_views_fits(make: Make, n_views: int):
    figure = dots({f"view {at}": make(RNG.normal(size=(9, 4, 3))) for at in range(n_views)})
    assert sum(axes.get_visible() for axes in figure.axes) == n_views
    assert clipped(figure) == []
    assert "Contributions to each sample's predicted class, 9 samples" in " ".join(texts(figure))


def test_no_views_are_an_error():
    with pytest.raises(InputError, match="at least one view"):
        dots({})


# --- RMSE bars --------------------------------------------------------------------------------------------------


def test_bars_are_the_difference_of_every_feature_and_the_legend_their_average(make: Make):
    given = {"KernelSHAP": _between(make, 4), "DC-SHAP": _between(make, 4)}
    figure = rmse_bars(given)
    (axes,) = figure.axes
    for container, (method, found), colour in zip(axes.containers, given.items(), SERIES, strict=False):
        assert container.get_label() == method
        assert [bar.get_width() for bar in container] == pytest.approx(list(found.rmse_per_feature))
        assert {to_hex(bar.get_facecolor()) for bar in container} == {colour}
    legend = _legend(axes)
    assert [text.split(", on average ")[0] for text in legend] == list(given)
    assert [float(text.split(", on average ")[1]) for text in legend] == pytest.approx(
        [found.rmse for found in given.values()], rel=0.01
    )


def test_a_spread_over_seeds_is_drawn_as_whiskers(make: Make):
    means = pd.Series([0.2, 0.1], index=["a", "b"])
    (axes,) = rmse_bars({"one": means}, spread={"one": pd.Series([0.01, 0.05], index=["b", "a"])}).axes
    (whiskers,) = (each for each in axes.containers if isinstance(each, ErrorbarContainer))
    segments = whiskers[2][0].get_segments()
    assert [np.ptp(segment[:, 0]) / 2 for segment in segments] == pytest.approx([0.05, 0.01])


def test_of_many_features_those_that_differ_most_are_drawn_and_it_says_so(make: Make):
    found = _between(make, 100)
    figure = rmse_bars({"one": found})
    drawn = list(rows(figure.axes[0]))
    assert set(drawn) == set(found.rmse_per_feature.nlargest(30).index)
    assert drawn == [name for name in found.feature_names if name in drawn]
    assert any("the 30 of 100 that differ most" in text for text in texts(figure))
    assert clipped(figure) == []


def test_parties_that_agree_completely_are_drawn(make: Make):
    same = make(RNG.normal(size=(3, 2)))
    figure = rmse_bars({"shared span": disagreement({"a": same, "b": same})})
    assert figure.axes[0].get_xlim() == (0, 1)


@pytest.mark.parametrize(
    ("given", "spread", "message"),
    [
        ({}, None, "at least one method"),
        ({"a": pd.Series([1.0], index=["x"]), "b": pd.Series([1.0], index=["y"])}, None, "same 1 features"),
        ({"a": pd.Series([np.nan], index=["x"])}, None, "finite"),
        ({"a": pd.Series([1.0], index=["x"])}, {"b": pd.Series([1.0], index=["x"])}, "`spread`"),
    ],
)
def test_differences_that_cannot_be_compared_are_an_error(given: Any, spread: Any, message: str):
    with pytest.raises(InputError, match=message):
        rmse_bars(given, spread=spread)


def test_there_must_be_room_for_a_feature(make: Make):
    with pytest.raises(InputError, match="max_features"):
        rmse_bars({"one": _between(make, 3)}, max_features=0)


def _between(make: Make, n_features: int) -> Any:
    return disagreement({name: make(RNG.normal(size=(6, n_features))) for name in ("north", "south")})


# --- parties side by side ------------------------------------------------------------------------------------------


def test_every_party_has_a_bar_for_every_feature_and_contradictions_are_shaded(make: Make):
    north, south = make([[0.2, 0.1, 0.06]]), make([[0.3, -0.08, -0.04]])
    figure = side_by_side({"north": north, "south": south})
    (axes,) = figure.axes
    assert list(rows(axes)) == ["f0", "f1", "f2"]
    drawn = {container.get_label(): [bar.get_width() for bar in container] for container in axes.containers}
    assert drawn == {"north": pytest.approx([0.2, 0.1, 0.06]), "south": pytest.approx([0.3, -0.08, -0.04])}
    assert _shaded(axes) == [1]
    legend = _legend(axes)
    assert legend == ["north: 0.250 → 0.610", "south: 0.250 → 0.430", "opposite signs, both over 0.05"]


def test_the_threshold_decides_what_is_a_contradiction(make: Make):
    parties = {"north": make([[0.2, 0.06]]), "south": make([[-0.2, -0.04]])}
    assert _shaded(side_by_side(parties, threshold=0.3).axes[0]) == []
    assert _shaded(side_by_side(parties, threshold=0.03).axes[0]) == [0, 1]


def test_methods_get_a_panel_each_with_features_in_the_same_rows(make: Make):
    kernel = {"north": make([[0.1, 0.2]]), "south": make([[0.1, -0.2]])}
    dc = {"north": make([[0.5, 0.2]]), "south": make([[0.5, 0.2]])}
    figure = side_by_side({"KernelSHAP": kernel, "DC-SHAP": dc})
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["KernelSHAP", "DC-SHAP"]
    assert list(rows(figure.axes[0])) == ["f0", "f1"]
    assert [_shaded(axes) for axes in figure.axes] == [[1], []]


def test_small_features_are_folded_but_never_a_contradiction(make: Make):
    values = np.linspace(1, 0.1, 40)[None]
    other = values.copy()
    other[0, 38] *= -1
    figure = side_by_side({"north": make(values), "south": make(other)}, max_features=5)
    (axes,) = figure.axes
    assert list(rows(axes)) == ["f0", "f1", "f2", "f3", "f38", "35 other features"]
    for container, expected in zip(axes.containers, (values, other), strict=True):
        assert sum(bar.get_width() for bar in container) == pytest.approx(expected.sum())


def test_many_parties_can_be_told_apart(make: Make):
    figure = side_by_side({f"party {at}": make(RNG.normal(size=(1, 3))) for at in range(8)})
    looks = {(to_hex(box[0].get_facecolor()), box[0].get_hatch()) for box in figure.axes[0].containers}
    assert len(looks) == 8
    assert clipped(figure) == []


def test_other_parties_features_come_last(make: Make):
    names = ("DC Features", "age")
    parties = {name: make([[9.0, 0.1]], feature_names=names, bars={"DC Features": ("c",)}) for name in "ab"}
    assert list(rows(side_by_side(parties).axes[0])) == ["age", "DC Features"]


def test_labels_neither_overlap_nor_leave_the_picture(make: Make):
    names = tuple(f"{letter * 60} a name that is far too long" for letter in "abc")
    data = pd.DataFrame({name: ["a category with quite a long text in it"] for name in names})
    panel = {
        party: make(RNG.normal(size=(1, 3)), feature_names=names, data=data)
        for party in ("a rather long name of a party that goes on", "south")
    }
    figure = side_by_side({"KernelSHAP": panel, "DC-SHAP": panel})
    assert clipped(figure) == []
    assert not overlapping(figure.axes[0].get_yticklabels())


@pytest.mark.parametrize("change", [{"feature_names": ("x", "y")}, {"index": "owen"}, {"output_names": ("other",)}])
def test_explanations_that_are_not_of_the_same_thing_are_refused(make: Make, change: dict[str, Any]):
    with pytest.raises(InputError, match="same"):
        side_by_side({"a": make([[1.0, 2.0]]), "b": make([[1.0, 2.0]], **change)})


@pytest.mark.parametrize("given", [{}, {"a": {}}])
def test_nothing_to_compare_is_an_error(given: Any):
    with pytest.raises(InputError):
        side_by_side(given)


def test_methods_and_parties_cannot_be_mixed(make: Make):
    with pytest.raises(InputError, match="all"):
        side_by_side({"a": make([[1.0]]), "m": {"a": make([[1.0]])}})  # type: ignore[arg-type]  # the mistake


def _shaded(axes: Axes) -> list[int]:
    return [round(bar.get_y() + 0.5) for bar in bars(axes) if to_hex(bar.get_facecolor()) == BAND]


def _legend(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]
