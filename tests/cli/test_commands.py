from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

from dcshap.cli.main import app
from dcshap.cli.tables import Run
from tests.cli.conftest import COLUMNS, dcshap


def test_predictions_and_explanations_of_a_horizontal_run_add_up(files, run):
    predicted = dcshap("predict", run, "rows.csv", "--party", "north", "--json", cwd=files)
    explained = dcshap(
        "explain", run, "rows.csv", "--party", "north", "--json", "--csv", "out.csv", "--html", "out.html", cwd=files
    )
    assert predicted.returncode == explained.returncode == 0, predicted.stderr + explained.stderr
    rows, content = json.loads(predicted.stdout), json.loads(explained.stdout)
    yes = [row["P(yes)"] for row in rows]
    np.testing.assert_allclose(np.array(content["predictions"])[:, 1], yes, atol=1e-8)
    sums = np.array(content["base_values"]) + np.array(content["values"]).sum(axis=1)
    np.testing.assert_allclose(sums, content["predictions"], atol=1e-8)
    assert content["feature_names"] == COLUMNS
    assert len(pd.read_csv(files / "out.csv")) == 6 * len(COLUMNS)
    assert "<html" in (files / "out.html").read_text()


def test_a_horizontal_comparison_shows_that_dcshap_agrees_better(files, run):
    done = dcshap("compare", run, "rows.csv", "--json", cwd=files)
    assert done.returncode == 0, done.stderr
    kernelshap, ours = json.loads(done.stdout)
    assert ours["rmse"] < kernelshap["rmse"]
    assert {row["source"] for row in ours["sources"]} == {"references", "maps"}


def test_the_views_of_a_vertical_run_agree_by_owen_values(files, vertical_run):
    done = dcshap("compare", vertical_run, "records.csv", "--json", cwd=files)
    assert done.returncode == 0, done.stderr
    owen = [row for row in json.loads(done.stdout) if "Owen" in row["index"]]
    assert len(owen) == 2
    assert all(row["own features"] < 1e-9 and row["DC Features"] < 1e-9 for row in owen)


def test_both_kinds_of_runs_explain_against_a_background(files, run, vertical_run):
    background = ("--reference", "background", "--n-background", 5, "--json")
    north, south = (
        json.loads(dcshap("explain", run, "rows.csv", "--party", name, *background, cwd=files).stdout)
        for name in ("north", "south")
    )
    np.testing.assert_allclose(north["values"], south["values"], rtol=0, atol=1e-9)
    assert north["reference_fingerprint"] == south["reference_fingerprint"]
    done = dcshap("explain", vertical_run, "records.csv", "--index", "owen", *background, cwd=files)
    assert done.returncode == 0, done.stderr
    predicted = json.loads(dcshap("predict", vertical_run, "records.csv", "--json", cwd=files).stdout)
    yes = [row["P(yes)"] for row in predicted]
    np.testing.assert_allclose(np.array(json.loads(done.stdout)["predictions"])[:, 1], yes, rtol=0, atol=1e-8)


def test_a_party_of_a_vertical_run_sees_its_features_and_one_bar(files, vertical_run):
    done = dcshap("explain", vertical_run, "records.csv", "--party", "clinic", "--json", cwd=files)
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content["feature_names"] == [*COLUMNS[:4], "DC Features"]
    assert content["view"] == "clinic"
    assert content["rows"] == ["P010", "P011", "P012", "P013"]


def test_the_schema_of_a_run_can_be_read_and_used_again(files, run):
    done = dcshap(
        "fit", "horizontal", "--party", "north=north.csv", "--party", "south=south.parquet", "--target", "disease",
        "--out", "again", "--schema", run / "schema.yaml", "--span", "shared", "--components", "5", "--json", cwd=files,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["parties"][0]["party"] == "north"


FIT = ("fit", "horizontal", "--party", "north=north.csv", "--party", "south=south.parquet")
JOIN = ("fit", "vertical", "--party", "clinic=clinic.csv", "--party", "laboratory=laboratory.csv")


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("explain", "{run}", "rows.csv", "--party", "west"), 1, "must be one of ['north', 'south']"),
        (("explain", "{run}", "rows.csv"), 1, "--party"),
        (("explain", "{run}", "nothing.csv", "--party", "north"), 1, "There is no such file"),
        (("explain", "{run}", "clinic.csv", "--party", "north"), 1, "lacks ['thalach', 'oldpeak', 'ca', 'thal']"),
        (("explain", "{run}", "rows.csv", "--party", "north", "--view", "south"), 1, "for vertical runs"),
        (("explain", "{vertical}", "records.csv", "--view", "bank"), 1, "'full' or one of ['clinic', 'laboratory']"),
        (("explain", "{vertical}", "records.csv", "--party", "clinic", "--view", "laboratory"), 1, "own view only"),
        (("explain", ".", "rows.csv", "--party", "north"), 1, "that `dcshap fit` wrote"),
        (("fit", "horizontal", "--party", "north.csv", "--target", "y", "--out", "x"), 2, "NAME=FILE"),
        (("fit", "horizontal", "--party", "a=north.csv", "--target", "disease", "--out", "x"), 1, "two parties"),
        (("fit", "horizontal", "--party", "a=north.csv", "--target", "none", "--out", "x"), 1, "target column 'none'"),
        (("explain",), 2, "Missing argument"),
        (
            (*FIT, "--target", "disease", "--out", "x", "--test", "rows.csv"),
            1,
            "target column 'disease'. It has ['age'",
        ),
        ((*FIT, "--target", "disease", "--out", "x", "--test", "clinic.csv"), 1, "lacks ['thalach', 'oldpeak'"),
        ((*FIT, "--target", "disease", "--out", "x", "--components", "inf"), 1, "`n_components` must be"),
        ((*FIT, "--target", "disease", "--out", "x", "--schema", "south.parquet"), 1, "must be a YAML file"),
        (("fit", "horizontal", "--party", "a=header.csv", "--target", "disease", "--out", "x"), 1, "at least one row"),
        ((*JOIN, "--id", "number", "--target", "disease", "--out", "x"), 1, "'number'. It has ['patient', 'age'"),
        ((*JOIN, "--id", "patient", "--target", "sick", "--out", "x"), 1, "{'clinic': ['age', 'sex'"),
        ((*JOIN, "--id", "patient", "--target", "patient", "--out", "x"), 1, "must be two columns"),
        (("predict", "{vertical}", "rows.csv"), 1, "record identifiers 'patient'. It has ['age'"),
        (("predict", "{vertical}", "records.csv", "rows.csv"), 2, "Invalid value for ROWS"),
        (("explain", "{run}", "rows.csv", "--party", "north", "--jobs", "0"), 1, "--jobs must be"),
        (("explain", "{run}", "rows.csv", "--party", "north", "--html", "no/page.html"), 1, "There is no no."),
    ],
)
def test_what_is_wrong_is_said_in_one_paragraph(run, vertical_run, said, arguments, code, text):
    got, error = said(*(a.format(run=run, vertical=vertical_run) for a in arguments))
    assert got == code
    assert text in error
    assert "Traceback" not in error


