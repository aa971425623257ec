"""Ten million rows of 50 columns: two parties train logistic regression with an analyst, each a process.

Horizontally each party has half of the rows. Vertically each has half of the columns, of all records: a party's peak is
several times its own table then, so that all three fit on one machine only with fewer records. The analyst's part is
shown for ten million by itself, with what two parties would have sent it lying in files.

Peak memory is that of each process (`VmHWM`), and of it the part that is not a file's (`RssAnon`), which the operating
system cannot give back. The schema has no knots: the encoded rows have as many coordinates as columns.
"""

from __future__ import annotations

import multiprocessing
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
from dcshap.collaboration import Analyst
from dcshap.collaboration.messages import RecordLabels, RecordPseudonyms, RecordRepresentation
from dcshap.collaboration.validation import validate_analyst
from dcshap.federation.flare.local import LocalFederation
from dcshap.federation.flare.preparation import init_party
from dcshap.federation.flare.processes import SiteProcess
from dcshap.federation.site.configuration import CollaborationConfig
from dcshap.schema.columns import Number

PARTIES, NAME, COLUMNS = ("north", "south"), "rows", 50
RECORDS = 3_000_000  # of a vertical training whose three sites share one machine
WIDTH = 8  # of what a vertical party of 25 columns sends
TIMEOUT = 3600.0
BLOCK = 100_000
LOOK = 0.5  # seconds between looks at the processes


def run(quick: bool, *, n_rows: int | None = None, n_records: int | None = None) -> list[Row]:
    n_rows, n_records = n_rows or (200_000 if quick else 10_000_000), n_records or (200_000 if quick else RECORDS)
    return [*_trained("horizontal", n_rows), *_trained("vertical", n_records), _analyst_alone(n_rows)]


def _trained(kind: str, n_rows: int) -> list[Row]:
    """Train between processes."""
    with tempfile.TemporaryDirectory(prefix="dcshap-") as folder:
        built = _set_up(Path(folder), kind, n_rows)
        peaks: dict[str, list[float]] = {}
        try:
            with built.start(timeout=TIMEOUT).requester(timeout=TIMEOUT) as lead:
                lead.wait_for(PARTIES, timeout=TIMEOUT)
                began = time.perf_counter()
                with _watched(built, peaks):
                    model = LogisticRegression(max_iter=1000)
                    told = lead.train(NAME, model, kind=kind, parties=PARTIES, timeout=TIMEOUT)
                seconds = time.perf_counter() - began
        finally:
            built.stop()
    travelled = sum(phase["received"] for phase in told["phases"]) / 1e6
    about = {"kind": kind, "rows": n_rows, "seconds": seconds, "received by the analyst, MB": travelled}
    about["accuracy on unseen points"] = told["models"][-1]["quality"]["value"]
    rows = [{"process": who, "peak, MB": p[0], "of it not files, MB": p[1]} | about for who, p in peaks.items()]
    print(*rows, sep="\n", flush=True)
    return rows


def _table(rng: np.random.Generator, n_rows: int) -> tuple[pd.DataFrame, pd.Series[Any]]:
    values = rng.standard_normal((n_rows, COLUMNS))
    weights = np.zeros(COLUMNS)
    weights[::5] = np.linspace(1, -1, 10)
    score = values @ weights + rng.standard_normal(n_rows)
    return pd.DataFrame(values, columns=[f"c{at:02d}" for at in range(COLUMNS)]), pd.Series(score > 0, name="label")


