"""`dcshap audit` and `dcshap fit --audit`."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import dcshap

pytest.importorskip("fpylll")


def test_a_saved_run_is_audited_with_the_party_s_table_and_the_verdict_is_the_exit_code(files, run):
    done = dcshap("audit", run, "--party", "north", "--json", "--html", "audit.html", cwd=files)
    told = json.loads(done.stdout)
    assert done.returncode == {"pass": 0, "warn": 1, "fail": 2}[told["verdict"]]
    assert told["party"] == "north"
    found = {line["attack"]: line["verdict"] for line in told["lines"]}
    assert found["noise"] == found["hidden lattice"] == "pass"
    assert found["membership of the model"] == "fail"  # 7 nearest neighbours
    page = (files / "audit.html").read_text(encoding="utf-8")
    assert "What to change" in page
    assert "reading columns, map known" in page


def test_thresholds_can_be_given_and_wrong_ones_are_refused(files, run, said):
    given = ("audit", run, "--party", "north", "north.csv", "--threshold")
    code, text = said(*given, "linkage=0.9:0.95", "--threshold", "noise=5:1")
    assert code == 2
    assert "'linkage' is not the default" in text
    assert said(*given, "linkage")[1].count("NAME=PASS:FAIL") == 1
    assert "must be one of" in said(*given, "unknown=1:2")[1]


def test_a_vertical_party_is_audited_and_strict_makes_a_warning_a_failure(files, vertical_run):
    lax = dcshap("audit", vertical_run, "--party", "laboratory", "laboratory.csv", "--json",
                 "--threshold", "linkage=1:1", cwd=files)  # fmt: skip
    assert json.loads(lax.stdout)["verdict"] == "warn", lax.stderr
    strict = dcshap("audit", vertical_run, "--party", "laboratory", "--strict",
                    "--threshold", "linkage=1:1", cwd=files)  # fmt: skip
    assert (lax.returncode, strict.returncode) == (1, 2)


def test_fit_audits_every_party_where_asked(files):
    done = dcshap(
        "fit", "horizontal", "--party", "north=north.csv", "--party", "south=south.parquet", "--target", "disease",
        "--out", "audited", "--noise", 0, "--seed", 0, "--audit", "--json", cwd=files,
    )  # fmt: skip
    assert done.returncode == 2
    assert {found["verdict"] for found in json.loads(done.stdout)["audit"].values()} == {"fail"}


def test_where_an_audit_is_asked_for_a_model_with_training_rows_needs_consent(files):
    asked = (
        "fit", "horizontal", "--party", "north=north.csv", "--party", "south=south.parquet", "--target", "disease",
        "--out", "neighbours", "--model", "knn", "--seed", 0, "--audit", "--json",
    )  # fmt: skip
    refused = dcshap(*asked, cwd=files)
    assert refused.returncode == 1
    assert "contains training rows" in refused.stderr
    assert not (files / "neighbours").exists()
    agreed = dcshap(*asked, "--instance-models", cwd=files)
    assert agreed.returncode == 2  # and the audit says what that means
    assert {found["verdict"] for found in json.loads(agreed.stdout)["audit"].values()} == {"fail"}