@pytest.mark.parametrize("command", [(*FIT, "--target", "disease"), (*JOIN, "--id", "patient", "--target", "disease")])
def test_a_run_can_be_written_over_an_earlier_one(files, said, command):
    for model in ("logistic", "knn"):
        code, error = said(*command, "--out", f"again-{command[1]}", "--model", model)
        assert code == 0, error
    found = Run.load(files / f"again-{command[1]}").collaboration
    assert isinstance(found.model, KNeighborsClassifier)


@pytest.mark.parametrize("command", [(*FIT, "--target", "disease"), (*JOIN, "--id", "patient", "--target", "disease")])
def test_where_the_run_cannot_be_written_is_said_before_training(files, said, command, monkeypatch):
    monkeypatch.setattr("dcshap.collaboration.Analyst._fit", lambda *_: pytest.fail("trained"))
    for out in ("rows.csv", "rows.csv/run", "."):
        code, error = said(*command, "--out", out)
        assert code == 1
        assert "must be" in error


def test_a_run_that_was_cut_off_while_it_was_replaced_still_predicts(run, tmp_path, said):
    shutil.copytree(run, tmp_path / ".run.earlier")
    code, error = said("predict", tmp_path / "run", "rows.csv", "--party", "north")
    assert code == 0, error


def test_debug_shows_the_traceback(files, run):
    done = dcshap("explain", run, "nothing.csv", "--party", "north", "--debug", cwd=files)
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_records_unknown_to_a_party_are_named_on_the_screen(vertical_run, said):
    code, error = said(
        "explain", vertical_run, "clinic=clinic-rows.csv", "laboratory=laboratory.csv", "--party", "clinic"
    )
    assert code == 1
    assert "2 records are unknown to 'laboratory': P003, P004." in error


def test_extra_columns_are_ignored_with_a_note(files, run, said):
    pd.read_csv(files / "rows.csv").assign(note="x").to_csv(files / "extra.csv", index=False)
    code, error = said("predict", run, "extra.csv", "--party", "south")
    assert code == 0
    assert "['note']" in error


def test_unknown_categories_are_named_on_the_screen_and_counted_in_the_error(files, run, said):
    pd.read_csv(files / "rows.csv").assign(thal="odd").to_csv(files / "unknown.csv", index=False)
    code, error = said("predict", run, "unknown.csv", "--party", "south")
    assert code == 1
    assert "column 'thal' has categories that are not in the schema: ['odd']" in error
    assert "6 values that are none of its 3 categories" in error


def test_a_damaged_run_is_refused(run, tmp_path, said):
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    contents = copy / "party-north" / "contents.json"
    contents.write_text(contents.read_text().replace('"version": 1', '"version": 99'))
    code, error = said("predict", copy, "rows.csv", "--party", "north")
    assert code == 1
    assert "version" in error


@pytest.mark.parametrize(
    "command",
    [
        ("demo",),
        ("fit", "horizontal"),
        ("fit", "vertical"),
        ("predict",),
        ("explain",),
        ("compare",),
        ("receipt", "verify"),
    ],
)
def test_every_command_has_help_with_an_example(said, command, capsys):
    with pytest.raises(SystemExit) as stopped:
        app([*command, "--help"])
    assert stopped.value.code == 0
    assert "Example" in capsys.readouterr().out


@pytest.mark.slow
def test_the_demo_writes_its_report(tmp_path):
    done = dcshap("demo", "--out", "demo", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    by_method = {row["explained by"]: row for row in content["horizontal"]["comparison"]}
    assert by_method["DC-SHAP"]["RMSE"] < by_method["KernelSHAP"]["RMSE"] / 2
    assert by_method["DC-SHAP, shared span"]["RMSE"] < 1e-9
    assert "DC Features" in (tmp_path / "demo" / "report.html").read_text()
