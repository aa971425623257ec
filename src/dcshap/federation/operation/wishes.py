"""Which collaborations are to serve: kept by the analyst, so that a restarted server goes on by itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcshap._disk import remove
from dcshap.exceptions import StorageError
from dcshap.storage import read_private, write_private

__all__ = ["AGAIN", "Wish", "drop_wish", "keep_wish", "order_to_end", "read_wishes"]

AGAIN = "dcshap_again"  # in a job's description: it has trained before, and goes on from that
_FILE = "serving.json"


@dataclass(frozen=True)
class Wish:
    """A collaboration that is to answer requests until somebody stops it."""

    collaboration: str
    job: str  # the engine's job that serves it now, or did
    before: str = ""  # the job whose place it has taken, which has served until then; empty where there is none


def keep_wish(folder: Path, collaboration: str, job: str) -> None:
    """Have a collaboration served from now on, by a job; kept in the analyst's `dcshap` folder."""
    path = _path(folder, collaboration)
    try:
        before = _read(path).job if path.exists() else ""
    except StorageError:
        before = ""  # what is damaged is written anew
    content = {"version": 1, "collaboration": collaboration, "job": job}
    write_private(path, json.dumps(content | {"before": "" if before == job else before}))


def drop_wish(folder: Path, collaboration: str) -> None:
    """Have a collaboration served no longer."""
    path = _path(folder, collaboration)
    remove(path)
    if path.exists():
        raise StorageError(f"{path.name!r} could not be removed: the collaboration would serve again. Is it read-only?")


def read_wishes(folder: Path) -> list[Wish]:
    """All collaborations that are to serve."""
    return [_read(path) for path in sorted(folder.glob(f"*/{_FILE}"))]


def order_to_end(job: str, written: float) -> bytes:
    """What whoever ends a run signs."""
    return json.dumps({"end": job, "written": written}).encode()


def _path(folder: Path, collaboration: str) -> Path:
    return folder / collaboration / _FILE


def _read(path: Path) -> Wish:
    def wish(content: Any) -> Wish:
        return Wish(str(content["collaboration"]), str(content["job"]), str(content.get("before", "")))

    return read_private(path, wish, remedy="`serve` the collaboration again")
