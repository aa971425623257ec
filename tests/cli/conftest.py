"""Parties' files made by splitting a data set, and the command as a process."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import pytest
from rich.console import Console

from dcshap import datasets
from dcshap.cli.main import app
from dcshap.exceptions import DcshapWarning

# Commands are forks of one process per worker, but for that of the fixture `run`, which is `python -m dcshap` itself.
_NURSERY = multiprocessing.get_context("forkserver")
_NURSERY.set_forkserver_preload(["dcshap.cli.main", "dcshap.report", "skops.io", "numba", "matplotlib.pyplot"])

COLUMNS = ["age", "sex", "cp", "chol", "thalach", "oldpeak", "ca", "thal"]


def dcshap(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, which has imported already what takes seconds to import."""
    given = [str(argument) for argument in arguments]
    with tempfile.TemporaryDirectory() as folder:
        said = [Path(folder) / name for name in ("stdout", "stderr")]
        process = _NURSERY.Process(target=_command, args=(given, cwd, *said))
        process.start()
        process.join(timeout=120)
        if process.exitcode is None:
            process.kill()
            pytest.fail(f"{given} goes on and on.")
        return subprocess.CompletedProcess(given, process.exitcode, *(each.read_text() for each in said))


def _command(arguments: list[str], cwd: Path, stdout: Path, stderr: Path) -> None:
    os.chdir(cwd)
    for number, path in enumerate((Path(os.devnull), stdout, stderr)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
    sys.argv = ["dcshap", *arguments]
    app()


@pytest.fixture
def told(monkeypatch, capsys):
    """Run a command in this process, from a folder: its exit code, and all it said."""

    def run(*arguments: object, folder: Path) -> tuple[int, str]:
        given = [str(argument) for argument in arguments]
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["dcshap", *given])
        for name, stderr in {"output": False, "error_console": True}.items():
            monkeypatch.setattr(f"dcshap.cli.console.{name}", Console(stderr=stderr, width=1000))
        monkeypatch.setattr("warnings.showwarning", warnings.showwarning)
        with warnings.catch_warnings():
            warnings.simplefilter("always", DcshapWarning)  # shown as notes
            with pytest.raises(SystemExit) as stopped:
                app(given)
        code = stopped.value.code
        said = capsys.readouterr()
        return (code if isinstance(code, int) else 0), " ".join((said.out + said.err).split())

    return run


@pytest.fixture
def said(files, told):
    """Run a command in this process, from the folder of the files: its exit code, and what it said."""
    return lambda *arguments: told(*arguments, folder=files)


@pytest.fixture(scope="session")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    heart = datasets.load_heart()
    words = {"thal": {3: "normal", 6: "fixed", 7: "reversible"}, "sex": {0: "female", 1: "male"}}
    table = heart.data[COLUMNS].assign(**{name: heart.data[name].map(to) for name, to in words.items()})
    table["disease"] = heart.target.map({0: "no", 1: "yes"})
    train, test = table.iloc[20:].reset_index(drop=True), table.iloc[:20]
    north, south = datasets.label_skew(heart.target.iloc[20:])
    train.iloc[north].to_csv(folder / "north.csv", index=False)
    train.iloc[south].to_parquet(folder / "south.parquet", index=False)
    test.to_csv(folder / "test.csv", index=False)
    test.drop(columns="disease").head(6).to_csv(folder / "rows.csv", index=False)
    table.head(0).to_csv(folder / "header.csv", index=False)
    records = table.assign(patient=[f"P{i:03}" for i in range(len(table))])
    records[["patient", *COLUMNS[:4], "disease"]].to_csv(folder / "clinic.csv", index=False)
    shuffled = records[["patient", *COLUMNS[4:]]].iloc[5:].sample(frac=1, random_state=0)
    shuffled.to_csv(folder / "laboratory.csv", index=False)
    records[["patient", *COLUMNS]].iloc[10:14].to_csv(folder / "records.csv", index=False)
    records[["patient", *COLUMNS[:4]]].iloc[3:8].to_csv(folder / "clinic-rows.csv", index=False)
    return folder


@pytest.fixture(scope="session")
def run(files) -> Path:
    command = [
        sys.executable, "-m", "dcshap", "fit", "horizontal", "--party", "north=north.csv", "--party",
        "south=south.parquet", "--target", "disease", "--out", "run", "--model", "knn", "--seed", "0",
        "--test", "test.csv",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=files, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "north" in done.stdout
    return files / "run"


@pytest.fixture(scope="session")
def vertical_run(files) -> Path:
    done = dcshap(
        "fit", "vertical", "--party", "clinic=clinic.csv", "--party", "laboratory=laboratory.csv", "--id", "patient",
        "--target", "disease", "--out", "vertical", "--model", "logistic", "--seed", 0, "--json", cwd=files,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert '"left out": 5' in done.stdout
    return files / "vertical"
