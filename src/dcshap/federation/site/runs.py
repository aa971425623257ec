"""Trainings that a site has kept: at most one is used, and a new one takes its place as a whole or not at all.

Each lies in a folder of its own. `run.json` names the one that is used; writing it is the moment at which a training
counts. What was prepared and not committed stays beside it, until another training is committed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from dcshap._disk import remove
from dcshap.exceptions import ProtocolError, StorageError
from dcshap.storage import read_private, write_private

__all__ = ["Runs"]

_FILE = "run.json"
_BEGINS = "run-"
_SPOOL = "spool-"


class Runs:
    """The trainings in a collaboration's folder."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    @property
    def current(self) -> str:
        """The run that is used; empty where there is none."""
        path = self._folder / _FILE
        return read_private(path, lambda content: str(content["run"]), otherwise="", remedy="train again")

    def path(self, run: str) -> Path:
        """Where a run lies."""
        if not re.fullmatch(r"[0-9a-z-]{1,64}", run):
            raise ProtocolError("A run's identifier must be 1 to 64 digits, small letters or '-'.")
        return self._folder / f"{_BEGINS}{run}"

    def spool(self, run: str) -> Path:
        """Where the messages of a training lie while it is under way."""
        return self.path(run).with_name(f"{_SPOOL}{run}")

    def interrupted(self) -> list[str]:
        """The trainings that have begun and not ended."""
        return sorted(path.name.removeprefix(_SPOOL) for path in self._folder.glob(f"{_SPOOL}*"))

    def forget_interrupted(self, *, but: str = "") -> None:
        """Drop the files of trainings that have not ended, but for one that goes on."""
        for run in self.interrupted():
            if run != but:
                self.forget_files(run)

    def forget_files(self, run: str) -> None:
        """Drop the files that a training has kept while it was under way."""
        if self.spool(run).exists():
            remove(self.spool(run))

    def prepare(self, run: str, save: Callable[[Path], None]) -> None:
        """Keep what a run has trained, beside what is used."""
        save(self.path(run))

    def prepared(self, run: str) -> bool:
        """Whether a run was kept whole."""
        return self.path(run).is_dir()

    def commit(self, run: str) -> None:
        """Use a run from now on; earlier ones are dropped."""
        if not self.prepared(run):
            raise StorageError("A training can be used once it was kept. This one was not: train again.")
        write_private(self._folder / _FILE, json.dumps({"run": run}))
        for other in self._folder.iterdir():
            if other.name.lstrip(".").startswith(_BEGINS) and other != self.path(run):
                remove(other)
