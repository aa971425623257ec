"""Explanations as plain JSON, so that a figure can be drawn from a kept result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dcshap.explanation.statement import PartyExplanation
from dcshap.shapley import Explanation

__all__ = ["pack", "unpack", "unpack_all"]

_PLAIN = ("index", "method", "exact", "reference_fingerprint", "party", "view")


def pack(explanation: PartyExplanation) -> dict[str, Any]:
    """An exact explanation as lists, texts and numbers."""
    data = pd.DataFrame(explanation.data)
    return {
        "values": explanation.values.tolist(),
        "base_values": explanation.base_values.tolist(),
        "n_evals": explanation.n_evals.tolist(),
        "feature_names": list(explanation.feature_names),
        "output_names": list(explanation.output_names),
        "data": {str(name): [_plain(value) for value in data[name]] for name in data.columns},
        "bars": {bar: list(parties) for bar, parties in explanation.bars.items()},
        **{name: getattr(explanation, name) for name in _PLAIN},
    }


def unpack(content: dict[str, Any]) -> PartyExplanation:
    """The explanation that `pack` wrote."""
    values = np.array(content["values"])
    return PartyExplanation(
        values=values,
        base_values=np.array(content["base_values"]),
        n_evals=np.array(content["n_evals"], dtype=np.int64),
        feature_names=tuple(content["feature_names"]),
        output_names=tuple(content["output_names"]),
        standard_errors=np.zeros_like(values),
        converged=np.ones(len(values), dtype=np.bool_),
        data=pd.DataFrame(content["data"]),
        bars={bar: tuple(parties) for bar, parties in content["bars"].items()},
        **{name: content[name] for name in _PLAIN},
    )


def unpack_all(packed: dict[str, Any]) -> dict[str, Explanation]:
    """Several of them, by name."""
    return {name: unpack(each) for name, each in packed.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and np.isnan(value) else value
