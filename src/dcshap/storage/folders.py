"""Roles on disk: JSON, arrays without pickle, models through skops. Reading a folder never runs code from it.

A folder holds `contents.json`, which names every other file with its sha256, and its own; it is written as a whole or
not at all.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dcshap._bytes import UNREADABLE, archive_bytes, read_archive
from dcshap._typing import Array
from dcshap.exceptions import StorageError
from dcshap.storage.estimators import read_model, write_model

__all__ = ["CONTENTS", "PLAIN", "State", "interpreting", "plain", "read_folder", "write_folder"]

PLAIN = (str, int, float, bool, dict)

VERSION = 1
CONTENTS = "contents.json"


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
        files["arrays.npz"] = archive_bytes(state.arrays)
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
def interpreting(folder: str | Path) -> Iterator[None]:
    """Turn what goes wrong while a role is made from a folder's contents into a StorageError."""
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


def _read_arrays(folder: Path, data: bytes) -> dict[str, Array]:
    try:
        return read_archive(data)
    except UNREADABLE as error:
        raise StorageError(f"The arrays in {folder} are damaged, or contain objects, which are never read.") from error
