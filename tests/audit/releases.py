"""Releases made to be broken, releases of pure noise, and parties to audit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.neighbors import KNeighborsClassifier

from dcshap import HorizontalCollaboration, datasets
from dcshap.exceptions import PrivacyWarning

SETTINGS: dict[str, dict[str, Any]] = {
    "new default": {},
    "old default": {"span": "private", "noise": 0},
    "paper": {
        "model": KNeighborsClassifier(7),
        "span": "private",
        "noise": 0,
        "alignment": "svd",
        "anchor": "uniform",
        "scaled": False,
    },
}


def integers(n: int = 300, *, seed: int = 0) -> np.ndarray[Any, Any]:
    """Columns of whole numbers as real tables have them: ages, counts, codes, truth values."""
    rng = np.random.default_rng(seed)
    return np.stack(
        [
            rng.integers(18, 90, n),
            rng.poisson(2, n),
            rng.integers(0, 2, n),
            rng.geometric(0.3, n),
            rng.binomial(1, 0.2, n),
            rng.integers(0, 5, n),
        ],
        axis=1,
    ).astype(float)


def mixed(rows: np.ndarray[Any, Any], d: int, *, seed: int = 1) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Rows through a map of d dimensions, without noise, and the map."""
    weights = np.random.default_rng(seed).standard_normal((rows.shape[1], d))
    return rows @ weights, weights


def noise(n: int, d: int, *, seed: int = 2) -> np.ndarray[Any, Any]:
    """A release that has nothing to do with any rows."""
    return np.random.default_rng(seed).standard_normal((n, d))


def r2(estimated: np.ndarray[Any, Any], true: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return 1 - ((estimated - true) ** 2).sum(axis=0) / ((true - true.mean(axis=0)) ** 2).sum(axis=0)


def tables(name: str, *, rows: int = 2000) -> dict[str, tuple[pd.DataFrame, pd.Series]]:
    """Two parties' halves of a published table."""
    if name in ("wine", "breast_cancer"):
        X, y = (load_wine if name == "wine" else load_breast_cancer)(return_X_y=True, as_frame=True)
    else:
        bunch = getattr(datasets, f"load_{name}")()
        X, y = bunch.data, bunch.target
    at = np.random.default_rng(0).permutation(len(X))[:rows]
    return {"north": (X.iloc[at[::2]], y.iloc[at[::2]]), "south": (X.iloc[at[1::2]], y.iloc[at[1::2]])}


def trained(name: str, setting: str, **more: Any) -> HorizontalCollaboration:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return HorizontalCollaboration(random_state=0, **SETTINGS[setting], **more).fit(tables(name))
