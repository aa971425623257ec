"""Explanations of a collaboration say whose they are, and which bars are other parties'."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from dcshap import Explanation
from dcshap.exceptions import StorageError
from dcshap.explanation import PartyExplanation
from dcshap.explanation.statement import bars_of
from dcshap.shapley import shapley_values
from tests.explanation.conftest import columns_of, split


@pytest.fixture(name="plain")
def _plain():
    return shapley_values(lambda rows: rows.prod(axis=1), np.arange(6.0).reshape(2, 3), np.ones(3))


@pytest.fixture(name="stated")
def _stated(plain):
    return PartyExplanation.of(plain, party="north", reference_fingerprint="ab12", run="r7", bars={"x2": ("south",)})


def test_what_a_party_adds_is_saved_and_loaded(stated, tmp_path):
    stated.save(tmp_path / "file")
    for kind in (Explanation, PartyExplanation):
        loaded = kind.load(tmp_path / "file")
        assert type(loaded) is PartyExplanation
        assert (loaded.party, loaded.reference_fingerprint, loaded.run) == ("north", "ab12", "r7")
        assert loaded.bars == {"x2": ("south",)}
        np.testing.assert_array_equal(loaded.values, stated.values)


def test_it_is_loaded_as_itself_by_whoever_imports_the_public_name_alone(stated, tmp_path):
    stated.save(tmp_path / "file")
    code = f"import dcshap; print(type(dcshap.Explanation.load({str(tmp_path / 'file')!r})).__name__)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "PartyExplanation"


def test_a_file_of_another_kind_is_refused(plain, tmp_path):
    plain.save(tmp_path / "file")
    with pytest.raises(StorageError, match="PartyExplanation"):
        PartyExplanation.load(tmp_path / "file")


def test_it_stays_what_it_is_when_cut_and_printed(stated):
    assert type(stated[0]) is PartyExplanation
    assert stated[0].bars == stated.bars
    assert repr(stated) == "PartyExplanation(2 samples, 3 players, shapley, exact, party='north')"


def test_own_features_are_all_but_the_bars(stated, plain):
    assert stated.own_features == ("x0", "x1")
    assert bars_of(stated) == {"x2": ("south",)}
    assert bars_of(plain) == {}
    assert replace(stated, bars={}).own_features == plain.feature_names


@pytest.mark.parametrize("index", ["shapley", "owen"])
def test_a_view_says_which_party_each_bar_stands_for(verticals, heart, index):
    run, records = verticals[3, "logistic"], split(heart[0].head(2), 3)
    view = run.explain(records, view="party1", index=index)
    assert view.own_features == tuple(columns_of(3)["party1"])
    assert list(view.bars.values()) == [("party0",), ("party2",)]
    full = run.explain(records, index=index)
    assert full.bars == {}
    assert full.own_features == full.feature_names


def test_a_merged_bar_stands_for_several_parties(verticals, heart):
    run, records = verticals[3, "logistic"], split(heart[0].head(2), 3)
    view = run.explain(records, view="party0", merged=True)
    assert view.bars == {"DC Features": ("party1", "party2")}
