"""Hashes that a receipt is made of.

What is secret is hashed under an *opening*, 128 random bits: without it nobody can try out which record would give the
hash, though a record has few enough possible values to try them all. With it, whoever has the record can check it.

Numbers are hashed on a grid, as sums in another order differ in the last digits. Next to an edge of the grid two such
numbers would still fall apart; so each hash is taken on two grids whose edges lie elsewhere, and one equal pair is
enough. No edge is at a round number.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import io
import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dcshap._bytes import read_array
from dcshap._machine import random_bytes
from dcshap._tables import is_missing
from dcshap._typing import FloatArray
from dcshap.exceptions import InputError
from dcshap.storage import write_model

__all__ = [
    "Digests",
    "agree",
    "commit_numbers",
    "commit_record",
    "digest_numbers",
    "fresh_opening",
    "grouped",
    "model_digest",
    "opening_bytes",
    "under",
]

Digests = tuple[str, str]  # of the same numbers on two grids

OPENING = 16  # bytes
DIGITS = 8  # of the largest number, that must be equal
# Where the edges of the two grids lie, in steps, and where the step changes, in decades: at no round number.
_SHIFTS = ((0.3819660113, 0.2370651), (0.8819660113, 0.7370651))
_VERSIONS = ("_sklearn_version", "_skops_version", "protocol", "__id__")  # not what the model computes
_COUNTING_TREES = ("BallTree", "KDTree")  # count how often they were asked; their arrays do not change

_digests: WeakKeyDictionary[Any, str] = WeakKeyDictionary()  # a forest takes a second to hash


def fresh_opening() -> str:
    """A new opening, as it can be written on paper."""
    return grouped(random_bytes(OPENING))


def opening_bytes(opening: str) -> bytes:
    """The opening that somebody typed."""
    text = "".join(opening.split()).replace("-", "").upper()
    try:
        found = base64.b32decode(text + "=" * (-len(text) % 8))
    except ValueError:
        found = b""
    if len(found) != OPENING or grouped(found).replace("-", "") != text:
        raise InputError("An opening must be the 26 letters and digits that came with the receipt. Check the typing.")
    return found


def grouped(content: bytes) -> str:
    """Bytes as letters and digits in groups of four."""
    text = base64.b32encode(content).decode().rstrip("=")
    return "-".join(text[at : at + 4] for at in range(0, len(text), 4))


def under(opening: str) -> str:
    """Names an opening without showing it: hashes under the same opening can be compared."""
    return _keyed(opening, "opening", "")


def commit_record(cells: Mapping[str, Any], opening: str) -> str:
    """The hash of a record, cells by column, under an opening; the order of columns changes nothing."""
    return _keyed(opening, "record", json.dumps([[name, _text(cells[name])] for name in sorted(cells)]))


def commit_numbers(numbers: FloatArray, what: str, opening: str, *, scale: float) -> Digests:
    """The hashes of numbers under an opening; what is small against the scale counts as zero."""
    first, second = (_keyed(opening, what, text) for text in _on_grids(numbers, scale))
    return first, second


def digest_numbers(numbers: FloatArray) -> Digests:
    """The hashes of numbers that nobody could guess."""
    scale = float(np.abs(numbers).max(initial=0.0))
    first, second = (hashlib.sha256(text.encode()).hexdigest() for text in _on_grids(numbers, scale))
    return first, second


def agree(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two pairs of hashes are of the same numbers, but for their last digits."""
    return len(one) == len(other) and any(a == b for a, b in zip(one, other, strict=True))


def model_digest(model: Any) -> str:
    """A hash of a model's parameters and fitted arrays: the same for every copy of it, in every process."""
    if model not in _digests:
        _digests[model] = _content_digest(write_model(model))
    return _digests[model]


def _keyed(opening: str, what: str, text: str) -> str:
    return hmac.new(opening_bytes(opening), f"dcshap {what}\x1f{text}".encode(), hashlib.sha256).hexdigest()


def _text(cell: Any) -> str | None:
    if is_missing(cell):
        return None
    number = isinstance(cell, int | float | np.number) and not isinstance(cell, bool | np.bool_)
    return f"{float(cell) + 0.0:.9g}" if number else str(cell)


def _on_grids(numbers: FloatArray, scale: float) -> list[str]:
    """Numbers, written as whole steps of two grids."""
    if not np.isfinite(numbers).all():
        raise InputError("A receipt must be of finite numbers. Some are NaN or infinite.")
    texts = []
    for edge, decade in _SHIFTS:
        exponent = math.floor(math.log10(scale) + decade) + 1 if scale > 0 else 0
        steps = np.floor(numbers / 10.0 ** (exponent - DIGITS) + edge).astype(np.int64)
        texts.append(json.dumps([numbers.shape, exponent, steps.ravel().tolist()]))
    return texts


def _content_digest(data: bytes) -> str:
    """A hash of a saved model. Its zip file also has times and places in memory, which are left out."""
    if not zipfile.is_zipfile(io.BytesIO(data)):
        return hashlib.sha256(data).hexdigest()
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        files = {name: _file_digest(name, file.read(name)) for name in file.namelist()}
        schema = json.loads(file.read("schema.json"))
    return _hashed(_canonical(schema, files))


def _file_digest(name: str, content: bytes) -> str:
    if not name.endswith(".npy"):
        return hashlib.sha256(content).hexdigest()
    array = read_array(io.BytesIO(content))
    # A tree's nodes are records with gaps between their fields, and what is in the gaps is anybody's guess.
    parts = [array] if array.dtype.names is None else [array[field] for field in array.dtype.names]
    return _hashed([str(array.dtype), array.shape, *(hashlib.sha256(part.tobytes()).hexdigest() for part in parts)])


def _canonical(node: Any, files: Mapping[str, str]) -> Any:
    """A node of a saved model, with hashes in place of its files."""
    if isinstance(node, list):
        return [_canonical(each, files) for each in node]
    if not isinstance(node, dict):
        return node
    if node.get("__class__") in _COUNTING_TREES:
        return sorted(_files_in(node, files))
    found = {key: _canonical(each, files) for key, each in node.items() if key not in _VERSIONS}
    return found | ({"file": files[node["file"]]} if "file" in node else {})


def _files_in(node: Any, files: Mapping[str, str]) -> list[str]:
    """The hashes of all files of a node and those in it."""
    if isinstance(node, dict):
        inside = [hashed for each in node.values() for hashed in _files_in(each, files)]
        return [*inside, *([files[node["file"]]] if "file" in node else [])]
    return [hashed for each in node for hashed in _files_in(each, files)] if isinstance(node, list) else []


def _hashed(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
