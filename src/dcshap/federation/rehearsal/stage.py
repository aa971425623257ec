"""The stage of rehearsals: a small federation that was trained once, of which every rehearsal gets a copy."""

from __future__ import annotations

import base64
import shutil
import tempfile
import warnings
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from dcshap._disk import using_disk
from dcshap._machine import using_machine
from dcshap._recall import recalling
from dcshap._typing import FloatArray
from dcshap.collaboration.messages import ANALYST
from dcshap.collaboration.randomness import SEED_BITS, derived_seed
from dcshap.federation.rehearsal.play import NAME, Play
from dcshap.federation.rehearsal.quick_keys import identities
from dcshap.federation.site.configuration import CollaborationConfig, Right, SiteConfig
from dcshap.federation.site.holdings import Data, load_data
from dcshap.federation.site.party_site import load_trained
from dcshap.federation.site.secrets import Secrets
from dcshap.protocol.faults import Fault
from dcshap.protocol.world import FaultyDisk, World
from dcshap.schema import Schema
from dcshap.storage import write_model

__all__ = ["BUDGET", "OFFICER", "RESUMED", "SCENES", "WATCH", "Stage"]

OFFICER, WATCH = "officer@rehearsal", "watch@rehearsal"  # the latter asks whether everything still answers
BUDGET = 3  # records that the officer may ask for
SCENES = {
    "horizontal": ("train", "resume"),
    "vertical": ("train", "resume", "predict", "algorithm 3", "algorithm 4", "party views"),
}
RESUMED = "train in parts, resume"  # where training fails it is resumed, and must succeed then
_ROWS, _SEED = 24, 7
_PARTIES = ("bank", "mill", "port", "rail", "shop")


