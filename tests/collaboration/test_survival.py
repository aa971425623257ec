"""Columns that a party's own model leans on and that its representation lacks."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from dcshap import HorizontalCollaboration, Schema, VerticalCollaboration
from dcshap.collaboration.moments import Moments, class_responses, number_responses
from dcshap.collaboration.survival import lost_columns
from dcshap.exceptions import QualityWarning

NAMES = ["a", "b", "c"]
BLOCKS = [slice(0, 1), slice(1, 2), slice(2, 3)]


def moments(*, n=2000, weights=(1.0, 1.0, 0.0), classes=True, mixed=0.0):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    X[:, 2] += mixed * X[:, 0]
    score = X @ np.array(weights) + 0.5 * rng.standard_normal(n)
    if classes:
        return Moments.of([X], class_responses((score > 0).astype(int), [0, 1]), classes=True)
    return Moments.of([X], number_responses(score, low=-5, high=5), classes=False)


@pytest.mark.parametrize("classes", [True, False])
def test_a_column_that_matters_and_is_dropped_is_named(classes):
    found = moments(classes=classes)
    assert lost_columns(found, BLOCKS, np.eye(3)[:, :1], NAMES) == ["b"]
    assert lost_columns(found, BLOCKS, np.eye(3), NAMES) == []


def test_one_direction_that_predicts_keeps_every_column_that_matters():
    assert lost_columns(moments(), BLOCKS, np.array([[1.0], [1.0], [0.0]]), NAMES) == []


def test_a_column_that_does_not_matter_is_not_missed():
    assert lost_columns(moments(weights=(1.0, 0.0, 0.0)), BLOCKS, np.eye(3)[:, :1], NAMES) == []


def test_a_column_that_another_stands_in_for_is_not_lost():
    assert lost_columns(moments(mixed=5.0), BLOCKS, np.eye(3)[:, 1:], NAMES) == []


def test_too_few_rows_say_nothing():
    assert lost_columns(moments(n=25), BLOCKS, np.eye(3)[:, :1], NAMES) == []


def calls(n=3000):
    """A call's duration decides, and has a heavy tail."""
    rng = np.random.default_rng(0)
    duration = np.exp(rng.normal(5, 1, n))
    others = {f"n{j}": rng.uniform(0, 1, n) for j in range(5)}
    X = pd.DataFrame({"duration": duration} | others)
    return X, (np.log(duration) + 0.5 * rng.standard_normal(n) > 5).astype(int)


def test_a_heavy_tail_between_the_ends_of_its_range_is_named_by_its_party():
    X, y = calls()
    data = {"north": (X[::2], y[::2]), "south": (X[1::2], y[1::2])}
    with pytest.warns(QualityWarning, match=r"\['duration'\] survives in the representation of party '(north|south)'"):
        HorizontalCollaboration(span="private", schema=Schema.from_frames([X]), random_state=0).fit(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HorizontalCollaboration(random_state=0).fit(data)


def test_vertically_it_is_named_where_the_party_knows_what_predicts():
    X, y = calls()
    tables = {"host": X[["n0", "n1", "n2"]], "guest": X[["duration", "n3", "n4"]]}
    with pytest.warns(QualityWarning, match=r"\['duration'\]"):
        VerticalCollaboration(span="private", schema=Schema.from_frames([X]), random_state=0).fit(
            tables, y, label_party="guest"
        )
    VerticalCollaboration(random_state=0).fit(tables, y)
