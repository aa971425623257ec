from __future__ import annotations

import os
from functools import cache

import numpy as np
import pandas as pd
import pytest

from dcshap import Schema

from .twin import NAME, SERVER, Authority, Twin, configured

OFFICER = "officer@bank.example"
# So few people who do not exist are easily linked. Tests that are about consent say otherwise.
AGREED = {
    "instance_models": True,
    "algorithm_3": True,
    "audit": {"accept": True, "reason": "people who do not exist"},
}


@pytest.fixture(autouse=True, scope="session")
def one_thread_in_every_process():
    """Sites are processes of their own, several on each core."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"  # which OpenBLAS obeys as well
    yield
    if before is None:
        del os.environ["OMP_NUM_THREADS"]
    else:
        os.environ["OMP_NUM_THREADS"] = before


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority()


@pytest.fixture(scope="session")
def identities(authority, tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    names = ["bank", "post", "rail", "shop", SERVER, OFFICER, "stranger@bank.example"]
    return {name: authority.issue(folder / name, name) for name in names}


@pytest.fixture(scope="session")
def orders(tmp_path_factory):
    """A file that says how the shop of `loopback` misbehaves in its next run; it behaves while this is empty."""
    return tmp_path_factory.mktemp("orders") / "orders"


@pytest.fixture(scope="session")
def loopback(tmp_path_factory, orders):
    """One federation of real processes for several files, see `tests/scheduling.py`; one more party has a kit.

    The last of these files stops it: its processes would go on until all tests have ended.
    """
    from .loopback import federation, sabotage  # noqa: PLC0415 - which needs what is here

    built = federation(tmp_path_factory.mktemp("loopback"), ["bank", "shop"], idle=["post"])
    sabotage(built, "shop", orders)
    built.start(parties=["bank", "shop"])
    yield built
    built.stop()


def people(n: int = 240, seed: int = 1) -> pd.DataFrame:
    """Records that eight columns and a label are known of."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "income": rng.normal(3000, 700, n).round(2),
            "job": rng.choice(["clerk", "nurse", "smith"], n),
            "debt": rng.exponential(900, n).round(2),
            "visits": rng.poisson(4, n).astype(float),
            "basket": rng.normal(60, 15, n).round(2),
            "region": rng.choice(["east", "west"], n),
            "years": rng.uniform(0, 30, n).round(1),
        },
        index=pd.Index([f"person-{at:05d}" for at in rng.permutation(10 * n)[:n]], name="id"),
    )
    score = (table["income"] - 3000) / 700 - table["debt"] / 900 + (table["visits"] - 4) / 2
    return table.assign(repaid=np.where(score + rng.normal(0, 0.5, n) > -1, "yes", "no"))


def schema_of(table: pd.DataFrame) -> Schema:
    return Schema.from_frames({"all": table.drop(columns="repaid")})


@cache
def common_schema() -> Schema:
    """The schema of all people, found once."""
    return schema_of(people())


def horizontal_tables(names, table=None):
    table = people() if table is None else table
    return {name: table.iloc[at :: len(names)].reset_index(drop=True) for at, name in enumerate(sorted(names))}


def vertical_tables(names, table=None):
    table = people() if table is None else table
    columns = np.array_split([name for name in table.columns if name != "repaid"], len(names))
    held = {name: table[list(each)] for name, each in zip(sorted(names), columns, strict=True)}
    held["bank"] = held["bank"].assign(repaid=table["repaid"])
    return held


@pytest.fixture
def twin(tmp_path, identities):
    """Builds a federation in one process; keyword arguments by party change its configuration."""
    return builder(tmp_path, identities)


def builder(place, identities):
    """How a federation in one process is built somewhere."""

    def build(
        kind, names, *, agreement=None, rights=None, schemas=None, tables=None, changes=None, folder="", **more
    ) -> Twin:
        home = place / folder
        held = tables or (horizontal_tables(names) if kind == "horizontal" else vertical_tables(names))
        configs = []
        for name in names:
            options = {
                "agreement": agreement or {},
                **AGREED,
                **more,
                **(changes or {}).get(name, {}),
            }
            options.setdefault("partners", tuple(other for other in names if other != name))
            if kind == "vertical":
                options["id"] = "id"
            if "repaid" in held[name]:
                options["target"] = "repaid"
            schema = (schemas or {}).get(name, common_schema())
            configs.append(
                configured(home / name, name, _plain(held[name]), schema, kind=kind, rights=rights, **options)
            )
        return Twin.of(home, kind, configs, identities)

    return build


def _plain(table):
    return table.reset_index() if table.index.name == "id" else table


__all__ = ["NAME", "OFFICER"]
