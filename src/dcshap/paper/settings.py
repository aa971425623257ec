"""What the paper fixes, what it leaves open, and the figures that it published.

The paper says: k nearest neighbours with k = 7 and a kd-tree, 9 dimensions on Adult and 3/4 of the columns elsewhere,
2000 anchor rows, the median as reference. It does not say how columns are scaled, how rows are divided in its Table 1,
or how 3/4 of 13 is rounded; `dcshap.paper.alternatives` shows what the other choices give.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier

from dcshap.collaborations import HorizontalCollaboration
from dcshap.exceptions import InputError

__all__ = [
    "DATASETS",
    "MODELS",
    "NEIGHBOURS",
    "N_NEIGHBOURS",
    "PUBLISHED",
    "SETTINGS",
    "Changes",
    "Published",
    "collaboration",
    "n_components",
    "new_model",
]

N_NEIGHBOURS = 7
NEIGHBOURS = "7 nearest neighbours"
ADULT_COMPONENTS = 9
COMPONENTS = 0.75

Changes = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Published:
    """A row of the paper's Table 1. The paper has no deviation of the accuracy."""

    n_features: int
    accuracy: float
    kernelshap_rmse: float
    kernelshap_rmse_sd: float
    dcshap_rmse: float
    dcshap_rmse_sd: float

    @property
    def factor(self) -> float:
        """How much smaller DC-SHAP's difference is, from the rounded figures."""
        return self.kernelshap_rmse / self.dcshap_rmse


PUBLISHED: Mapping[str, Published] = MappingProxyType(
    {
        "iris": Published(4, 0.95, 0.26, 0.04, 0.09, 0.02),
        "pima": Published(8, 0.73, 0.07, 0.01, 0.01, 0.00),
        "adult": Published(12, 0.83, 0.07, 0.01, 0.04, 0.01),
        "wine": Published(13, 0.94, 0.10, 0.03, 0.02, 0.00),
        "heart": Published(13, 0.80, 0.09, 0.01, 0.04, 0.01),
    }
)
DATASETS = tuple(PUBLISHED)

# One setting for all data sets. `paper` is the paper's recipe, `default` leaves everything as the library has it.
# The others are what was tried on the way: representations of the paper's dimensions, without noise.
SETTINGS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "paper": {
            "span": "private",
            "noise": 0.0,
            "reduction": "svd",
            "alignment": "svd",
            "anchor": "uniform",
            "n_anchor": 2000,
            "scaled": False,
        },
        "default": {},
        "private-span": {"span": "private", "noise": 0.0, "alignment": "affine"},
        "shared-span": {"span": "shared", "noise": 0.0, "alignment": "affine"},
    }
)

MODELS = (NEIGHBOURS, "logistic regression", "random forest", "gradient boosting", "neural network")


def new_model(name: str, *, setting: str, seed: int) -> Any:
    """An untrained model; the paper's setting asks for a kd-tree."""
    if name == NEIGHBOURS:
        return KNeighborsClassifier(N_NEIGHBOURS, algorithm="kd_tree" if setting == "paper" else "auto")
    if name == "logistic regression":
        return LogisticRegression(max_iter=1000)
    if name == "random forest":
        return RandomForestClassifier(50, min_samples_leaf=3, random_state=seed)
    if name == "gradient boosting":
        return HistGradientBoostingClassifier(max_iter=50, random_state=seed)
    if name == "neural network":
        # A hundred steps are the regularisation: more would fit small data sets by heart.
        return MLPClassifier((16,), solver="lbfgs", alpha=1.0, max_iter=100, random_state=seed)
    raise InputError(f"A model must be one of {list(MODELS)}. Got {name!r}.")


def n_components(dataset: str) -> int | float:
    """The paper's dimensions of a representation: 9 on Adult, 3/4 of the columns elsewhere, rounded to the nearest."""
    return ADULT_COMPONENTS if dataset == "adult" else COMPONENTS


def collaboration(
    dataset: str, *, setting: str, seed: int, model: str = NEIGHBOURS, changes: Changes = ()
) -> HorizontalCollaboration:
    """A horizontal collaboration by a named setting, with some parameters changed."""
    if setting not in SETTINGS:
        raise InputError(f"A setting must be one of {list(SETTINGS)}. Got {setting!r}.")
    dimensions = {} if setting == "default" else {"n_components": n_components(dataset)}
    parameters: dict[str, Any] = {**dimensions, **SETTINGS[setting], **dict(changes)}
    return HorizontalCollaboration(new_model(model, setting=setting, seed=seed), random_state=seed, **parameters)
