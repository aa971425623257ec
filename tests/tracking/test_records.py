from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from dcshap import Explanation, HorizontalCollaboration
from dcshap.tracking import all_citations, citations_of, model_card, provenance

RNG = np.random.default_rng(1)
ROWS = pd.DataFrame(RNG.normal(size=(120, 4)), columns=["age", "bmi", "dose", "days"])
SICK = pd.Series(np.where(ROWS["age"] + ROWS["dose"] > 0, "yes", "no"), name="sick")


@pytest.fixture(scope="module")
def together() -> HorizontalCollaboration:
    data = {"north": (ROWS[:60], SICK[:60]), "south": (ROWS[60:], SICK[60:])}
    return HorizontalCollaboration(random_state=0, epsilon=3.0).fit(data)


def test_the_bill_of_materials_says_what_trained_the_model_and_no_seed(together):
    bill = provenance(together)
    settings = {each["name"]: each["value"] for each in bill["metadata"]["properties"]}
    assert settings["dcshap:epsilon"] == "3.0"
    assert (settings["dcshap:span"], settings["dcshap:noise"]) == ("supervised", "0.2")
    names = {each["name"] for each in bill["components"]}
    assert {"north", "south", "dcshap", "scikit-learn", "Python"} <= names
    text = json.dumps(bill)
    assert together.schema_.fingerprint in text
    assert hex(together.parties_["north"].private_seed) not in text
    assert "random_state" not in text


def test_the_model_card_names_parties_settings_limits_and_works(together):
    card = model_card(together, description="Who falls ill.").render()
    for words in ("Who falls ill.", "north", "age, bmi, dose, days", "supervised", "not on rows", "Balle and Wang"):
        assert words in card


def test_works_are_those_of_the_methods_that_were_used(together):
    keys = [work.key for work in citations_of(together)]
    assert keys == ["dcshap", "collaboration", "summation", "fisher", "gaussian", "sklearn"]
    explained = together.explain(ROWS.head(1), party="north")
    assert [work.key for work in citations_of(explanation=explained)] == ["dcshap", "shapley", "shap"]
    sampled = together.explain(ROWS.head(1), party="north", method="sampled", random_state=0)
    assert "sampling" in [work.key for work in citations_of(explanation=sampled)]
    assert all(work.bibtex().startswith(f"@misc{{{work.key},") for work in all_citations())


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_mlflow_keeps_explanations_and_a_party_s_model(together, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow")
    from dcshap.tracking import flavour  # noqa: PLC0415 - needs mlflow

    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    explained = together.explain(ROWS.head(3), party="north")
    with mlflow.start_run() as run:
        flavour.log_training(together)
        flavour.log_explanation(explained, page=False)
        address = flavour.log_model(together, party="north")
    folder = mlflow.artifacts.download_artifacts(run_id=run.info.run_id, dst_path=str(tmp_path))
    back = Explanation.load(f"{folder}/explanation/explanation.zip")
    np.testing.assert_array_equal(back.values, explained.values)
    assert mlflow.get_run(run.info.run_id).data.params["span"] == "supervised"
    wanted = together.predict(ROWS, party="north")
    np.testing.assert_array_equal(mlflow.pyfunc.load_model(address).predict(ROWS), wanted)
    flavour.save_model(together, tmp_path / "saved", party="south")
    np.testing.assert_array_equal(flavour.load_model(str(tmp_path / "saved")).predict(ROWS), wanted)
