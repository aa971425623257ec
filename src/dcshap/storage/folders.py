"""Roles on disk: JSON, arrays without pickle, models through skops. Reading a folder never runs code from it.

A folder holds `contents.json`, which names every other file with its sha256, and its own. A folder and those inside it
are written as a whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dcshap._bytes import UNREADABLE, archive_bytes, read_archive
from dcshap._disk import create, make_folder, remove, rename
from dcshap._machine import new_identifier
from dcshap._typing import Array
from dcshap.exceptions import InputError, StorageError
from dcshap.storage.estimators import read_model, require_trusted, untrusted_types, write_model

__all__ = [
    "PLAIN",
    "State",
    "current",
    "interpreting",
    "plain",
    "read_folder",
    "require_trusted_tree",
    "require_writable",
    "write_folder",
    "write_tree",
]

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
    write_tree(folder, {"": state})


def write_tree(folder: str | Path, states: Mapping[str, State], *, files: Mapping[str, bytes] | None = None) -> None:
    """Write states to a folder and to folders inside it, in place of an earlier tree: all of them or nothing.

    Parameters
    ----------
    folder : path
        Nobody but its owner can read it.
    states : mapping of str to State
        By the name of the folder inside; the outer folder's own state is called "".
    files : mapping of str to bytes, optional
        More files for the outer folder, by name. They are replaced with it, and are not checked when it is read.
    """
    target = Path(folder).resolve()
    require_writable(target)
    aside = target.parent / f".{target.name}-{new_identifier()}"
    try:
        make_folder(aside)
        fresh = aside / "new"
        _write_state(fresh, states[""], files or {})
        for name, state in states.items():
            if name:
                _write_state(fresh / name, state, {})
        _swap(fresh, target, aside)
    finally:
        remove(aside)


def require_writable(folder: str | Path) -> None:
    """Refuse a place where `write_tree` would refuse or fail to write: to be asked before work that takes long."""
    target = Path(folder).resolve()
    for place in (target, _earlier(target)):
        if place.exists():
            _require_own(place)
    above = next(place for place in target.parents if place.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise StorageError(f"{folder} must be in a folder that can be written to. {above} cannot.")


def current(folder: str | Path) -> Path:
    """Where to read a folder, or one inside it: beside its place, if writing ended between the two renames."""
    place = Path(folder)
    for outer in (place, place.parent):
        if not outer.exists() and _earlier(outer).exists():
            return _earlier(outer) / place.relative_to(outer)
    return place


def _earlier(folder: Path) -> Path:
    """Where a folder waits while a later one takes its place."""
    target = folder.resolve()
    return target.parent / f".{target.name}.earlier"


def _swap(fresh: Path, target: Path, aside: Path) -> None:
    """Put a finished folder in place of an earlier one, by two renames, as folders cannot be exchanged in one step.

    Whenever the process ends, either the earlier or the later one can be read (see `current`).
    """
    _settle(target, aside)  # a swap that was cut short
    if target.exists():
        rename(target, _earlier(target))
    try:
        rename(fresh, target)
    finally:
        _settle(target, aside)


def _settle(target: Path, aside: Path) -> None:
    """Throw an earlier folder away if a later one has taken its place; put it back otherwise."""
    earlier = _earlier(target)
    if earlier.exists():
        rename(earlier, aside / f"earlier-{new_identifier()}" if target.exists() else target)


def _write_state(folder: Path, state: State, more: Mapping[str, bytes]) -> None:
    files = {f"{name}.skops": write_model(model) for name, model in state.models.items()}
    if state.arrays:
        files["arrays.npz"] = archive_bytes(state.arrays)
    contents = {
        "format": "dcshap",
        "version": VERSION,
        "kind": state.kind,
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
        "more": sorted(more),
        "content": state.content,
    }
    files[CONTENTS] = json.dumps(contents | {"sha256": _digest(contents)}, indent=1).encode()
    if any(name in files or Path(name).name != name for name in more):
        raise InputError(f"More files must have plain names other than {list(files)}. Got {list(more)}.")
    make_folder(folder)
    for name, data in (files | dict(more)).items():
        create(folder / name, data)


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
    """Read a state of a kind, after checking that every file is what was written.

    `trusted` names the types beyond scikit-learn's own that a model may contain.
    """
    target = current(folder)
    contents = _read_contents(target)
    if contents["kind"] != kind:
        raise StorageError(f"{target} must hold a {kind}. It holds a {contents['kind']}.")
    data = {name: _read_checked(target, name, digest) for name, digest in contents["files"].items()}
    arrays = _read_arrays(target, data.pop("arrays.npz")) if "arrays.npz" in data else {}
    models = {name.removesuffix(".skops"): read_model(content, trusted=trusted) for name, content in data.items()}
    return State(kind, contents["content"], arrays, models)


def require_trusted_tree(folder: str | Path, *, trusted: Sequence[str] = ()) -> None:
    """Refuse a folder whose models, or those of folders inside it, hold types that are not trusted; all are named."""
    found: set[str] = set()
    for file in sorted(current(folder).glob("**/*.skops")):
        with suppress(StorageError):  # damaged: said when it is read
            found |= untrusted_types(file.read_bytes(), trusted=trusted)
    require_trusted(found)


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
    whole = isinstance(contents.get("files"), dict) and isinstance(contents.get("more", []), list)
    if _digest(contents) != digest or not whole or "content" not in contents:
        raise StorageError(f"{folder / CONTENTS} is damaged.")
    return dict(contents)


def _digest(contents: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()


def _require_own(folder: Path) -> None:
    """Refuse to replace a folder that holds anything which dcshap did not write."""
    refusal = f"{folder} must be empty, new, or a folder that dcshap wrote."
    if not folder.is_dir():
        raise StorageError(f"{refusal} It is a file.")
    entries = {entry.name: entry for entry in folder.iterdir()}
    if not entries:
        return
    try:
        contents = _read_contents(folder)
    except StorageError as error:
        raise StorageError(f"{refusal} It holds other files.") from error
    written = [CONTENTS, *contents["files"], *contents.get("more", [])]
    for name, entry in entries.items():
        if entry.is_dir() and not entry.is_symlink():
            _require_own(entry)
        elif name not in written:
            raise StorageError(f"{refusal} It also holds {name!r}: move that, or choose another folder.")


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