class Stage:
    """A federation of a few parties and rows, on a disk in memory where there is one.

    Parameters
    ----------
    kind : {"horizontal", "vertical"}
    n_parties : int
    """

    def __init__(self, kind: Any, n_parties: int) -> None:
        self.kind, self.names = kind, _PARTIES[:n_parties]
        known = identities([*self.names, "server", OFFICER, WATCH], analyst="server")
        self._identities = known | {ANALYST: known["server"]}
        memory = Path("/dev/shm")  # noqa: S108 - a folder of one's own is made in it
        self._folder = Path(tempfile.mkdtemp(prefix="dcshap-", dir=memory if memory.is_dir() else None))
        self._count = 0
        self._expected: dict[tuple[int, str], FloatArray] = {}
        self._recalled: dict[Hashable, Any] = {}
        self.recovered: dict[str, int] = {}  # folders from which a federation went on, and with which training
        self._tables = _tables(kind, self.names)
        self._read: dict[tuple[str, str], Data] = {}
        self.records = [str(record) for record in self._tables[self.names[0]].index[:2]]
        self._write()

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def model(self, number: int) -> tuple[str, str]:
        """The identifier of the how-manieth training, and the estimator that it trains."""
        estimator = LogisticRegression(C=(1.0, 0.1, 0.01)[number % 3], max_iter=20, tol=1e-2)
        return f"run-{number}", base64.b64encode(write_model(estimator)).decode()

    @contextmanager
    def play(self, seed: int = 0, faults: Sequence[Fault] = (), *, blank: bool = False) -> Iterator[Play]:
        """A copy of the federation in a world of its own."""
        self._count += 1
        folder, world = self._folder / str(self._count), World(seed, faults)
        disk = FaultyDisk(world)
        shutil.copytree(self._folder / ("blank" if blank else "trained"), folder)
        try:
            with (
                using_machine(world),
                using_disk(disk),
                recalling(self._recalled),
                warnings.catch_warnings(),
            ):
                warnings.simplefilter("ignore")
                yield Play(self.kind, folder, self._configs(folder), self._identities, world, disk, self.load_data)
        finally:
            shutil.rmtree(folder)

    def answers(self, play: Play, scene: str, who: str = WATCH) -> FloatArray:
        """What a federation without faults answers: to a request, or horizontally each party to itself."""
        if self.kind == "vertical":
            return play.ask("predict" if scene in ("train", "resume") else scene, who, self.records[:1])
        rows = self._tables[self.names[0]].drop(columns="label").head(4)
        parties = [load_trained(config, NAME) for config in play.configs]
        return np.concatenate([np.ravel(party.predict_proba(rows)) for party in parties])

    def expected(self, number: int, scene: str) -> FloatArray:
        """The fault-free twin's answer after the how-manieth training."""
        if (number, scene) not in self._expected:
            with self.play() as play:
                if number:
                    play.train(*self.model(number))
                else:
                    play.resume("expected")
                self._expected[number, scene] = self.answers(play, scene)
        return self._expected[number, scene]

    def load_data(self, config: CollaborationConfig, *, base: Path, task: str = "classes") -> Data:
        """A party's table, which nothing changes: a copy of what was read once."""
        key = (str(config.table), task)
        if key not in self._read:
            self._read[key] = load_data(config, base=base, task=task)
        known = self._read[key]
        return replace(known, X=known.X.copy(), y=None if known.y is None else known.y.copy())

    # --- what lies in the folders -----------------------------------------------------------------------------

    def _write(self) -> None:
        schema = Schema.from_frames({"all": _joined(self.kind, self._tables)})
        schema.save(self._folder / "schema.yaml")
        for name, table in self._tables.items():
            table.reset_index(names="id").to_csv(self._folder / f"{name}.csv", index=False)
        for config in self._configs(self._folder / "blank"):
            config.save()
            key = derived_seed(_SEED, "pseudonyms").to_bytes(SEED_BITS // 8, "big")
            secrets = Secrets(derived_seed(_SEED, config.party), derived_seed(_SEED, "shared"), key)
            secrets.save(config.state_folder(NAME))
        with self.play(-1, blank=True) as play:  # chance of its own: identifiers must not come again
            play.train(*self.model(0))
            shutil.copytree(play.folder, self._folder / "trained")

    def _configs(self, folder: Path) -> list[SiteConfig]:
        found = []
        for at, name in enumerate(self.names):
            label = "label" if self.kind == "horizontal" or at == 0 else None
            agreed = CollaborationConfig(
                self.kind,
                {"csv": str(self._folder / f"{name}.csv")},
                str(self._folder / "schema.yaml"),
                tuple(other for other in self.names if other != name),
                id="id" if self.kind == "vertical" else None,
                target=label,
                agreement={"n_anchor": 40, "span_rounds": 1},
                refit_span=True,  # so that every training goes through all steps
                algorithm_3=True,
                audit={"accept": True, "reason": "a rehearsal with records that do not exist"},
            )
            views = ("full", *self.names)
            rights = {OFFICER: Right(views, BUDGET), WATCH: Right(views, 10_000)}
            found.append(SiteConfig(name, folder / name, {NAME: agreed}, rights=rights))
        return found


def _tables(kind: str, names: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Each party's table: the same columns of different rows, or different columns of the same records."""
    rng, n_rows = np.random.default_rng(_SEED), _ROWS * (len(names) if kind == "horizontal" else 1)
    columns = {}
    for name in names if kind == "vertical" else names[:1]:
        columns[f"{name} size"] = rng.normal(50, 10, n_rows).round(1)
        columns[f"{name} count"] = rng.integers(0, 9, n_rows).astype(float)
        columns[f"{name} place"] = rng.choice(["east", "west"], n_rows)
    index = [f"record-{at:03d}" for at in range(n_rows)]
    table = pd.DataFrame(columns, index=index)
    first = names[0]
    label = np.where(table[f"{first} size"] + rng.normal(0, 5, n_rows) > 50, "yes", "no")
    if kind == "horizontal":
        whole = table.assign(label=label)
        return {name: whole.iloc[at :: len(names)] for at, name in enumerate(names)}
    held = {name: table.filter(regex=f"^{name} ") for name in names}
    return held | {first: held[first].assign(label=label)}


def _joined(kind: str, tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    together = pd.concat(tables.values(), axis=0 if kind == "horizontal" else 1)
    return together.drop(columns="label")
