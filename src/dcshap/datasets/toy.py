"""Iris, Wine and Breast Cancer, as scikit-learn ships them."""

from __future__ import annotations

from collections.abc import Callable

import sklearn.datasets
from sklearn.utils import Bunch

from dcshap.datasets.choices import as_bunch

__all__ = ["load_breast_cancer", "load_iris", "load_wine"]


def load_iris() -> Bunch:
    """Load Iris: which of three species is a flower?

    Returns
    -------
    Bunch
        `data` : DataFrame of shape (150, 4), float64; `target` : Series `species` of 0, 1 and 2, 50 rows each;
        `feature_names`, `target_names`, `DESCR`.

    Examples
    --------
    >>> from dcshap.datasets import load_iris
    >>> load_iris().target_names
    ['setosa', 'versicolor', 'virginica']
    """
    return _from_sklearn(sklearn.datasets.load_iris, target="species")


def load_wine() -> Bunch:
    """Load Wine: from which of three cultivars is a wine?

    Returns
    -------
    Bunch
        `data` : DataFrame of shape (178, 13), float64; `target` : Series `cultivar` of 0, 1 and 2, with 59, 71 and
        48 rows; `feature_names`, `target_names`, `DESCR`.
    """
    return _from_sklearn(sklearn.datasets.load_wine, target="cultivar")


def load_breast_cancer() -> Bunch:
    """Load Breast Cancer (Wisconsin, diagnostic): is a tumour malignant or benign?

    Returns
    -------
    Bunch
        `data` : DataFrame of shape (569, 30), float64; `target` : Series `diagnosis`, 0 malignant (212 rows) and 1
        benign (357); `feature_names`, `target_names`, `DESCR`.
    """
    return _from_sklearn(sklearn.datasets.load_breast_cancer, target="diagnosis")


def _from_sklearn(load: Callable[..., Bunch], *, target: str) -> Bunch:
    loaded = load(as_frame=True)
    labels = loaded.target.astype("int64").rename(target)
    return as_bunch(loaded.data, labels, loaded.target_names, _provenance(loaded.DESCR))


def _provenance(descr: str) -> str:
    return (
        "Loaded from scikit-learn, which ships it; unchanged but for the name of the target. Originally from the UCI\n"
        "Machine Learning Repository, licence CC BY 4.0, https://creativecommons.org/licenses/by/4.0/.\n\n"
        f"{descr}"
    )
