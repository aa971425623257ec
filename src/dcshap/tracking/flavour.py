"""MLflow: explanations as artifacts of a run, and a party's composed model as a flavour that loads without pickle.

A party's model holds its private map, which undoes its representations up to noise: log it to a store that may hold
the party's data. It holds no seed, no noise and no summary of rows: whoever reads it can predict, and can neither sign
for the party nor take its noise away.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd

from dcshap._typing import Array, FloatArray
from dcshap.collaboration.alignment import Alignment
from dcshap.collaboration.anchor import Anchor
from dcshap.collaboration.horizontal_party import HorizontalParty
from dcshap.collaboration.reduction import LinearReduction, Reduction, TransformerReduction
from dcshap.collaborations import HorizontalCollaboration
from dcshap.schema import Schema
from dcshap.schema.encoding import Encoder
from dcshap.shapley import Explanation
from dcshap.storage import State, interpreting, read_folder, write_folder
from dcshap.tracking.provenance import Collaboration, provenance, settings_of

__all__ = ["load_model", "log_explanation", "log_model", "log_training", "save_model"]

MODULE = "dcshap.tracking.flavour"
PARTY = "party"
KIND = "party's model"


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


@dataclass(frozen=True)
class PartyModel:
    """A party's rows to predictions: `h ∘ G ∘ F`, and nothing else of the party."""

    missing: Any  # what a missing value means, as agreed
    anchor: Anchor  # encodes rows; without the anchor's own
    reduction: Reduction  # F
    alignment: Alignment  # G
    model: Any  # h

    @classmethod
    def of(cls, party: HorizontalParty) -> PartyModel:
        """What a party predicts with."""
        bare = _without_rows(party.anchor.encoder, party.anchor.median)
        return cls(party.agreement.missing, bare, party.reduction, party.alignment, party.model_)

    def predict(self, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> Array:  # noqa: ARG002
        """Predictions (n,) of rows (n, M)."""
        encoded = self.anchor.encode(self.anchor.encoder.schema.codes(model_input, missing=self.missing))
        return np.asarray(self.model.predict(self.alignment.transform(self.reduction.transform(encoded))))

    def state(self) -> State:
        """All of it, to be written to disk."""
        encoder, alignment = self.anchor.encoder, self.alignment
        content = {"schema": encoder.schema.to_dict(), "missing": self.missing, "resolution": alignment.resolution}
        arrays = {"center": encoder.center, "scale": encoder.scale, "median": self.anchor.median}
        arrays |= {"alignment_weights": alignment.weights, "alignment_intercept": alignment.intercept}
        models = {"model": self.model}
        if isinstance(self.reduction, TransformerReduction):
            models["reduction"], arrays["rotation"] = self.reduction.transformer, self.reduction.rotation
        elif isinstance(self.reduction, LinearReduction):
            arrays["reduction_weights"], arrays["reduction_offset"] = self.reduction.weights, self.reduction.offset
        return State(KIND, content, arrays, models)

    @classmethod
    def from_state(cls, state: State) -> PartyModel:
        """What `state` wrote."""
        content, arrays, models = state.content, state.arrays, state.models
        encoder = Encoder(Schema.from_dict(content["schema"]), arrays["center"], arrays["scale"])
        reduction: Reduction
        if "rotation" in arrays:
            reduction = TransformerReduction(models["reduction"], arrays["rotation"])
        else:
            reduction = LinearReduction(arrays["reduction_weights"], arrays["reduction_offset"])
        alignment = Alignment(arrays["alignment_weights"], arrays["alignment_intercept"], content["resolution"])
        return cls(content["missing"], _without_rows(encoder, arrays["median"]), reduction, alignment, models["model"])


def _without_rows(encoder: Encoder, median: FloatArray) -> Anchor:
    """An anchor that encodes, and whose rows and seed nobody can find."""
    return Anchor(encoder, np.empty((0, encoder.n_coordinates)), np.empty((0, len(median))), median)


def _written(collaboration: HorizontalCollaboration, folder: Path, party: str) -> Path:
    write_folder(folder / PARTY, PartyModel.of(collaboration._party(party)).state())
    (folder / "provenance.json").write_text(json.dumps(provenance(collaboration)), encoding="utf-8")
    return folder


def _load_pyfunc(path: str) -> PartyModel:
    """What MLflow calls to load the flavour."""
    folder = Path(path) / PARTY
    state = read_folder(folder, kind=KIND)
    with interpreting(folder):
        return PartyModel.from_state(state)


def _key(name: str) -> str:
    """A metric's name, of the letters that MLflow takes."""
    return "".join(letter if letter.isalnum() or letter in "_-. " else "_" for letter in name)
