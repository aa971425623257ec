"""A collaboration is worth joining: better than alone, nearly as good as pooled data."""

from __future__ import annotations

import pytest
from benchmarks.accuracy import DIVISIONS, measure

from dcshap import datasets
from dcshap.exceptions import DatasetError


def assert_worthwhile(row, *, of_pooled: float, of_pooled_pca: float) -> None:
    assert row["private"] >= row["better_alone"]
    assert row["private"] >= row["pooled"] - of_pooled
    assert abs(row["shared"] - row["pooled_pca"]) <= of_pooled_pca


def test_on_a_part_of_adult_it_is_better_than_alone_and_nearly_as_good_as_pooled_data():
    assert_worthwhile(measure("adult", divisions=1, full=False), of_pooled=0.03, of_pooled_pca=0.01)


@pytest.mark.slow
def test_on_adult_it_is_better_than_alone_and_nearly_as_good_as_pooled_data():
    assert_worthwhile(measure("adult", divisions=1), of_pooled=0.02, of_pooled_pca=0.005)


@pytest.mark.parametrize("name", ["iris", "heart"])
def test_on_small_data_it_is_nearly_as_good_as_pooled_data(name):
    assert_worthwhile(measure(name, divisions=6), of_pooled=0.05, of_pooled_pca=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["iris", "wine", "heart", "pima"])
def test_over_many_divisions_it_is_nearly_as_good_as_pooled_data(name):
    try:
        getattr(datasets, f"load_{name}")()
    except DatasetError as error:
        pytest.skip(str(error))
    assert_worthwhile(measure(name, divisions=DIVISIONS[name]), of_pooled=0.05, of_pooled_pca=0.005)
