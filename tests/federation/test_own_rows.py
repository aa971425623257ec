"""`dcshap federation party explain`: a party explains rows of its own, with no network."""

from __future__ import annotations

import json

import numpy as np
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from dcshap.cli.main import app
from dcshap.explanation.rows import explain_rows
from dcshap.federation.site.party_site import load_trained

from .conftest import people
from .twin import NAME


def test_the_rows_are_read_as_the_options_say_and_what_is_ignored_is_named(twin, tmp_path):
    run = twin("horizontal", ["bank", "shop"], agreement={"span": "random"})
    run.trained(LogisticRegression(max_iter=1000))
    config = run.sites["bank"].config
    rows = people(3, seed=9)
    rows.assign(remark="new").to_csv(tmp_path / "rows.txt", sep="|", index=False)
    command = ["federation", "party", "explain", str(config.folder), NAME, str(tmp_path / "rows.txt")]
    done = CliRunner().invoke(app, [*command, "--sep", "|", "--json"])
    assert done.exit_code == 0, done.stderr
    assert "['remark'] are no part of the run" in " ".join(done.stderr.split())
    wanted = explain_rows(load_trained(config, NAME), rows.drop(columns="repaid"))
    np.testing.assert_allclose(json.loads(done.stdout)["values"], wanted.values, rtol=0, atol=1e-9)
