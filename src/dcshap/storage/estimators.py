"""Estimators as bytes through skops, which makes only objects of types that are trusted."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from dcshap._bytes import UNREADABLE, read_zip, require_array, zip_bytes
from dcshap._recall import recalled
from dcshap.exceptions import StorageError

__all__ = ["read_model", "require_trusted", "untrusted_types", "write_model"]

_PARTS = "schema.json"  # where skops says what a model is made of
_ADDRESS = re.compile(r'("__id__": )(\d+)')
# Parts of scikit-learn's own estimators that skops does not know: plain arrays in compiled clothes. And boosted trees,
# which their libraries write and read as data, in formats of their own.
TRUSTED = frozenset(
    {
        "catboost.core.CatBoostClassifier",
        "catboost.core.CatBoostRegressor",
        "collections.OrderedDict",
        "lightgbm.basic.Booster",
        "lightgbm.sklearn.LGBMClassifier",
        "lightgbm.sklearn.LGBMRegressor",
        "sklearn._loss.link.LogitLink",
        "sklearn._loss.loss.HalfTweedieLossIdentity",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        "sklearn.gaussian_process.kernels.ConstantKernel",
        "sklearn.gaussian_process.kernels.Product",
        "sklearn.gaussian_process.kernels.RBF",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.metrics._dist_metrics.ManhattanDistance64",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.tree._tree.Tree",
        "sklearn.utils._bunch.Bunch",
        "xgboost.core.Booster",
        "xgboost.sklearn.XGBClassifier",
        "xgboost.sklearn.XGBRegressor",
    }
)


def write_model(model: Any) -> bytes:
    """An estimator as bytes, through skops."""
    from skops import io as skops  # noqa: PLC0415 - takes a second to import

    return zip_bytes(_numbered(read_zip(skops.dumps(model))))


def _numbered(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files of a model, its parts counted instead of called by their addresses in memory.

    The same model gives the same bytes, and nobody is told how the memory of another's process is laid out.
    """
    text = files[_PARTS].decode()
    numbers: dict[str, int] = {}
    text = _ADDRESS.sub(lambda found: f"{found[1]}{numbers.setdefault(found[2], len(numbers) + 1)}", text)
    numbered = {}
    for at, (name, content) in enumerate((n, c) for n, c in files.items() if n != _PARTS):
        numbered[f"{at}{Path(name).suffix}"] = content
        text = text.replace(f'"{name}"', f'"{at}{Path(name).suffix}"')
    return numbered | {_PARTS: text.encode()}


def untrusted_types(data: bytes, *, trusted: Sequence[str] = ()) -> set[str]:
    """The types in a model's bytes that are not trusted, by their full names; nothing is loaded."""
    from skops import io as skops  # noqa: PLC0415 - takes a second to import

    try:
        _require_size(data)
        return set(skops.get_untrusted_types(data=data)) - TRUSTED - set(trusted)
    except UNREADABLE as error:
        raise StorageError("A model could not be read: the file is damaged or from another version.") from error


def require_trusted(unknown: Collection[str]) -> None:
    """Refuse a model with types that are not trusted, all of which are named."""
    if unknown:
        raise StorageError(
            f"A model must be made of trusted types. This one also contains {sorted(unknown)}. Nothing was "
            f"loaded; name them in `trusted` if you know who wrote it."
        )


@recalled
def read_model(data: bytes, *, trusted: Sequence[str] = ()) -> Any:
    """The estimator in the bytes, if it is made of trusted types only."""
    from skops import io as skops  # noqa: PLC0415 - takes a second to import

    require_trusted(untrusted_types(data, trusted=trusted))
    try:
        return skops.loads(data, trusted=[*TRUSTED, *trusted])
    except UNREADABLE as error:
        raise StorageError("A model could not be read: the file is damaged or from another version.") from error


def _require_size(data: bytes) -> None:
    """Refuse a model that claims more than it brings, with a ValueError, before skops unpacks it."""
    for name, part in read_zip(data).items():
        if name.endswith(".npy"):
            require_array(io.BytesIO(part))
        elif name.endswith(".npz"):  # a sparse matrix
            for inner in read_zip(part).values():
                require_array(io.BytesIO(inner))
