"""Cells reach the model as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dcshap.exceptions import InputError
from dcshap.shapley import shapley_values

FRAME = pd.DataFrame(
    {
        "age": [31, 45, 38],
        "job": pd.Categorical(["clerk", "smith", "clerk"], categories=["smith", "clerk", "cook"], ordered=True),
        "town": ["York", "Bath", "Hull"],
        "income": [20.5, np.nan, 31.0],
        "member": [True, False, True],
        "visits": pd.array([1, None, 3], dtype="Int64"),
        "since": pd.to_datetime(["2020-01-01", "2021-05-05", "2019-03-03"]),
    },
    index=["a", "b", "c"],
)
REFERENCE = FRAME.iloc[[0]].assign(age=40, town="Bath", job=FRAME["job"].iloc[[1]].to_numpy(), visits=2)
REFERENCE = REFERENCE.astype(FRAME.dtypes.to_dict())


def _score(rows: pd.DataFrame) -> Any:
    assert dict(rows.dtypes) == dict(FRAME.dtypes)
    assert list(rows.columns) == list(FRAME.columns)
    town = rows["town"].to_numpy() == "Bath"
    clerk = (rows["job"] == "clerk").to_numpy()
    return rows["age"].to_numpy() * clerk + town * rows["income"].fillna(7).to_numpy() + rows["visits"].fillna(0)


def test_a_frames_dtypes_categories_and_missing_cells_reach_the_model():
    explanation = shapley_values(_score, FRAME, REFERENCE)
    np.testing.assert_allclose(explanation.predictions, _score(FRAME).astype(float))
    assert explanation.feature_names == tuple(FRAME.columns)
    assert explanation.data is FRAME


def test_a_missing_cell_equals_a_missing_cell():
    frame = FRAME[["income", "visits"]].iloc[[1]]

    def total(rows):
        return rows["income"].fillna(1).to_numpy() + rows["visits"].fillna(1).astype(float).to_numpy()

    explanation = shapley_values(total, frame, {"income": np.nan, "visits": None})
    assert explanation.n_evals.tolist() == [1]


@pytest.mark.parametrize("kind", ["series", "mapping"])
def test_a_reference_may_be_a_row(kind):
    row = REFERENCE.iloc[0] if kind == "series" else dict(REFERENCE.iloc[0])
    expected = shapley_values(_score, FRAME, REFERENCE)
    np.testing.assert_array_equal(shapley_values(_score, FRAME, row).values, expected.values)


def test_several_reference_rows_are_averaged():
    rng = np.random.default_rng(0)
    X, background = rng.normal(size=(3, 4)), rng.normal(size=(5, 4))

    def predict(rows):
        return np.exp(rows[:, 0]) * rows[:, 1:].sum(axis=1)

    each = [shapley_values(predict, X, row) for row in background]
    together = shapley_values(predict, X, background, batch_size=16)
    np.testing.assert_allclose(together.values, np.mean([e.values for e in each], axis=0), atol=1e-12)
    np.testing.assert_allclose(together.base_values, np.mean([e.base_values for e in each], axis=0), atol=1e-12)


def test_several_reference_rows_of_a_frame_are_averaged():
    background = pd.concat([REFERENCE, FRAME.iloc[[2]]], ignore_index=True)
    each = [shapley_values(_score, FRAME, background.iloc[[i]]) for i in range(2)]
    together = shapley_values(_score, FRAME, background)
    np.testing.assert_allclose(together.values, np.mean([e.values for e in each], axis=0), atol=1e-12)


def test_a_polars_frame_reaches_the_model_as_one():
    frame = pl.DataFrame({"n": [1, 2], "s": ["u", "v"]}, schema={"n": pl.Int32, "s": pl.Categorical})

    def predict(rows):
        assert rows.schema == frame.schema
        return (rows["n"] * (rows["s"].cast(pl.String) == "v").cast(pl.Int32)).to_numpy()

    explanation = shapley_values(predict, frame, frame[:1])
    np.testing.assert_allclose(explanation.predictions, [0, 2])
    np.testing.assert_allclose(explanation.values[1], [0.5, 1.5])


def test_an_array_of_integers_meets_a_reference_of_fractions_in_floats():
    explanation = shapley_values(lambda rows: rows.sum(axis=1), np.array([[2, 4]]), [0.5, 0.5])
    np.testing.assert_allclose(explanation.values, [[1.5, 3.5]])


def test_an_array_of_objects_keeps_its_objects():
    X = np.array([["u", 2]], dtype=object)
    explanation = shapley_values(
        lambda rows: np.array([n * (s == "u") for s, n in rows], dtype=float), X, np.array(["v", 1], dtype=object)
    )
    np.testing.assert_allclose(explanation.values, [[1.5, 0.5]])


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        (REFERENCE.assign(age=40.5), "column 'age' of `X`, of dtype int64"),
        ({**dict(REFERENCE.iloc[0]), "job": "pilot"}, "column 'job'"),
        (REFERENCE[list(FRAME.columns)[::-1]], "in the same order"),
        (REFERENCE.drop(columns="age"), r"\(3, 7\).*\(1, 6\)"),
        ({"age": 3}, "Missing: \\['job'"),
        (REFERENCE.iloc[:0], "at least one row"),
    ],
)
def test_a_reference_that_does_not_fit_the_frame_is_refused(reference, says):
    with pytest.raises(InputError, match=says):
        shapley_values(_score, FRAME, reference)


def test_an_array_and_a_reference_of_other_kinds_are_refused():
    with pytest.raises(InputError, match="same kind"):
        shapley_values(len, np.ones((1, 2)), np.array(["a", "b"]))


def test_a_polars_frame_needs_a_reference_of_its_own_dtypes():
    frame = pl.DataFrame({"n": [1, 2]})
    with pytest.raises(InputError, match="Different: \\['n'\\]"):
        shapley_values(len, frame, pl.DataFrame({"n": [1.5]}))
    with pytest.raises(InputError, match="Got ndarray"):
        shapley_values(len, frame, np.ones(1))


def test_what_is_not_a_table_is_refused():
    with pytest.raises(InputError, match="Got set"):
        shapley_values(len, {1, 2}, np.ones(2))
