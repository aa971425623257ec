"""Where a trained model comes from, as a bill of materials in the manner of CycloneDX: for machines, without data."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

from dcshap.collaborations import HorizontalCollaboration, VerticalCollaboration
from dcshap.exceptions import NotFittedError

__all__ = ["provenance", "settings_of"]

Collaboration = HorizontalCollaboration | VerticalCollaboration

LIBRARIES = ("dcshap", "numpy", "scipy", "scikit-learn", "pandas", "skops")
SETTINGS = ("span", "noise", "epsilon", "n_components", "alignment", "reduction", "anchor", "missing", "span_rounds")


def provenance(collaboration: Collaboration) -> dict[str, Any]:
    """What trained a model: parties, their schema, settings of the span, noise and privacy, and versions.

    It names columns and parties and holds neither data nor seeds.
    """
    if not hasattr(collaboration, "parties_"):
        raise NotFittedError(f"This {type(collaboration).__name__} is not fitted yet: call `fit` first.")
    model, run = collaboration.analyst_.model_, collaboration.analyst_.run
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "machine-learning-model",
                "bom-ref": run,
                "name": type(model).__name__,
                "version": run[:8],
                "description": f"Trained by a {collaboration.kind}.",
            },
            "properties": _properties(settings_of(collaboration)),
        },
        "components": [*_libraries(), *_parties(collaboration)],
    }


def settings_of(collaboration: Collaboration) -> dict[str, Any]:
    """The settings that decide what left the parties, and their dimensions."""
    given = {name: getattr(collaboration, name, None) for name in SETTINGS}
    plain = {name: value if isinstance(value, str | int | float) else str(value) for name, value in given.items()}
    agreements = {name: party.agreement for name, party in collaboration.parties_.items()}
    return {"kind": collaboration.kind, **plain} | {
        f"dimensions of {name}": agreement.dimensions for name, agreement in agreements.items()
    }


def _libraries() -> list[dict[str, Any]]:
    found = [{"type": "library", "name": name, "version": version(name)} for name in LIBRARIES]
    return [*found, {"type": "platform", "name": "Python", "version": platform.python_version()}]


def _parties(collaboration: Collaboration) -> list[dict[str, Any]]:
    """One data set per party: its columns and the fingerprint of its schema, nothing of its rows but their number."""
    sent = {line.sender: line.shapes["rows"][0] for line in collaboration.sent_[::-1] if "rows" in line.shapes}
    return [
        {
            "type": "data",
            "name": name,
            "data": [{"type": "dataset", "contents": {"properties": _properties(_schema(party, sent.get(name)))}}],
        }
        for name, party in collaboration.parties_.items()
    ]


def _schema(party: Any, n_rows: int | None) -> dict[str, Any]:
    schema = party.agreement.schema
    return {"schema": schema.fingerprint, "columns": ", ".join(schema.names), "rows": n_rows}


def _properties(given: dict[str, Any]) -> list[dict[str, str]]:
    return [{"name": f"dcshap:{name}", "value": str(value)} for name, value in given.items()]
