"""`dcshap desk` as people start it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest

from dcshap.cli.desk import _cases
from dcshap.cli.tables import About, Reader, Run
from dcshap.desk.horizontal_cases import HorizontalCases
from dcshap.exceptions import StorageError
from tests.desk.people import horizontal, table

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with a trained run, and the table of the cases."""
    tmp_path = tmp_path_factory.mktemp("desk")
    X, _ = table()
    X.assign(customer=[f"K{at}" for at in range(len(X))]).to_csv(tmp_path / "cases.csv", index=False)
    Run(horizontal(), About("horizontal", "paid", None)).save(tmp_path / "run")
    return tmp_path


def started(*arguments: str, until: str) -> tuple[subprocess.Popen[str], str]:
    """A desk in a process of its own, and what it printed up to some words."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dcshap", "desk", *arguments, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "COLUMNS": "200"},
    )
    printed = ""
    for line in process.stdout or ():
        printed += line
        if until in line:
            break
    return process, printed


def ended(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGTERM)
    return process.communicate(timeout=60)[0]


def test_the_demonstration_opens_three_desks_for_every_role():
    process, printed = started("demo", until="Ctrl+C")
    addresses = re.findall(r"(officer|person|auditor|operator) +(http://127\.0\.0\.1:\d+/enter/\S+)", printed)
    homes = {"officer": "/cases", "person": "/mine", "auditor": "/audit", "operator": "/operator"}
    for role, address in addresses:
        with httpx.Client(follow_redirects=True, timeout=60) as http:
            page = http.get(address)
        assert page.status_code == 200
        assert page.url.path == homes[role]
    assert len(addresses) == 12
    rest = ended(process)
    assert process.returncode == 0
    assert "A-1" not in rest  # nothing of a case is in the log


def test_a_desk_of_a_run_opens_and_lets_nobody_in_without_an_account(files):
    run, cases = str(files / "run"), str(files / "cases.csv")
    process, printed = started(run, cases, "--party", "north", "--id", "customer", until="is open at")
    address = re.search(r"http://127\.0\.0\.1:\d+", printed)
    assert address is not None
    assert "Nobody can come in yet" in printed
    assert httpx.get(f"{address[0]}/cases", timeout=60).headers["location"] == "/"
    assert ended(process) == ""
    assert {path.name for path in (files / "run.desk-north").iterdir()} >= {"desk.key", "desk.db"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Say what the desk is for"),
        (["run", "--party", "north"], "Give the cases' table"),
        (["run", "cases.csv"], "Say whose maps to use"),
        (["run", "cases.csv", "--party", "west"], "--party must be one of"),
        (["run", "cases.csv", "--party", "north", "--host", "0.0.0.0"], "HTTPS only"),  # noqa: S104
        (["run", "cases.csv", "--party", "north", "--database", "nothing"], "must be a URL"),
        (["run", "cases.csv", "--party", "north", "--id", "name"], "must have the column of the record identifiers"),
        (["run", "cases.csv", "--party", "north", "--words", "cases.csv"], "must have no other keys"),
        (["nowhere", "cases.csv", "--party", "north"], "must be a folder that `dcshap fit` wrote"),
    ],
)
def test_what_does_not_fit_is_said_in_words(said, arguments, words):
    code, text = said("desk", *arguments)
    assert code == 1
    assert words in text


def test_the_cases_are_read_as_the_options_say_and_what_is_ignored_is_named(files, tmp_path, capsys):
    X = pd.read_csv(files / "cases.csv")
    X.assign(remark="NA").to_csv(tmp_path / "cases.txt", sep="|", index=False)
    reader = Reader(sep="|")
    options: dict[str, Any] = {"identifier": "customer", "reader": reader}
    cases, _ = _cases(files / "run", [str(tmp_path / "cases.txt")], "north", **options)
    assert isinstance(cases, HorizontalCases)
    pd.testing.assert_frame_equal(cases._table, X.set_index("customer"), check_names=False)
    assert "['remark'] are no part of the run" in " ".join(capsys.readouterr().err.split())


def test_a_run_that_was_trained_again_is_noticed_while_the_desk_is_open(tmp_path):
    X, _ = table()
    X.to_csv(tmp_path / "cases.csv", index=False)
    first, second = horizontal(0), horizontal(1)
    Run(first, About("horizontal", "paid", None)).save(tmp_path / "run")
    cases, _ = _cases(tmp_path / "run", [str(tmp_path / "cases.csv")], "north", identifier=None)
    assert cases.run == first.analyst_.run
    Run(second, About("horizontal", "paid", None)).save(tmp_path / "run")
    assert cases.run == second.analyst_.run
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="cannot be read now"):
        _ = cases.run
