"""Train one model on data that nobody may share, and get the same explanation of every prediction."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dcshap import datasets
    from dcshap.collaborations import HorizontalCollaboration, VerticalCollaboration
    from dcshap.explanation import Disagreement, Explanation, disagreement
    from dcshap.schema import Schema
    from dcshap.shapley import shapley_interactions, shapley_values

__all__ = [
    "Disagreement",
    "Explanation",
    "HorizontalCollaboration",
    "Schema",
    "VerticalCollaboration",
    "datasets",
    "disagreement",
    "shapley_interactions",
    "shapley_values",
]

__version__ = "0.1.0"  # the only place: the package's metadata are made from it

# Imported when first asked for: a command that only shows its help, and a federation's site, need few of them.
_MODULES = {
    "Disagreement": "dcshap.explanation",
    "Explanation": "dcshap.explanation",
    "HorizontalCollaboration": "dcshap.collaborations",
    "Schema": "dcshap.schema",
    "VerticalCollaboration": "dcshap.collaborations",
    "disagreement": "dcshap.explanation",
    "shapley_interactions": "dcshap.shapley",
    "shapley_values": "dcshap.shapley",
}


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("dcshap.datasets")  # which makes it an attribute
    if name not in _MODULES:
        raise AttributeError(f"module 'dcshap' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return found


def __dir__() -> list[str]:
    return [*globals(), *__all__]
