from __future__ import annotations

import json

import pytest

from dcshap.explanation.receipt import read_openings, read_receipts
from tests.cli.conftest import dcshap


@pytest.fixture(scope="module")
def issued(files, run, tmp_path_factory):
    """Receipts of the same rows by two parties, under the first one's openings."""
    folder = tmp_path_factory.mktemp("receipts")
    north, south = folder / "north.receipt", folder / "south.receipt"
    first = dcshap("explain", run, "rows.csv", "--party", "north", "--receipt", north, "--json", cwd=files)
    openings = ("--openings", f"{north}.openings")
    second = dcshap("explain", run, "rows.csv", "--party", "south", "--receipt", south, *openings, cwd=files)
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    json.loads(first.stdout)
    return north, south


def test_two_parties_receipts_are_issued_verified_and_compared(files, issued):
    north, south = issued
    alone = dcshap("receipt", "verify", north, "--json", cwd=files)
    assert alone.returncode == 0, alone.stderr
    content = json.loads(alone.stdout)
    assert [each["code"] for each in content] == [each.code for each in read_receipts(north)]
    assert {each["party"] for each in content} == {"north"}
    same = dcshap("receipt", "verify", north, south, cwd=files)
    assert same.returncode == 0, same.stdout
    assert same.stdout.count("Both receipts state the same explanation.") == 6
    assert not any(code in alone.stdout + same.stdout for code in read_openings(f"{north}.openings"))


def test_what_differs_is_said_with_exit_code_1(files, run, issued, tmp_path):
    north, other = issued[0], tmp_path / "other.receipt"
    arguments = ("--reference", "own", "--receipt", other, "--openings", f"{north}.openings")
    dcshap("explain", run, "rows.csv", "--party", "south", *arguments, cwd=files)
    done = dcshap("receipt", "verify", north, other, "--json", cwd=files)
    assert done.returncode == 1, done.stderr
    first = json.loads(done.stdout)[0]
    found = {each["what"]: each["outcome"] for each in first["findings"]}
    assert (first["same"], found["model"], found["reference"], found["values"]) == (False, "same", "differs", "differs")
    assert "The reference differs." in [each["sentence"] for each in first["findings"]]


def test_a_receipt_that_was_changed_is_refused(said, issued, tmp_path):
    north, south = issued
    lines = north.read_text().splitlines()
    changed = json.loads(lines[0]) | {"model": "0" * 64}
    (tmp_path / "forged").write_text("\n".join([json.dumps(changed), *lines[1:]]))
    code, text = said("receipt", "verify", tmp_path / "forged")
    assert (code, "as it was signed" in text) == (1, True)
    assert said("receipt", "verify", tmp_path / "forged", south)[0] == 1


def test_what_is_wrong_is_said_in_one_paragraph(said, files, run, vertical_run, issued, tmp_path):
    north, south = issued
    (tmp_path / "one").write_text(north.read_text().splitlines()[0])
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    cases = {
        ("receipt", "verify", tmp_path / "one", south): "the same number of receipts. Got 1 and 6",
        ("receipt", "verify", tmp_path / "empty"): "must hold at least one receipt",
        ("receipt", "verify", tmp_path / "binary"): "It is not text",
        ("receipt", "verify", files / "rows.csv"): "A receipt must be one line of JSON",
        ("receipt", "verify", tmp_path / "nothing"): "No such file",
        ("explain", run, "rows.csv", "--receipt", tmp_path / "r"): "--receipt needs --party",
        ("explain", run, "rows.csv", "--party", "north", "--openings", tmp_path / "one"): "--openings is for receipts",
        ("explain", run, "rows.csv", "--party", "north", "--receipt", tmp_path / "r", "--openings", tmp_path / "one"): (
            "one opening per row. Got 1 for 6 rows"
        ),
    }
    for arguments, expected in cases.items():
        code, text = said(*arguments)
        assert (code, expected in text) == (1, True), text


def test_views_of_a_vertical_run_are_compared_by_what_each_party_contributes(files, vertical_run, tmp_path):
    common = ("records.csv", "--index", "owen")
    one, other = tmp_path / "clinic", tmp_path / "laboratory"
    first = dcshap("explain", vertical_run, *common, "--party", "clinic", "--receipt", one, cwd=files)
    openings = ("--openings", f"{one}.openings")
    dcshap("explain", vertical_run, *common, "--party", "laboratory", "--receipt", other, *openings, cwd=files)
    assert first.returncode == 0, first.stderr
    done = dcshap("receipt", "verify", one, other, cwd=files)
    assert done.returncode == 0, done.stdout
    assert "The sum of the contributions of laboratory is the same." in done.stdout
