"""Ten million rows of 50 columns: two horizontal parties train logistic regression with an analyst, each a process.

Peak memory is that of each process (`VmHWM`), and of it the part that is not a file's (`RssAnon`), which the operating
system cannot give back. The schema has no knots: the encoded rows have as many coordinates as columns.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.linear_model import LogisticRegression

from benchmarks.report import Row
from dcshap import Schema
from dcshap.federation.flare.local import LocalFederation
from dcshap.federation.flare.preparation import init_party
from dcshap.federation.flare.processes import SiteProcess
from dcshap.federation.site.configuration import CollaborationConfig, SiteConfig
from dcshap.federation.site.party_site import load_trained
from dcshap.schema.columns import Number

PARTIES, NAME, COLUMNS = ("north", "south"), "rows", 50
TIMEOUT = 3600.0
BLOCK = 100_000
LOOK = 0.5  # seconds between looks at the processes


def run(quick: bool, *, n_rows: int | None = None) -> list[Row]:
    n_rows = n_rows or (200_000 if quick else 10_000_000)
    with tempfile.TemporaryDirectory(prefix="dcshap-") as folder:
        place = Path(folder)
        built = _set_up(place, n_rows)
        peaks: dict[str, list[float]] = {}
        try:
            with built.start(timeout=TIMEOUT).requester(timeout=TIMEOUT) as lead:
                lead.wait_for(PARTIES, timeout=TIMEOUT)
                began = time.perf_counter()
                with _watched(built, peaks):
                    model = LogisticRegression(max_iter=1000)
                    told = lead.train(NAME, model, kind="horizontal", parties=PARTIES, timeout=TIMEOUT)
                seconds = time.perf_counter() - began
        finally:
            built.stop()
        alone = load_trained(SiteConfig.load(built.kits["north"].folder), NAME)
        X, y = _table(np.random.default_rng(9), 20_000)
        accuracy = float(np.mean(alone.predict(X) == y.to_numpy()))
    travelled = {phase["name"]: phase["received"] / 1e6 for phase in told["phases"]}
    about = {"rows": n_rows, "columns": COLUMNS, "dimensions": len(alone.alignment.intercept), "seconds": seconds}
    about |= {"representations, MB": travelled["representation"], "accuracy on new rows": accuracy}
    return [{"process": who, "peak, MB": p[0], "of it not files, MB": p[1]} | about for who, p in peaks.items()]


def _table(rng: np.random.Generator, n_rows: int) -> tuple[pd.DataFrame, pd.Series[Any]]:
    values = rng.standard_normal((n_rows, COLUMNS))
    score = values[:, :10] @ np.linspace(1, -1, 10) + rng.standard_normal(n_rows)
    return pd.DataFrame(values, columns=[f"c{at:02d}" for at in range(COLUMNS)]), pd.Series(score > 0, name="label")


def _set_up(folder: Path, n_rows: int) -> LocalFederation:
    built, schema = LocalFederation(folder / "federation", PARTIES), folder / "schema.yaml"
    names = [f"c{at:02d}" for at in range(COLUMNS)]
    Schema(tuple(Number(name, -4.0, 4.0, clipped=True) for name in names)).save(schema)
    for at, name in enumerate(PARTIES):
        path = folder / f"{name}.parquet"
        _write(path, np.random.default_rng(at), n_rows // len(PARTIES))
        partners = tuple(other for other in PARTIES if other != name)
        accepted = {"accept": True, "reason": "a benchmark on rows that do not exist"}
        config = CollaborationConfig(
            "horizontal", {"parquet": str(path)}, str(schema), partners, target="label", audit=accepted
        )
        init_party(built.kits[name], NAME, config)
    return built


def _write(path: Path, rng: np.random.Generator, n_rows: int) -> None:
    """Write rows some at a time: the benchmark itself takes no memory."""
    writer: Any = None
    for start in range(0, n_rows, BLOCK):
        X, y = _table(rng, min(BLOCK, n_rows - start))
        block = pa.Table.from_pandas(X.assign(label=y), preserve_index=False)
        writer = writer or pq.ParquetWriter(path, block.schema, compression="none")
        writer.write_table(block)
    writer.close()


# --- memory ---------------------------------------------------------------------------------------------------------


@contextmanager
def _watched(built: LocalFederation, peaks: dict[str, list[float]]) -> Iterator[None]:
    """Note the peak of each site's largest process."""
    done = threading.Event()

    def look() -> None:
        while not done.wait(LOOK):
            for who, site in {"analyst": built.server, **built.sites}.items():
                _note(who, site, peaks)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _note(who: str, site: SiteProcess, peaks: dict[str, list[float]]) -> None:
    for process in site.processes():
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except (OSError, psutil.Error):
            continue
        figures = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        found = [int(figures[name].split()[0]) * 1024 / 1e6 for name in ("VmHWM", "RssAnon") if name in figures]
        before = peaks.setdefault(who, [0.0, 0.0])
        peaks[who] = [max(pair) for pair in zip(before, found, strict=False)]
