"""Results are computed once, kept as JSON, and used again by the same code only."""

from __future__ import annotations

import json
import warnings

import pytest

from dcshap.exceptions import PrivacyWarning
from dcshap.paper import cells as module
from dcshap.paper.cells import Cell, run_cells

CALLS: list[int] = []


def _square(number: int) -> dict[str, int]:
    CALLS.append(number)
    return {"square": number * number}


def _fails_at_three(number: int) -> int:
    if number == 3:
        raise RuntimeError("stopped")
    return number


def _endless(number: float) -> float:
    return number * float("inf")


def _warned() -> bool:
    warnings.warn("known", PrivacyWarning, stacklevel=1)
    return True


@pytest.fixture(autouse=True)
def _no_calls():
    CALLS.clear()


def _run(cells, folder):
    return run_cells(cells, folder=folder, n_jobs=1)


def test_a_result_is_computed_once_and_then_read(tmp_path):
    cell = Cell.of(_square, number=4)
    assert _run([cell, cell], tmp_path) == {cell: {"square": 16}}
    assert _run([cell], tmp_path) == {cell: {"square": 16}}
    assert CALLS == [4]


def test_other_arguments_are_another_cell(tmp_path):
    results = _run([Cell.of(_square, number=number) for number in (2, 3)], tmp_path)
    assert [each["square"] for each in results.values()] == [4, 9]
    assert len(list(tmp_path.glob("*.json"))) == 2


def test_a_run_that_was_stopped_goes_on_where_it_stopped(tmp_path, monkeypatch):
    cells = [Cell.of(_fails_at_three, number=number) for number in (1, 2, 3)]
    with pytest.raises(RuntimeError, match="stopped"):
        _run(cells, tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")}
    assert len(kept) == 2
    assert len(_run(cells[:2], tmp_path)) == 2
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")} == kept


def test_results_of_other_sources_are_not_used(tmp_path, monkeypatch):
    cell = Cell.of(_square, number=5)
    _run([cell], tmp_path)
    monkeypatch.setattr(module, "_sources", lambda: "other")
    _run([cell], tmp_path)
    assert CALLS == [5, 5]


def test_a_damaged_file_is_computed_again(tmp_path):
    cell = Cell.of(_square, number=6)
    _run([cell], tmp_path)
    (file,) = tmp_path.glob("*.json")
    file.write_text(file.read_text(encoding="utf-8")[:20], encoding="utf-8")
    assert _run([cell], tmp_path)[cell] == {"square": 36}
    assert json.loads(file.read_text(encoding="utf-8"))["result"] == {"square": 36}


def test_what_is_not_json_is_refused_and_not_kept(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        _run([Cell.of(_endless, number=1.0)], tmp_path)
    assert not list(tmp_path.glob("*.json"))


def test_warnings_that_the_experiments_know_of_stay_quiet():
    assert Cell.of(_warned).run()
