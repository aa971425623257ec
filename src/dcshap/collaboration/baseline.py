"""What a collaboration is measured against: the same model on plain rows, one party's alone or everybody's pooled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from dcshap._typing import Array, FloatArray
from dcshap.collaboration.labels import as_labels, goodness
from dcshap.schema import Schema
from dcshap.schema.encoding import Encoder

__all__ = ["Baseline"]


@dataclass(frozen=True)
class Baseline:
    """A model trained on encoded rows, with nothing reduced or hidden."""

    encoder: Encoder
    model: Any

    @classmethod
    def fit(cls, model: Any, schema: Schema, X: Any, y: Any) -> Baseline:
        """Train a copy of the model on rows (n, M) and labels (n,)."""
        encoder = Encoder.from_schema(schema)
        return cls(encoder, clone(model).fit(encoder.encode(schema.codes(X)), as_labels(y)))

    def points(self, X: Any) -> FloatArray:
        """Rows (n, M) as the model sees them (n, p)."""
        return self.encoder.encode(self.encoder.schema.codes(X))

    def predict(self, X: Any) -> Array:
        """Predict rows (n, M)."""
        return np.asarray(self.model.predict(self.points(X)))

    def score(self, X: Any, y: Any) -> float:
        """Accuracy, or R² for a regressor."""
        return goodness(self.model, y, self.predict(X))
