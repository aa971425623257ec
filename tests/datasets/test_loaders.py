from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from sklearn.preprocessing import LabelEncoder

from dcshap import datasets
from dcshap.datasets import files
from dcshap.exceptions import DatasetError, InputError

HEART_CATEGORIES = {
    "sex": [0, 1],
    "cp": [1, 2, 3, 4],
    "fbs": [0, 1],
    "restecg": [0, 1, 2],
    "exang": [0, 1],
    "slope": [1, 2, 3],
    "thal": [3, 6, 7],
}
ADULT_CATEGORICAL = ["workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country"]
HEART_FILES = [f"heart/processed.{name}.data" for name in ("cleveland", "hungarian", "switzerland", "va")]
PIMA_FILE = "pima/pima-indians-diabetes.data.csv"

# What each loader needs at hand, its shape, the name of its target and the rows of each class.
LOADERS = {
    "load_iris": ([], (150, 4), "species", [50, 50, 50]),
    "load_wine": ([], (178, 13), "cultivar", [59, 71, 48]),
    "load_breast_cancer": ([], (569, 30), "diagnosis", [212, 357]),
    "load_adult": ([], (48842, 12), "income", [37155, 11687]),
    "load_heart": ([], (297, 13), "disease", [160, 137]),
    "load_pima": ([PIMA_FILE], (768, 8), "outcome", [500, 268]),
    "load_heart_hospitals": (HEART_FILES, (920, 13), "disease", [411, 509]),
}


@pytest.fixture(params=LOADERS)
def loaded(request, published):
    needed, shape, target, counts = LOADERS[request.param]
    published(*needed)
    return getattr(datasets, request.param)(), shape, target, counts


def test_every_set_has_the_published_shape_and_classes(loaded):
    bunch, shape, target, counts = loaded
    assert bunch.data.shape == shape
    assert bunch.target.name == target
    assert bunch.target.dtype == np.int64
    assert bunch.target.value_counts().sort_index().to_list() == counts
    assert len(bunch.target_names) == len(counts)


def test_every_set_is_a_frame_with_a_series_on_the_same_index(loaded):
    bunch, *_ = loaded
    assert isinstance(bunch.data, pd.DataFrame)
    assert isinstance(bunch.target, pd.Series)
    pd.testing.assert_index_equal(bunch.data.index, pd.RangeIndex(len(bunch.data)))
    pd.testing.assert_index_equal(bunch.target.index, bunch.data.index)
    assert bunch.feature_names == list(bunch.data.columns)
    assert bunch.target.name not in bunch.feature_names


def test_every_set_says_where_it_comes_from_and_under_which_licence(loaded):
    bunch, *_ = loaded
    assert "icence" in bunch.DESCR
    assert "Source" in bunch.DESCR or "scikit-learn" in bunch.DESCR


def test_loading_again_gives_a_fresh_copy(loaded, request):
    bunch, *_ = loaded
    before = bunch.data.copy()
    bunch.target_names.clear()
    bunch.data.iloc[:, 0] = bunch.data.iloc[0, 0]
    name = request.node.callspec.params["loaded"]
    again = getattr(datasets, name)()
    assert again.data.equals(before)
    assert again.target_names


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer"])
def test_toy_sets_have_the_values_of_scikit_learn(name):
    ours = getattr(datasets, f"load_{name}")()
    theirs = getattr(sklearn.datasets, f"load_{name}")()
    np.testing.assert_array_equal(ours.data, theirs.data)
    np.testing.assert_array_equal(ours.target, theirs.target)
    assert ours.feature_names == list(theirs.feature_names)
    assert ours.target_names == list(theirs.target_names)


def test_adult_has_twelve_features_seven_of_them_categories_and_five_int64():
    data = datasets.load_adult().data
    assert not {"fnlwgt", "education", "income"} & set(data.columns)
    for name in data.columns:
        is_categorical = isinstance(data[name].dtype, pd.CategoricalDtype)
        assert is_categorical == (name in ADULT_CATEGORICAL)
        assert is_categorical or data[name].dtype == np.int64
    assert not data.isna().any(axis=None)


def test_adult_rows_are_those_of_the_files():
    # The standard library's csv module is an independent reader.
    data = datasets.load_adult("test").data
    lines = files.read_embedded("adult.test").decode().splitlines()[1:]
    rows = [row for row in csv.reader(lines, skipinitialspace=True) if row]
    expected = [row[:2] + row[4:14] for row in rows]
    assert data.astype(str).to_numpy().tolist() == expected


def test_adult_category_codes_are_the_label_encoding_of_the_paper():
    data = datasets.load_adult().data
    for name in ADULT_CATEGORICAL:
        np.testing.assert_array_equal(data[name].cat.codes, LabelEncoder().fit_transform(data[name].astype(str)))


def test_adult_unknown_stays_a_category_in_3620_rows():
    data = datasets.load_adult().data
    unknown = (data[ADULT_CATEGORICAL].astype(str) == "?").any(axis=1)
    assert unknown.sum() == 3620
    for name in ("workclass", "occupation", "native-country"):
        assert data[name].cat.categories[0] == "?"


