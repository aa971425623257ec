"""Explanations can be read, cut, plotted and stored."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dcshap._typing import FloatArray
from dcshap.exceptions import InputError, StorageError
from dcshap.shapley import Explanation, shapley_values

RNG = np.random.default_rng(0)
X = RNG.normal(size=(5, 3))


def _two(rows: Any) -> FloatArray:
    rows = np.asarray(rows, dtype=float)
    return np.stack([rows.prod(axis=1), rows.sum(axis=1)], axis=1)


@pytest.fixture(name="explanation")
def _explanation():
    return shapley_values(_two, X, np.zeros(3))


@pytest.fixture(name="owen")
def _owen():
    return shapley_values(_two, X, np.ones(3), index="owen", blocks={"north": [0, 2], "south": [1]})


def test_one_number_a_row_gives_no_axis_for_outputs():
    explanation = shapley_values(lambda rows: _two(rows)[:, 0], X, np.zeros(3))
    assert explanation.values.shape == (5, 3)
    assert explanation.base_values.shape == (5,)


def test_several_numbers_a_row_come_last(explanation):
    assert explanation.values.shape == (5, 3, 2)
    assert explanation.base_values.shape == (5, 2)
    assert explanation.exact
    assert not explanation.standard_errors.any()


@pytest.mark.parametrize("samples", [2, -1, slice(1, 4), [0, 3], np.array([True, False, False, True, False])])
def test_some_of_the_samples_can_be_taken(explanation, samples):
    rows = np.atleast_1d(np.arange(5)[samples])
    taken = explanation[samples]
    assert len(taken) == len(rows)
    np.testing.assert_array_equal(taken.values, explanation.values[rows])
    np.testing.assert_array_equal(taken.data, X[rows])


def test_samples_that_do_not_exist_cannot(explanation):
    with pytest.raises(IndexError, match="5 samples"):
        explanation[5]


def test_the_repr_says_what_it_is(explanation, owen):
    assert repr(explanation) == "Explanation(5 samples, 3 players, 2 outputs, shapley, exact)"
    assert "view='south'" in repr(owen.block_view("south"))


def test_the_frame_has_a_row_for_every_sample_output_and_player(explanation):
    frame = explanation.to_frame()
    assert len(frame) == 5 * 3 * 2
    row = frame[(frame["sample"] == 3) & (frame["output"] == "output 1") & (frame["feature"] == "x2")]
    assert row["contribution"].item() == explanation.values[3, 2, 1]
    assert row["value"].item() == X[3, 2]


def test_shap_gets_the_same_numbers(explanation, shap):
    theirs = explanation.to_shap()
    np.testing.assert_array_equal(theirs.values, explanation.values)
    np.testing.assert_array_equal(theirs.base_values, explanation.base_values)
    np.testing.assert_array_equal(theirs.data, X)


def test_shap_gets_no_cells_where_players_are_groups(shap):
    assert shapley_values(_two, X, np.zeros(3), groups=[[0, 1], [2]]).to_shap().data is None


def test_the_view_of_a_block_that_does_not_exist_is_refused(explanation, owen):
    for each in (explanation, owen, owen.block_view("south")):
        with pytest.raises(InputError, match="must be one of"):
            each.block_view("west")


FRAME = pd.DataFrame(
    {
        "n": [1, 2],
        "c": pd.Categorical(["u", "v"], categories=["w", "v", "u"], ordered=True),
        "s": ["p", None],
        "m": pd.array([1, None], dtype="Int64"),
        "t": pd.to_datetime(["2020-01-01", "2021-01-01"]),
        "o": [0.5, np.nan],
    },
    index=pd.Index(["a", "b"], name="record"),
)
TABLES = {
    "array": X[:2],
    "strings": np.array([["u", "v"], ["w", "x"]]),
    "objects": np.array([["u", 2], ["v", None]], dtype=object),
    "pandas": FRAME,
    "polars": pl.DataFrame({"n": [1, 2], "s": ["u", None]}, schema={"n": pl.Int8, "s": pl.String}),
    "none": None,
}


@pytest.mark.parametrize("kind", TABLES)
def test_what_was_saved_is_loaded_as_it_was(owen, tmp_path, kind):
    saved = replace(owen[:2], data=TABLES[kind], reference=TABLES[kind])
    saved.save(tmp_path / "explanation")
    loaded = Explanation.load(tmp_path / "explanation")
    for name in vars(saved):
        mine, theirs = getattr(saved, name), getattr(loaded, name)
        assert type(mine) is type(theirs)
        if isinstance(mine, pd.DataFrame):
            pd.testing.assert_frame_equal(mine, theirs)
        elif isinstance(mine, pl.DataFrame):
            assert mine.equals(theirs)
            assert mine.schema == theirs.schema
        elif isinstance(mine, np.ndarray):
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)
        else:
            assert mine == theirs


def test_cells_that_no_plain_file_can_hold_are_not_saved(explanation, tmp_path):
    odd = replace(explanation, data=np.array([[object()] * 3] * 5, dtype=object))
    with pytest.raises(StorageError, match="`data`"):
        odd.save(tmp_path / "explanation")


def test_a_damaged_file_is_refused(explanation, tmp_path):
    path = tmp_path / "explanation"
    path.write_bytes(b"no zip at all")
    with pytest.raises(StorageError, match="damaged"):
        Explanation.load(path)
    explanation.save(path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(StorageError, match="damaged"):
        Explanation.load(path)


def _members(path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def _loads_whole_or_is_refused(path, original) -> None:
    try:
        loaded = Explanation.load(path)
    except StorageError:
        return
    np.testing.assert_array_equal(loaded.values, original.values)


def test_whatever_is_cut_off_a_file_it_is_refused(explanation, tmp_path):
    path = tmp_path / "explanation"
    explanation.save(path)
    whole = path.read_bytes()
    for length in range(0, len(whole) - 1, 7):
        path.write_bytes(whole[:length])
        with pytest.raises(StorageError):
            Explanation.load(path)


def test_a_flipped_bit_is_harmless_or_refused(explanation, tmp_path):
    path = tmp_path / "explanation"
    replace(explanation, data=FRAME.iloc[[0, 1, 0, 1, 0]]).save(path)
    whole = path.read_bytes()
    flips = np.random.default_rng(1)
    for _ in range(1500):
        at, bit = int(flips.integers(len(whole))), int(flips.integers(8))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << bit)]) + whole[at + 1 :])
        _loads_whole_or_is_refused(path, explanation)


@pytest.mark.parametrize("change", ["removed", "emptied", "cut", "noise"])
def test_a_member_that_is_missing_or_nonsense_is_refused(explanation, tmp_path, change):
    path = tmp_path / "explanation"
    replace(explanation, data=FRAME.iloc[[0, 1, 0, 1, 0]]).save(path)
    members = _members(path)
    assert len(members) == 8
    for name, content in members.items():
        changed = {"emptied": b"", "cut": content[: len(content) // 2], "noise": bytes(reversed(content))}
        with zipfile.ZipFile(path, "w") as file:
            for each in members:
                if each != name or change != "removed":
                    file.writestr(each, changed[change] if each == name else members[each])
        with pytest.raises(StorageError):
            Explanation.load(path)


@pytest.mark.parametrize("name", ["format", "feature_names", "blocks", "exact", "data_kind"])
@pytest.mark.parametrize("content", [None, 7, [1], {"a": 1}, "text"])
def test_a_description_of_another_shape_is_harmless_or_refused(explanation, tmp_path, name, content):
    path = tmp_path / "explanation"
    explanation.save(path)
    members = _members(path)
    members["about.json"] = json.dumps(json.loads(members["about.json"]) | {name: content}).encode()
    with zipfile.ZipFile(path, "w") as file:
        for each, part in members.items():
            file.writestr(each, part)
    _loads_whole_or_is_refused(path, explanation)


def test_a_file_that_is_not_there_is_called_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        Explanation.load(tmp_path / "nowhere")


def test_a_pickled_array_is_refused(explanation, tmp_path):
    path = tmp_path / "explanation"
    explanation.save(path)
    np.save(tmp_path / "evil.npy", np.array([{"any": "object"}], dtype=object), allow_pickle=True)
    parts = {}
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    parts["values.npy"] = (tmp_path / "evil.npy").read_bytes()
    with zipfile.ZipFile(path, "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)
    with pytest.raises(StorageError, match="damaged"):
        Explanation.load(path)


def test_a_file_of_another_format_is_refused(tmp_path):
    path = tmp_path / "explanation"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("about.json", '{"format": "dcshap explanation 99"}')
    with pytest.raises(StorageError, match="explanation 99"):
        Explanation.load(path)


def test_arrays_that_do_not_fit_each_other_are_refused(explanation):
    with pytest.raises(InputError, match="`base_values` must have shape"):
        replace(explanation, base_values=np.zeros(4))
