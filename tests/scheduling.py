"""Which files one worker runs: each by itself, but for those that share what takes long to make."""

from __future__ import annotations

import re

from xdist.scheduler import LoadFileScheduling

TOGETHER = (
    "tests/cli/",  # a run that a process of its own trains, and one that has imported all that commands need
    "tests/explanation/",  # trained collaborations
    r"tests/federation/test_(failures|outages|processes)\.py",  # a federation of processes
    r"tests/shapley/test_(explanation|peers)\.py",  # packages that take seconds to import
)


class Scheduling(LoadFileScheduling):  # type: ignore[misc]  # xdist is untyped
    """Tests by files, some files together."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return next((files for files in TOGETHER if re.match(files, file)), file)
