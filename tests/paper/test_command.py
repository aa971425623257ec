"""`dcshap reproduce`."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from dcshap.cli.reproduce import reproduce

OPTIONS = ["--setting", "default", "--split", "skewed", "--seeds", "1", "--jobs", "1"]


@pytest.fixture
def run(tmp_path):
    app = typer.Typer()
    app.command()(reproduce)

    def call(*arguments: str):
        return CliRunner().invoke(app, [*arguments, "--out", str(tmp_path)])

    return call


def test_json_is_a_list_of_rows_and_nothing_else_is_printed(run):
    result = run("table1", *OPTIONS, "--datasets", "Iris,heart", "--json")
    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    assert [row["dataset"] for row in rows] == ["iris", "heart"]
    assert all(row["seeds"] == 1 and row["setting"] == "default" and row["split"] == "skewed" for row in rows)


def test_without_json_ours_stands_beside_the_papers(run, tmp_path):
    result = run("table1", *OPTIONS, "--datasets", "iris")
    assert "iris (4)" in result.stdout
    assert "(0.95)" in result.stdout
    assert (tmp_path / "table1.html").exists()
    assert json.loads((tmp_path / "table1.json").read_text(encoding="utf-8"))["results"]


def test_several_experiments_come_in_the_order_asked_for(run):
    result = run("horizontal", "table1", *OPTIONS, "--datasets", "iris", "--json")
    assert [row["experiment"] for row in json.loads(result.stdout)] == ["horizontal"] * 4 + ["table1"]