def _set_up(folder: Path, kind: Any, n_rows: int) -> LocalFederation:
    built, schema = LocalFederation(folder / "federation", PARTIES), folder / "schema.yaml"
    names = [f"c{at:02d}" for at in range(COLUMNS)]
    Schema(tuple(Number(name, -4.0, 4.0, clipped=True) for name in names)).save(schema)
    half, vertical = COLUMNS // 2, kind == "vertical"
    for at, name in enumerate(PARTIES):
        path = folder / f"{name}.parquet"
        if vertical:  # the same records at both, each with columns of its own
            columns = [*names[at * half : (at + 1) * half], *(["label"] if not at else [])]
            _write(path, np.random.default_rng(0), n_rows, columns)
        else:
            _write(path, np.random.default_rng(at), n_rows // len(PARTIES), [*names, "label"])
        config = CollaborationConfig(
            kind,
            {"parquet": str(path)},
            str(schema),
            tuple(other for other in PARTIES if other != name),
            id="id" if vertical else None,
            target=None if vertical and at else "label",
            audit={"accept": True, "reason": "a benchmark on rows that do not exist"},
        )
        init_party(built.kits[name], NAME, config)
    return built


def _write(path: Path, rng: np.random.Generator, n_rows: int, columns: list[str]) -> None:
    """Write rows some at a time, with a number for each: the benchmark itself takes no memory."""
    writer: Any = None
    for start in range(0, n_rows, BLOCK):
        X, y = _table(rng, min(BLOCK, n_rows - start))
        numbered = X.assign(label=y)[columns].assign(id=np.arange(start, start + len(X)))
        block = pa.Table.from_pandas(numbered, preserve_index=False)
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


# --- the analyst of a vertical training, alone ----------------------------------------------------------------------


def _analyst_alone(n_rows: int) -> Row:
    """Match, deal, join and train in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="dcshap-") as folder:
        reading, writing = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("spawn").Process(target=_as_analyst, args=(Path(folder), n_rows, writing))
        process.start()
        writing.close()
        row: Row = reading.recv()
        process.join()
    print(row, flush=True)
    return row


def _as_analyst(folder: Path, n_rows: int, told: Any) -> None:
    score = np.zeros(n_rows)
    sent = {name: _representation(folder, name, n_rows, score) for name in PARTIES}
    known = np.sort(np.frombuffer(np.random.default_rng(9).bytes(16 * n_rows), dtype="V16"))  # as parties send them
    labels = score + np.random.default_rng(8).standard_normal(n_rows) > 0
    del score
    began, analyst = time.perf_counter(), Analyst(LogisticRegression(max_iter=1000))
    analyst.workspace = folder
    for name, width in zip(PARTIES, (2, COLUMNS // 2 + 1), strict=True):
        analyst.receive_pseudonyms(RecordPseudonyms(name, known.copy(), n_rows, width))
    common = analyst.send_common(PARTIES[0]).pseudonyms
    analyst.send_holder_triple(PARTIES[0])
    for name in PARTIES:
        analyst.receive_records(RecordRepresentation(name, common.copy(), sent[name], False))
    analyst.receive_labels(RecordLabels(PARTIES[0], common.copy(), labels, np.zeros(0)))
    analyst.send_joined(PARTIES[0])
    seconds, quality = time.perf_counter() - began, validate_analyst(analyst)
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    row = {"process": "analyst alone", "kind": "vertical", "rows": n_rows, "seconds": seconds}
    row |= {"peak, MB": int(peak.split()[1]) * 1024 / 1e6}
    told.send(row | {"accuracy on unseen points": quality.value if quality else None})


def _representation(folder: Path, name: str, n_rows: int, score: Any) -> Any:
    """What a party sends, in a file; what it says of the labels is added to a score."""
    rng = np.random.default_rng(PARTIES.index(name))
    rows = np.memmap(folder / name, dtype=np.float64, mode="w+", shape=(n_rows, WIDTH))
    for start in range(0, n_rows, BLOCK):
        rows[start : start + BLOCK] = rng.standard_normal((min(BLOCK, n_rows - start), WIDTH))
        score[start : start + BLOCK] += rows[start : start + BLOCK, 0]
    rows.flush()
    return np.asarray(np.memmap(folder / name, dtype=np.float64, mode="r", shape=(n_rows, WIDTH)))
