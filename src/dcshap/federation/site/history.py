"""The trainings of a collaboration that were put to use, in order: number, run, when, model, how many records."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dcshap._machine import now
from dcshap.storage import read_private, write_private

__all__ = ["History", "Trained"]

_FILE = "models.json"


@dataclass(frozen=True)
class Trained:
    """A training that was put to use."""

    number: int  # from 1 on
    run: str
    when: str
    model: str  # the estimator's class
    parties: list[str]
    records: int | None  # how many records all vertical parties hold; None of a horizontal training
    dropped: dict[str, int]  # how many of each vertical party's records were left out
    quality: dict[str, Any] | None = None  # the fields of a `Validation`; None where nothing can be said


class History:
    """The list of trainings in a collaboration's folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE

    def all(self) -> list[Trained]:
        """All trainings, the newest last."""
        return read_private(
            self._path,
            lambda content: [Trained(**each) for each in content["models"]],
            otherwise=list[Trained](),
            remedy="remove it; nothing else needs it",
        )

    def add(
        self,
        run: str,
        model: str,
        parties: list[str],
        *,
        records: int | None,
        dropped: dict[str, int],
        quality: dict[str, Any] | None,
    ) -> Trained:
        """Note a training that was put to use."""
        before = self.all()
        at = datetime.fromtimestamp(now(), UTC).isoformat(timespec="seconds")
        made = Trained(len(before) + 1, run, at, model, parties, records, dropped, quality)
        models = [asdict(each) for each in (*before, made)]
        write_private(self._path, json.dumps({"version": 1, "models": models}))
        return made
