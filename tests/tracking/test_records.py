from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA

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


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of all files of a folder, those inside archives too."""
    found = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for name in [name for name, data in found.items() if zipfile.is_zipfile(io.BytesIO(data))]:
        with zipfile.ZipFile(name) as file:
            found |= {f"{name}/{each}": file.read(each) for each in file.namelist()}
    return found


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.parametrize("settings", [{}, {"span": "private", "reduction": PCA(2)}], ids=["linear", "transformer"])
def test_a_model_in_mlflow_predicts_and_holds_no_seed_no_noise_and_nothing_of_the_rows(tmp_path, settings):
    pytest.importorskip("mlflow")
    from dcshap.tracking import flavour  # noqa: PLC0415 - needs mlflow

    data = {"north": (ROWS[:60], SICK[:60]), "south": (ROWS[60:], SICK[60:])}
    run = HorizontalCollaboration(random_state=0, missing="reference", **settings).fit(data)
    flavour.save_model(run, tmp_path / "saved", party="north")
    asked = ROWS.mask(ROWS > 1.5)  # some are missing
    model = flavour.load_model(str(tmp_path / "saved"))
    np.testing.assert_array_equal(model.predict(asked), run.predict(asked, party="north"))

    north = run.parties_["north"]
    files = contents(tmp_path / "saved")
    for seed in (north.private_seed, north.anchor_seed):
        assert seed.bit_length() > 64
        raw = [seed.to_bytes(-(-seed.bit_length() // 8), order) for order in ("big", "little")]
        forms = [f"{seed:x}".encode(), f"{seed:X}".encode(), str(seed).encode(), *raw]
        assert not [name for name, content in files.items() for form in forms if form in content]
    private = [array for name, array in north.state().arrays.items() if name.startswith(("own_", "noise", "moments"))]
    assert len(private) >= 6
    assert not [name for name, content in files.items() for array in private if array.tobytes() in content]
