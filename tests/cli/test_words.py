from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

from tests.cli.conftest import COLUMNS, dcshap


@pytest.fixture(scope="module")
def logistic(files):
    done = dcshap(
        "fit", "horizontal", "--party", "north=north.csv", "--party", "south=south.parquet", "--target", "disease",
        "--out", "logistic", "--missing", "reference", "--seed", 0, cwd=files,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return files / "logistic"


@pytest.fixture(scope="module")
def explained(files, logistic):
    table = pd.read_csv(files / "rows.csv")
    table.loc[0, "chol"] = np.nan
    table.to_csv(files / "gaps.csv", index=False)
    ask = ("explain", logistic, "gaps.csv", "--party", "north", "--csv", "told.csv", "--html", "told.html")
    shown, plain = dcshap(*ask, cwd=files), dcshap(*ask, "--json", cwd=files)
    assert shown.returncode == plain.returncode == 0, shown.stderr + plain.stderr
    page = (files / "told.html").read_text()
    return shown.stdout, json.loads(plain.stdout), pd.read_csv(files / "told.csv", keep_default_na=False), page


def test_screen_page_csv_and_json_tell_of_the_same_class_and_say_which(explained):
    screen, content, table, page = explained
    first = content["explained"][0]
    assert first["output"] == "yes"
    assert set(table["output"]) == {"yes"}
    assert f"row 0: P(yes) {first['prediction']:.3f}, from a base value of {first['base_value']:.3f}" in screen
    ends = f"from base value {first['base_value']:.3f} to prediction {first['prediction']:.3f}"
    assert f"Waterfall of Shapley values, exact for class yes, {ends}" in page
    assert float(table["prediction"].iloc[0]) == pytest.approx(first["prediction"])


def test_an_export_has_the_row_the_cell_the_contribution_the_base_value_and_the_prediction(explained):
    _, content, table, _ = explained
    columns = ["sample", "row", "output", "feature", "value", "contribution", "standard_error", "as_in_reference"]
    assert list(table.columns) == [*columns, "base_value", "prediction"]
    of_first = table[table["row"] == 0]
    assert list(of_first["feature"]) == COLUMNS
    assert of_first["base_value"].iloc[0] + of_first["contribution"].sum() == pytest.approx(
        of_first["prediction"].iloc[0]
    )
    assert [each["row"] for each in content["explained"]] == content["rows"]


def test_a_zero_of_a_feature_that_equals_the_reference_is_not_shown_as_zero(explained):
    screen, content, table, page = explained
    same = [each["feature"] for each in content["explained"][0]["features"] if each["as_in_reference"]]
    assert "sex" in same
    assert screen.count("as in the reference") >= len(same)
    assert "sex = male" in page
    assert page.count("as in the reference") > len(same)
    assert table.loc[(table["row"] == 0) & (table["feature"] == "sex"), "as_in_reference"].item() in (True, "True")


def test_a_missing_value_is_called_missing(explained):
    screen, content, table, page = explained
    assert "missing" in screen
    assert "chol = missing" in page
    cell = next(each for each in content["explained"][0]["features"] if each["feature"] == "chol")
    assert cell["value"] is None
    assert table.loc[(table["row"] == 0) & (table["feature"] == "chol"), "value"].item() == ""


def test_whom_is_compared_with_stands_above_everything(explained):
    screen, content, _, page = explained
    said = "a typical case (the reference row), the same for every party"
    assert screen.startswith(f"Shapley values. Compared with {said}.")
    assert content["compared_with"] == said
    assert page.count(f"Compared with {said}") >= 6  # above every picture, too


def test_reasons_are_the_same_on_the_screen_on_the_page_and_for_machines(explained):
    screen, content, _, page = explained
    reasons = content["explained"][1]["reasons"]
    assert 1 <= len(reasons) <= 4
    for sentence in reasons:
        assert f"• {sentence}" in screen
        assert f"<li>{sentence}</li>" in page


def test_another_class_is_told_of_by_its_name(files, logistic, said):
    done = dcshap("explain", logistic, "rows.csv", "--party", "north", "--output", "no", "--json", cwd=files)
    assert {each["output"] for each in json.loads(done.stdout)["explained"]} == {"no"}
    code, error = said("explain", logistic, "rows.csv", "--party", "north", "--output", "maybe")
    assert code == 1
    assert "`output` must be one of ['no', 'yes']" in error


def test_a_party_s_view_has_no_cell_for_what_others_hold(files, vertical_run):
    done = dcshap("explain", vertical_run, "records.csv", "--party", "clinic", cwd=files)
    assert done.returncode == 0, done.stderr
    line = next(each for each in done.stdout.splitlines() if "DC Features" in each)
    assert "missing" not in line
    assert "row P010: P(yes)" in done.stdout


def test_a_regression_is_told_of_by_the_target_s_name(files):
    fitted = dcshap(
        "fit", "horizontal", "--party", "north=north-cost.csv", "--party", "south=south-cost.csv",
        "--target", "thalach", "--regression", "--drop", "disease", "--out", "cost", "--seed", 0, cwd=_costs(files),
    )  # fmt: skip
    assert fitted.returncode == 0, fitted.stderr
    rows = pd.read_csv(files / "rows.csv").drop(columns="thalach")
    rows.to_csv(files / "cost-rows.csv", index=False)
    shown = dcshap("explain", "cost", "cost-rows.csv", "--party", "north", cwd=files)
    assert "row 0: thalach " in shown.stdout
    assert "the predicted thalach" in shown.stdout
    predicted = dcshap("predict", "cost", "cost-rows.csv", "--party", "north", cwd=files)
    assert "6 predictions of thalach" in " ".join(predicted.stdout.split())


def _costs(files):
    pd.read_csv(files / "north.csv").to_csv(files / "north-cost.csv", index=False)
    pd.read_parquet(files / "south.parquet").to_csv(files / "south-cost.csv", index=False)
    return files


def test_what_a_run_rests_on_can_be_cited(files, logistic):
    done = dcshap("cite", logistic, cwd=files)
    assert done.returncode == 0, done.stderr
    assert "arXiv:2212.03373" in done.stdout
    assert "used for sums over parties that nobody sees the parts of" in done.stdout
    assert "Owen" not in done.stdout
    everything = dcshap("cite", "--bibtex", cwd=files)
    assert "@misc{owen," in everything.stdout


def test_columns_get_one_value_together_where_they_are_grouped(files, logistic, said):
    body = ("--group", "body=age, chol", "--group", "body=sex")
    code, told = said("explain", logistic, "rows.csv", "--party", "north", *body, "--json")
    assert code == 0, told
    content = json.loads(told[told.index("{") : told.rindex("}") + 1])
    assert content["feature_names"] == ["body", "cp", "thalach", "oldpeak", "ca", "thal"]
    code, told = said("explain", logistic, "rows.csv", "--party", "north", "--group", "body=age,height")
    assert code == 1
    assert "--group must name columns of ['age', 'sex', 'cp', 'chol'," in told
    assert "There is no ['height']" in told
    code, told = said("explain", logistic, "rows.csv", "--party", "north", "--group", "cp=age,chol")
    assert code == 1
    assert "A group must not be called like a column that is not in it. ['cp'] are" in told


@pytest.mark.parametrize("asked", [(), ("--party", "clinic"), ("--index", "shapley")])
def test_vertical_columns_get_one_value_together_too(files, vertical_run, said, asked):
    code, told = said("explain", vertical_run, "records.csv", *asked, "--group", "person=age,sex", "--json")
    assert code == 0, told
    assert json.loads(told[told.index("{") : told.rindex("}") + 1])["feature_names"][0] == "person"
    if "--index" not in asked:
        code, told = said("explain", vertical_run, "records.csv", *asked, "--group", "mixed=age,thal")
        assert code == 1
        assert "Of 'mixed', 'clinic' holds ['age'] and not ['thal']: split it, or use --view full with --index" in told


def test_a_terminal_sees_how_far_an_explanation_is_and_a_file_does_not(files, logistic):
    ask = (sys.executable, "-m", "dcshap", "explain", str(logistic), "rows.csv", "--party", "north")
    terminal, theirs = os.openpty()
    with subprocess.Popen(ask, cwd=files, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        with suppress(OSError):  # which is how Linux says that everybody else has closed it
            while select.select([terminal], [], [], 60)[0] and (part := os.read(terminal, 1 << 16)):
                seen += part
        os.close(terminal)
        assert process.wait(60) == 0
    assert b"6/6" in seen
    done = dcshap(*ask[3:], cwd=files)
    assert "6/6" not in done.stderr + done.stdout
