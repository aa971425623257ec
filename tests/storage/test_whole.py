"""A run is written as a whole or not at all: whatever fails, and whenever, the earlier or the later one can be read."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dcshap import HorizontalCollaboration
from dcshap._disk import Disk, using_disk
from dcshap.exceptions import InputError, StorageError
from dcshap.storage import State, current, read_folder, require_writable, write_folder, write_tree
from tests.collaboration.helpers import parties


class Killed(BaseException):
    """Stands for the end of the process: nothing is cleaned up after it."""


class FailingDisk(Disk):
    """Counts the steps of writing, and lets one of them fail, or that and all later ones."""

    def __init__(self) -> None:
        self.count, self.last, self.dead = 0, -1, False

    def _step(self) -> None:
        self.count += 1
        if self.count == self.last or (self.dead and self.count > self.last > 0):
            raise Killed if self.dead else OSError(errno.ENOSPC, "no space left")

    def fail(self, at: int, *, kill: bool) -> None:
        self.count, self.last, self.dead = 0, at, kill

    def mend(self) -> None:
        self.last = -1

    def make_folder(self, path: Path) -> None:
        self._step()
        super().make_folder(path)

    def write(self, path: Path, data: bytes, *, size: int) -> None:
        self._step()
        super().write(path, data, size=size)

    def rename(self, path: Path, target: Path) -> None:
        self._step()
        super().rename(path, target)

    def remove(self, path: Path) -> None:
        if self.dead:
            self._step()  # what cannot be removed stays, and nobody is told
        super().remove(path)


@pytest.fixture
def disk():
    failing = FailingDisk()
    with using_disk(failing):
        yield failing


@pytest.fixture(scope="module")
def runs() -> tuple[HorizontalCollaboration, HorizontalCollaboration]:
    data = parties(2, 60)
    one, other = (
        HorizontalCollaboration(LogisticRegression(C=c), random_state=seed) for seed, c in enumerate([1, 0.01])
    )
    return one.fit(data), other.fit(data)


def which(folder: Path, runs) -> str:
    """Which of two runs stands in a folder, with all of its roles."""
    found = HorizontalCollaboration.load(folder)
    name, run = next((n, r) for n, r in zip(("earlier", "later"), runs, strict=True) if r.model.C == found.model.C)
    np.testing.assert_array_equal(found.analyst_.model_.coef_, run.analyst_.model_.coef_)
    for party, expected in run.parties_.items():
        np.testing.assert_array_equal(found.parties_[party].reduction.weights, expected.reduction.weights)
        np.testing.assert_array_equal(found.parties_[party].model_.coef_, run.analyst_.model_.coef_)
    return name


def steps_of(disk: FailingDisk, runs, folder: Path) -> int:
    runs[0].save(folder)
    disk.count = 0
    runs[1].save(folder)
    return disk.count


@pytest.mark.parametrize("kill", [False, True], ids=["raise", "kill"])
def test_whatever_step_of_saving_fails_one_whole_run_can_be_read(runs, disk, tmp_path, kill):
    found = []
    for at in range(1, steps_of(disk, runs, tmp_path / "count" / "run") + 1):
        folder = tmp_path / str(at) / "run"
        runs[0].save(folder)
        disk.fail(at, kill=kill)
        with pytest.raises(Killed if kill else StorageError):
            runs[1].save(folder)
        disk.mend()
        found.append(which(folder, runs))
        runs[1].save(folder)
        assert which(folder, runs) == "later"
        assert folder.exists()
        assert not (folder.parent / ".run.earlier").exists()
    assert found == sorted(found)  # the earlier one until the later one takes its place
    assert set(found) == {"earlier", "later"}


def test_a_save_that_raises_leaves_nothing_beside_the_folder(runs, disk, tmp_path):
    n_steps = steps_of(disk, runs, tmp_path / "count" / "run")
    for at in range(1, n_steps):  # the last one puts the earlier run aside, to be thrown away
        folder = tmp_path / str(at) / "run"
        runs[0].save(folder)
        disk.fail(at, kill=False)
        with pytest.raises(StorageError, match="No space left"):
            runs[1].save(folder)
        disk.mend()
        assert [path.name for path in folder.parent.iterdir()] == ["run"]


def test_between_the_two_renames_the_earlier_run_is_read_where_it_waits(runs, tmp_path):
    folder = tmp_path / "run"
    runs[0].save(folder)
    folder.rename(tmp_path / ".run.earlier")
    assert current(folder) == tmp_path / ".run.earlier"
    assert current(folder / "analyst") == tmp_path / ".run.earlier" / "analyst"
    assert which(folder, runs) == "earlier"
    require_writable(folder)
    runs[1].save(folder)
    assert which(folder, runs) == "later"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_an_earlier_run_that_was_left_over_is_not_read_and_goes_with_the_next(runs, tmp_path):
    folder = tmp_path / "run"
    runs[0].save(tmp_path / ".run.earlier")
    runs[1].save(folder)
    assert which(folder, runs) == "later"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_folder_of_a_stranger_that_is_in_the_way_is_not_thrown_away(tmp_path):
    write_folder(tmp_path / "run", State("any", {"n": 1}))
    (tmp_path / ".run.earlier").mkdir()
    (tmp_path / ".run.earlier" / "thesis.txt").write_text("a thesis")
    with pytest.raises(StorageError, match="must be empty, new, or a folder that dcshap wrote"):
        write_folder(tmp_path / "run", State("any", {"n": 2}))
    assert (tmp_path / ".run.earlier" / "thesis.txt").read_text() == "a thesis"
    assert read_folder(tmp_path / "run", kind="any").content == {"n": 1}


def test_a_later_tree_replaces_all_of_an_earlier_one(tmp_path):
    write_tree(tmp_path / "run", {"": State("run", {}), "a": State("role", {})}, files={"note.txt": b"one"})
    write_tree(tmp_path / "run", {"": State("run", {}), "b": State("role", {})}, files={"other.txt": b"two"})
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["b", "contents.json", "other.txt"]
    write_folder(tmp_path / "run", State("run", {}))
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["contents.json"]


@pytest.mark.parametrize("name", ["contents.json", "arrays.npz", "../up.txt", "inside/deep.txt"])
def test_a_file_of_another_name_than_its_own_is_not_written(tmp_path, name):
    state = State("any", {}, {"rows": np.zeros(2)})
    with pytest.raises(InputError, match="plain names"):
        write_tree(tmp_path / "run", {"": state}, files={name: b"text"})
    assert list(tmp_path.iterdir()) == []


def test_a_link_to_a_folder_stays_a_link(tmp_path):
    write_folder(tmp_path / "real", State("any", {"n": 1}))
    (tmp_path / "run").symlink_to(tmp_path / "real")
    write_folder(tmp_path / "run", State("any", {"n": 2}))
    assert (tmp_path / "run").is_symlink()
    assert read_folder(tmp_path / "real", kind="any").content == {"n": 2}


def test_the_folder_that_one_stands_in_can_be_written(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    write_folder(".", State("any", {"n": 1}))
    assert read_folder(tmp_path / "here", kind="any").content == {"n": 1}


def test_where_nothing_can_be_written_is_known_before(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    require_writable(tmp_path / "new" / "deep" / "run")
    assert not (tmp_path / "new").exists()
    for place in ("file", "file/run"):
        with pytest.raises(StorageError):
            require_writable(tmp_path / place)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(StorageError, match="in a folder that can be written to"):
        require_writable(tmp_path / "run")
