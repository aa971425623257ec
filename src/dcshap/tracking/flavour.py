"""MLflow: explanations as artifacts of a run, and a party's composed model as a flavour that loads without pickle.

A party's model holds its private maps: log it to a store that may hold the party's data.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd

from dcshap._typing import Array
from dcshap.collaboration.horizontal_party import HorizontalParty
from dcshap.collaborations import HorizontalCollaboration
from dcshap.shapley import Explanation
from dcshap.tracking.provenance import Collaboration, provenance, settings_of

__all__ = ["load_model", "log_explanation", "log_model", "log_training", "save_model"]

MODULE = "dcshap.tracking.flavour"
PARTY = "party"


def log_training(collaboration: Collaboration) -> None:
    """Log a training's settings as parameters of MLflow's active run, and where the model comes from."""
    mlflow.log_params(settings_of(collaboration))
    mlflow.log_dict(provenance(collaboration), "provenance.json")


def log_explanation(explanation: Explanation, *, name: str = "explanation", page: bool = True) -> None:
    """Log an explanation to MLflow's active run: to load again, as a table, and as a page. It shows the rows.

    Parameters
    ----------
    explanation : Explanation
    name : str
        The artifacts' folder.
    page : bool
        Whether to draw a page.
    """
    with tempfile.TemporaryDirectory() as folder:
        explanation.save(Path(folder, "explanation.zip"))
        explanation.to_frame(explanation.chosen_outputs()).to_csv(Path(folder, "explanation.csv"), index=False)
        if page:
            from dcshap.report import explanation_report  # noqa: PLC0415 - drawing takes a second to import

            explanation_report(explanation).write(Path(folder, "explanation.html"))
        mlflow.log_artifacts(folder, name)
    chosen = explanation.chosen_outputs()
    values = explanation.values.reshape(*explanation.values.shape[:2], -1)[np.arange(len(explanation)), :, chosen]
    sizes = zip(explanation.feature_names, np.abs(values).mean(axis=0), strict=True)
    mlflow.log_metrics({f"{name}/mean size of {_key(feature)}": float(size) for feature, size in sizes})


def save_model(collaboration: HorizontalCollaboration, path: str | Path, *, party: str) -> None:
    """Write a party's composed model, rows to predictions, as MLflow's python_function."""
    with tempfile.TemporaryDirectory() as folder:
        data = _written(collaboration, Path(folder), party)
        mlflow.pyfunc.save_model(str(path), loader_module=MODULE, data_path=str(data), pip_requirements=["dcshap"])


def log_model(collaboration: HorizontalCollaboration, name: str = "model", *, party: str) -> str:
    """Log a party's composed model to MLflow's active run; the address to load it from."""
    with tempfile.TemporaryDirectory() as folder:
        data = _written(collaboration, Path(folder), party)
        logged = mlflow.pyfunc.log_model(
            name=name, loader_module=MODULE, data_path=str(data), pip_requirements=["dcshap"]
        )
    return str(logged.model_uri)


def load_model(address: str) -> PartyModel:
    """A party's composed model, from where it was saved or logged."""
    found: PartyModel = mlflow.pyfunc.load_model(address)._model_impl
    return found


class PartyModel:
    """A party's rows to predictions: `h ∘ G ∘ F`."""

    def __init__(self, party: HorizontalParty) -> None:
        self.party = party

    def predict(self, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> Array:  # noqa: ARG002
        """Predictions (n,) of rows (n, M)."""
        return self.party.predict(model_input)


def _written(collaboration: HorizontalCollaboration, folder: Path, party: str) -> Path:
    collaboration._party(party).save(folder / PARTY)
    (folder / "provenance.json").write_text(json.dumps(provenance(collaboration)), encoding="utf-8")
    return folder


def _load_pyfunc(path: str) -> PartyModel:
    """What MLflow calls to load the flavour."""
    return PartyModel(HorizontalParty.load(Path(path) / PARTY))


def _key(name: str) -> str:
    """A metric's name, of the letters that MLflow takes."""
    return "".join(letter if letter.isalnum() or letter in "_-. " else "_" for letter in name)