def test_adult_parts_have_the_published_counts_and_make_up_the_whole():
    whole, train, test = (datasets.load_adult(subset) for subset in ("all", "train", "test"))
    assert train.target.value_counts().to_dict() == {0: 24720, 1: 7841}
    assert test.target.value_counts().to_dict() == {0: 12435, 1: 3846}
    # Columns of different categories would not concatenate to categories.
    assert pd.concat([train.data, test.data], ignore_index=True).equals(whole.data)
    pd.testing.assert_series_equal(pd.concat([train.target, test.target], ignore_index=True), whole.target)


def test_adult_as_published_equals_the_embedded(published):
    published("adult/adult.data", "adult/adult.test")
    ours, theirs = datasets.load_adult(), datasets.load_adult(source="published")
    assert ours.data.equals(theirs.data)
    assert ours.target.equals(theirs.target)


def test_heart_categories_are_the_published_codes_in_numeric_order():
    data = datasets.load_heart().data
    for name in data.columns:
        if name in HEART_CATEGORIES:
            assert data[name].cat.categories.to_list() == HEART_CATEGORIES[name]
        else:
            assert data[name].dtype == np.float64
    assert not data.isna().any(axis=None)


def test_heart_rows_are_those_of_the_file():
    heart = datasets.load_heart()
    rows = [line.split(",") for line in files.read_embedded("cleveland-complete.data").decode().split()]
    expected = np.array(rows, dtype=float)
    np.testing.assert_array_equal(heart.data.astype(float), expected[:, :13])
    np.testing.assert_array_equal(heart.target, expected[:, 13] > 0)


def test_heart_as_published_has_303_rows_of_which_297_are_complete(published):
    published("heart/processed.cleveland.data")
    heart = datasets.load_heart(source="published")
    missing = heart.data.isna().sum()
    assert heart.data.shape == (303, 13)
    assert heart.target.value_counts().to_dict() == {0: 164, 1: 139}
    assert missing[missing > 0].to_dict() == {"ca": 4, "thal": 2}
    assert len(heart.data.dropna()) == 297
    pd.testing.assert_series_equal(heart.data.dtypes, datasets.load_heart().data.dtypes)


def test_hospitals_are_told_apart_beside_the_features(published):
    published(*HEART_FILES)
    hearts = datasets.load_heart_hospitals()
    assert hearts.hospital.value_counts(sort=False).to_dict() == {
        "cleveland": 303, "hungarian": 294, "switzerland": 123, "va": 200,
    }  # fmt: skip
    assert hearts.target.groupby(hearts.hospital, observed=True).sum().to_list() == [139, 106, 115, 149]
    pd.testing.assert_index_equal(hearts.hospital.index, hearts.data.index)
    assert "hospital" not in hearts.feature_names
    cleveland = hearts.data[hearts.hospital == "cleveland"]
    pd.testing.assert_frame_equal(cleveland, datasets.load_heart(source="published").data)


def test_hospitals_zeros_in_chol_and_trestbps_are_missing_unless_kept(published):
    published(*HEART_FILES)
    kept, missing = (datasets.load_heart_hospitals(zeros=zeros) for zeros in ("keep", "missing"))
    zeros = (kept.data[["chol", "trestbps"]] == 0).groupby(kept.hospital, observed=True).sum()
    assert zeros["chol"].to_dict() == {"cleveland": 0, "hungarian": 0, "switzerland": 123, "va": 49}
    assert zeros["trestbps"].to_dict() == {"cleveland": 0, "hungarian": 0, "switzerland": 0, "va": 1}
    became_missing = missing.data.isna().sum() - kept.data.isna().sum()
    assert became_missing[became_missing > 0].to_dict() == {"trestbps": 1, "chol": 172}
    assert (missing.data["oldpeak"] == 0).sum() == (kept.data["oldpeak"] == 0).sum() > 0


def test_pima_zeros_are_kept_as_in_the_paper_unless_asked_for_as_missing(published):
    published(PIMA_FILE)
    counts = {"glucose": 5, "blood-pressure": 35, "skin-thickness": 227, "insulin": 374, "bmi": 11}
    kept, missing = datasets.load_pima(), datasets.load_pima(zeros="missing")
    assert (kept.data[list(counts)] == 0).sum().to_dict() == counts
    assert not kept.data.isna().any(axis=None)
    assert missing.data[list(counts)].isna().sum().to_dict() == counts
    pd.testing.assert_frame_equal(missing.data.fillna(0.0), kept.data)


@pytest.mark.parametrize(
    ("load", "arguments"),
    [
        (datasets.load_adult, {"subset": "validation"}),
        (datasets.load_adult, {"source": "web"}),
        (datasets.load_heart, {"source": None}),
        (datasets.load_heart_hospitals, {"zeros": True}),
        (datasets.load_pima, {"zeros": "drop"}),
    ],
)
def test_an_unknown_option_is_refused_with_the_options_there_are(load, arguments):
    (parameter,) = arguments
    with pytest.raises(InputError, match=f"`{parameter}` must be one of '"):
        load(**arguments)


@pytest.mark.parametrize("load", [datasets.load_pima, datasets.load_heart_hospitals])
def test_a_set_that_is_nowhere_to_be_had_is_a_dataset_error(load, monkeypatch, tmp_path):
    monkeypatch.setenv("DCSHAP_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("DCSHAP_CACHE", str(tmp_path / "cache"))
    with pytest.raises(DatasetError, match="must be there as it was published"):
        load()
