"""Explanations of a collaboration say whose they are, and which bars are other parties'."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap import Explanation, HorizontalCollaboration, VerticalCollaboration, disagreement
from dcshap.exceptions import InputError, StorageError
from dcshap.explanation import PartyExplanation
from dcshap.explanation.statement import bars_of, require_one_run
from dcshap.explanation.views import unite_views
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
    view = run.explain(records, view="party0", index="shapley", merged=True)
    assert view.bars == {"DC Features": ("party1", "party2")}


# --- the run that it is from ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", name="trained")
def _trained(heart, horizontal_data):
    """Horizontally and vertically, twice each: what a run is called has nothing to do with its seed."""
    X, y = heart
    rows = [HorizontalCollaboration(LogisticRegression(max_iter=500), random_state=0) for _ in range(2)]
    records = [VerticalCollaboration(LogisticRegression(max_iter=500), random_state=0) for _ in range(2)]
    return [run.fit(horizontal_data) for run in rows], [run.fit(split(X.iloc[20:], 2), y) for run in records]


def test_every_explanation_carries_the_run_of_its_training(trained, heart, tmp_path):
    rows, records = trained
    runs = [each.analyst_.run for each in (*rows, *records)]
    assert len({*runs}) == 4
    assert all(runs)
    X = heart[0].head(2)
    for each in rows:
        explained = {name: each.explain(X, party=name) for name in each.parties_}
        assert {found.run for found in explained.values()} == {each.analyst_.run}
    for each in records:
        for view in ("full", "party0", "party1"):
            for index in ("shapley", "owen"):
                assert each.explain(split(X, 2), view=view, index=index).run == each.analyst_.run
        assert each.explain(split(X, 2), view="party0", index="shapley", merged=True).run == each.analyst_.run


def test_training_again_is_another_run(heart, horizontal_data):
    run = HorizontalCollaboration(LogisticRegression(max_iter=500)).fit(horizontal_data)
    before = run.explain(heart[0].head(2), party="north")
    run.fit(horizontal_data)
    after = run.explain(heart[0].head(2), party="south")
    assert before.run != after.run == run.analyst_.run
    with pytest.raises(InputError, match="different runs"):
        disagreement({"north": before, "south": after})


def test_a_run_from_disk_is_the_same_run(trained, heart, tmp_path):
    for runs, explain in (
        (trained[0], lambda run: run.explain(heart[0].head(2), party="north")),
        (trained[1], lambda run: run.explain(split(heart[0].head(2), 2), index="owen")),
        (trained[1], lambda run: run.explain(split(heart[0].head(2), 2), index="shapley")),
    ):
        runs[0].save(tmp_path / "run")
        again = type(runs[0]).load(tmp_path / "run")
        assert explain(again).run == runs[0].analyst_.run
        assert {party.run for party in again.parties_.values()} == {again.analyst_.run}
        explain(again).save(tmp_path / "file")
        assert PartyExplanation.load(tmp_path / "file").run == runs[0].analyst_.run


def test_explanations_of_different_runs_are_not_compared_and_the_runs_are_named(trained, heart):
    (one, two), _ = trained
    X = heart[0].head(2)
    given = {"north": one.explain(X, party="north"), "south": two.explain(X, party="south")}
    with pytest.raises(InputError) as caught:
        disagreement(given)
    said = f"different runs: 'north' {one.analyst_.run[:8]}, 'south' {two.analyst_.run[:8]}."
    assert said in str(caught.value)
    assert disagreement({name: one.explain(X, party=name) for name in one.parties_}).parties == ("north", "south")


def test_views_of_different_runs_make_no_full_view_and_the_runs_are_named(trained, heart):
    _, (one, two) = trained
    X = split(heart[0].head(2), 2)
    views = {name: each.explain(X, view=name, index="owen") for name, each in (("party0", one), ("party1", two))}
    with pytest.raises(InputError) as caught:
        unite_views(views)
    said = f"different runs: 'party0' {one.analyst_.run[:8]}, 'party1' {two.analyst_.run[:8]}."
    assert said in str(caught.value)
    together = unite_views({name: one.explain(X, view=name, index="owen") for name in one.parties_})
    np.testing.assert_array_equal(together.values, one.explain(X, index="owen").values)
    assert together.run == one.analyst_.run


def test_explanations_that_know_of_no_run_can_be_compared(plain, stated):
    require_one_run({"a": plain, "b": plain})
    require_one_run({"a": plain, "b": stated})
    require_one_run({"a": replace(stated, run=None), "b": stated})
    with pytest.raises(InputError, match=r"'b' r7, 'c' r8\."):
        require_one_run({"a": plain, "b": stated, "c": replace(stated, run="r8")})
