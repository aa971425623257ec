"""Roles on disk: JSON, arrays without pickle, models through skops. Reading a folder never runs code from it.

A folder holds `contents.json`, which names every other file with its sha256, and its own; it is written as a whole or
not at all.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dcshap._typing import Array
from dcshap.exceptions import StorageError

__all__ = ["PLAIN", "State", "plain", "read_folder", "read_model", "understood", "write_folder", "write_model"]

PLAIN = (str, int, float, bool, dict)

VERSION = 1
CONTENTS = "contents.json"

# Parts of scikit-learn's own estimators that skops does not know: plain arrays in compiled clothes.
TRUSTED = frozenset(
    {
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
    }
)


# What the readers of zip files, arrays and skops raise on bytes that nobody wrote.
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ImportError,
    RuntimeError,
)


@dataclass(frozen=True)
class State:
    """What a role is made of: plain content, arrays, and estimators."""

    kind: str
    content: dict[str, Any]
    arrays: dict[str, Array] = field(default_factory=dict)
    models: dict[str, Any] = field(default_factory=dict)


def write_folder(folder: str | Path, state: State) -> None:
    """Write a state to a folder, in place of an earlier one; nobody but the owner can read it."""
    target = Path(folder)
    if target.exists():
        _require_own(target)
    files = {f"{name}.skops": write_model(model) for name, model in state.models.items()}
    if state.arrays:
        files["arrays.npz"] = _array_bytes(state.arrays)
    contents = {
        "format": "dcshap",
        "version": VERSION,
        "kind": state.kind,
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
        "content": state.content,
    }
    files[CONTENTS] = json.dumps(contents | {"sha256": _digest(contents)}, indent=1).encode()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as aside:
        fresh = Path(aside) / "new"
        fresh.mkdir(mode=0o700)
        for name, data in files.items():
            (fresh / name).write_bytes(data)
        if target.exists():
            target.rename(Path(aside) / "old")
        fresh.rename(target)


def plain(value: Any) -> Any:
    """A number of numpy's as Python's own, which JSON can hold; a mapping of them too."""
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    return value.item() if isinstance(value, np.generic) else value


@contextmanager
def understood(folder: str | Path) -> Iterator[None]:
    """Where a folder's files are whole but do not fit together, say so."""
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise StorageError(f"{folder} is whole, but its contents do not fit together: train and save again.") from error


def read_folder(folder: str | Path, *, kind: str, trusted: Sequence[str] = ()) -> State:
    """Read a state, after checking that every file is what was written.

    Parameters
    ----------
    folder : path
    kind : str
        What the folder must hold.
    trusted : sequence of str
        Types beyond scikit-learn's own that a model may contain, by their full names.
    """
    target = Path(folder)
    contents = _read_contents(target)
    if contents["kind"] != kind:
        raise StorageError(f"{target} must hold a {kind}. It holds a {contents['kind']}.")
    data = {name: _read_checked(target, name, digest) for name, digest in contents["files"].items()}
    arrays = _read_arrays(target, data.pop("arrays.npz")) if "arrays.npz" in data else {}
    models = {name.removesuffix(".skops"): read_model(content, trusted=trusted) for name, content in data.items()}
    return State(kind, contents["content"], arrays, models)


def write_model(model: Any) -> bytes:
    """An estimator as bytes, through skops."""
    from skops import io as skops  # noqa: PLC0415 - takes a second to import

    data: bytes = skops.dumps(model)
    return data


def read_model(data: bytes, *, trusted: Sequence[str] = ()) -> Any:
    """The estimator in the bytes, if it is made of trusted types only."""
    from skops import io as skops  # noqa: PLC0415 - takes a second to import

    try:
        found = skops.get_untrusted_types(data=data)
        unknown = set(found) - TRUSTED - set(trusted)
        if unknown:
            raise StorageError(
                f"A model must be made of trusted types. This one also contains {sorted(unknown)}. Nothing was "
                f"loaded; name them in `trusted` if you know who wrote it."
            )
        return skops.loads(data, trusted=found)
    except _UNREADABLE as error:
        raise StorageError("A model could not be read: the file is damaged or from another version.") from error


def _read_contents(folder: Path) -> dict[str, Any]:
    try:
        contents = json.loads((folder / CONTENTS).read_text(encoding="utf-8"))
        complete = isinstance(contents, dict) and contents["format"] == "dcshap"
        version, digest = contents["version"], contents.pop("sha256")
    except OSError as error:
        raise StorageError(f"{folder} must be a folder that dcshap wrote. It has no {CONTENTS}.") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StorageError(f"{folder / CONTENTS} is damaged.") from error
    if not complete or version != VERSION:
        raise StorageError(f"{folder} must be of version {VERSION}. It is of version {version!r}: train again.")
    if _digest(contents) != digest or not isinstance(contents.get("files"), dict) or "content" not in contents:
        raise StorageError(f"{folder / CONTENTS} is damaged.")
    return dict(contents)


def _digest(contents: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()


def _require_own(folder: Path) -> None:
    """Refuse to replace a folder that holds anything which dcshap did not write."""
    refusal = f"{folder} must be empty, new, or a folder that dcshap wrote. It holds other files."
    if not folder.is_dir():
        raise StorageError(refusal)
    entries = {entry.name: entry for entry in folder.iterdir()}
    if not entries:
        return
    try:
        written = {CONTENTS, *_read_contents(folder)["files"]}
    except StorageError as error:
        raise StorageError(refusal) from error
    for name, entry in entries.items():
        if entry.is_dir() and not entry.is_symlink():
            _require_own(entry)
        elif name not in written:
            raise StorageError(refusal)


def _read_checked(folder: Path, name: str, digest: str) -> bytes:
    if Path(name).name != name or "\\" in name:
        raise StorageError(f"{folder} names a file outside of itself: it is damaged or was tampered with.")
    try:
        data = (folder / name).read_bytes()
    except OSError as error:
        raise StorageError(f"{folder / name} cannot be read.") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise StorageError(f"{folder / name} is not what was written: it is damaged or was changed.")
    return data


def _array_bytes(arrays: dict[str, Array]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _read_arrays(folder: Path, data: bytes) -> dict[str, Array]:
    try:
        # No pickle, ever: an array of objects would run what it contains.
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except _UNREADABLE as error:
        raise StorageError(f"The arrays in {folder} are damaged, or contain objects, which are never read.") from error
