"""Folders that are written, killed while they are written, damaged and read, in whatever order."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from dcshap._disk import using_disk
from dcshap.exceptions import StorageError
from dcshap.protocol.faults import Fault, Killed
from dcshap.protocol.world import FaultyDisk, World
from dcshap.storage import State, read_folder, write_tree


class Folders(RuleBasedStateMachine):
    """One folder with one inside it, and what was last written as a whole."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.folder = self.place / "run"
        self.count = 0
        self.possible: set[int] = set()  # what may be read now

    def teardown(self) -> None:
        shutil.rmtree(self.place)

    def write(self) -> None:
        arrays = {"numbers": np.full(3, float(self.count))}
        states = {name: State("thing", {"number": self.count}, arrays) for name in ("", "inner")}
        write_tree(self.folder, states)

    @rule()
    def save(self):
        self.count += 1
        self.write()
        self.possible = {self.count}

    @rule(at=st.integers(1, 14), kind=st.sampled_from(["fail", "full", "tear", "kill", "kill after"]))
    def save_and_fail(self, at, kind):
        self.count += 1
        world = World(self.count, [Fault(at, kind)])
        world.counting = True
        with using_disk(FaultyDisk(world)), world.as_actor("site"):
            try:
                self.write()
            except (StorageError, Killed):
                self.possible |= {self.count}
                return
        self.possible = {self.count}

    @rule(how=st.integers(0, 10**6))
    def damage_and_mend(self, how):
        files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        if not files:
            return
        path = files[how % len(files)]
        whole = path.read_bytes()
        at = how % len(whole)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(StorageError):
            self.read()
        path.write_bytes(whole)

    def read(self) -> set[int]:
        found = [read_folder(place, kind="thing") for place in (self.folder, self.folder / "inner")]
        return {state.content["number"] for state in found} | {int(state.arrays["numbers"][0]) for state in found}

    @invariant()
    def one_whole_state_is_there(self):
        try:
            found = self.read()
        except StorageError:
            assert not self.possible or self.possible == set(range(1, self.count + 1))  # nothing was ever whole
            return
        assert len(found) == 1
        assert found <= self.possible
        self.possible = found


TestFolders = Folders.TestCase
TestFolders.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
