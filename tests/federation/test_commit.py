"""A training counts for everybody or for nobody: full disks, kills and lost messages in the last steps."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap import disagreement
from dcshap._disk import Disk, using_disk
from dcshap.collaboration import Analyst
from dcshap.exceptions import DcshapError, FederationError, InputError, ProtocolError, StorageError
from dcshap.explanation.rows import explain_rows
from dcshap.federation.site.configuration import Right
from dcshap.federation.site.party_site import load_trained
from dcshap.federation.site.runs import Runs

from .conftest import OFFICER, people
from .twin import NAME

PARTIES = ["bank", "shop"]
RECORDS = people().index[[3, 50]].tolist()
X = people().head(5).drop(columns="repaid")


def model(c=1.0):
    return LogisticRegression(C=c, max_iter=1000)


def current(run, analyst):
    found = {name: Runs(site.folder).current for name, site in run.sites.items()}
    return found | {"analyst": Runs(run.folder / "server" / "dcshap" / NAME).current}


class FullDisk(Disk):
    """Has no room for one participant's trainings."""

    def __init__(self, name: str) -> None:
        self._name = name

    def make_folder(self, path: Path) -> None:
        if self._name in path.parts and "run-" in path.name:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().make_folder(path)


@pytest.mark.parametrize("kind", ["horizontal", "vertical"])
def test_after_a_training_everybody_uses_the_same_run(twin, kind):
    run = twin(kind, PARTIES)
    analyst = run.trained(model())
    assert set(current(run, analyst).values()) == {analyst.run}


@pytest.mark.parametrize("kind", ["horizontal", "vertical"])
def test_a_full_disk_at_one_party_leaves_everybody_the_earlier_training(twin, kind):
    run = twin(kind, PARTIES)
    first = run.trained(model())
    with using_disk(FullDisk("shop")), pytest.raises(StorageError, match=r"'shop'.*No space left on device"):
        run.again().trained(model(0.01))
    assert set(current(run, first).values()) == {first.run}


def test_a_full_disk_at_the_analyst_leaves_everybody_the_earlier_training(twin):
    run = twin("horizontal", PARTIES)
    first = run.trained(model())
    with using_disk(FullDisk("server")), pytest.raises(StorageError, match="No space left on device"):
        run.again().trained(model(0.01))
    assert set(current(run, first).values()) == {first.run}


def silent_at(run, step, name):
    """One party's connection is cut when a step's envelope is on its way to it."""
    send = run.network.send
    steps = []

    def cut(to, data, *, patience):
        if to == name and f'"step": "{step}"'.encode() in data:
            steps.append(step)
            raise FederationError(f"No answer from {to!r} within {patience:g} s.")
        return send(to, data, patience=patience)

    run.network.send = cut
    return steps


@pytest.mark.parametrize("kind", ["horizontal", "vertical"])
def test_a_party_that_dies_before_it_is_prepared_costs_nothing(twin, kind):
    run = twin(kind, PARTIES)
    first = run.trained(model())
    again = run.again()
    steps = silent_at(again, "integration" if kind == "horizontal" else "model", "shop")
    with pytest.raises(FederationError, match="'shop'"):
        again.trained(model(0.01))
    assert steps
    assert set(current(run, first).values()) == {first.run}


def mixed(twin, kind, **more):
    """One party misses the commit: the analyst and the other use the new training, it the earlier one."""
    run = twin(kind, PARTIES, **more)
    first = run.trained(model())
    again = run.again()
    assert silent_at(again, "commit", "shop") == []
    second = again.analyst(model(0.01))
    with pytest.raises(FederationError, match="'shop'"):
        second.train()
    assert current(run, first) == {
        "bank": second.settings.run,
        "shop": first.run,
        "analyst": second.settings.run,
    }
    return run, first, second


def test_a_mixed_state_is_refused_by_name_when_explanations_are_compared(twin):
    run, first, second = mixed(twin, "horizontal")
    explained = {name: explain_rows(load_trained(run.sites[name].config, NAME), X) for name in PARTIES}
    assert explained["shop"].run == first.run
    with pytest.raises(InputError, match=rf"'bank' {second.settings.run[:8]}, 'shop' {first.run[:8]}"):
        disagreement(explained)


def test_a_mixed_state_heals_when_the_analyst_goes_on(twin):
    run, _, second = mixed(twin, "vertical", rights={OFFICER: Right(("bank", "full"), 100)})
    again = run.again()
    resumed = again.analyst()
    resumed.resume("session")
    assert resumed.run == second.settings.run
    assert set(current(run, resumed).values()) == {resumed.run}
    found = again.requester(resumed, OFFICER).explain(RECORDS, view="full", index="owen")
    assert found.run == resumed.run
    assert np.isfinite(found.values).all()


def test_a_mixed_state_is_refused_by_the_party_that_is_asked(twin):
    run, _, second = mixed(twin, "vertical", rights={OFFICER: Right(("bank", "full"), 100)})
    again = run.again()
    for site in again.sites.values():  # each goes on with what it has, as if nobody had told it otherwise
        site._resume(Runs(site.folder).current)
        site.office.directory.update({name: again.identities[name].certificate for name in PARTIES})
    analyst = again.analyst()
    analyst._analyst = Analyst.load(Runs(analyst._state).path(second.settings.run))
    analyst.office.directory.update({name: again.identities[name].certificate for name in PARTIES})
    with pytest.raises(ProtocolError, match=r"'shop'.*uses another training"):
        again.requester(analyst, OFFICER).explain(RECORDS, view="full", index="owen")


def test_what_was_prepared_and_never_committed_is_dropped_by_the_next_training(twin):
    run, _, _ = mixed(twin, "horizontal")
    third = run.again().trained(model(0.1))
    kept = {path.name for site in run.sites.values() for path in site.folder.glob("run-*")}
    assert kept == {f"run-{third.run}"}


def test_a_run_s_name_cannot_leave_its_folder(tmp_path):
    for name in ("../x", "a/b", "", "A" * 65):
        with pytest.raises(DcshapError):
            Runs(tmp_path).path(name)
