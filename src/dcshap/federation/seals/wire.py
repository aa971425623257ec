"""Messages as bytes: a JSON header, arrays as `.npy` without pickle, models through skops.

A packed message begins with a digest of everything after it, so that damage is found before anything is read. What
is read is checked against the message's own types: a field of another kind, or one too many, is refused.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dcshap._bytes import (
    UNREADABLE,
    Buffer,
    array_buffers,
    array_bytes,
    mapped_array,
    read_array,
    read_table,
    table_bytes,
)
from dcshap._recall import recalled
from dcshap._typing import Array, FloatArray
from dcshap.collaboration import messages as collaboration
from dcshap.collaboration.alignment import Alignment
from dcshap.collaboration.messages import Message
from dcshap.collaboration.records import Pseudonyms
from dcshap.collaboration.summation import Words
from dcshap.collaboration.triples import Integers
from dcshap.exceptions import ProtocolError
from dcshap.explanation import disclosures as explanation
from dcshap.explanation.statement import PartyExplanation
from dcshap.storage import read_model, write_model

__all__ = ["KINDS", "buffers", "digest_of", "kind_of", "pack", "unpack"]

_MAGIC = b"dcshap message 1\n"
_DIGEST = 32
_LENGTH = struct.Struct("<Q")


def _messages_of(module: Any) -> dict[str, type[Message]]:
    named = {name: getattr(module, name) for name in module.__all__}
    return {
        name: found
        for name, found in named.items()
        if isinstance(found, type) and issubclass(found, Message) and found is not Message
    }


KINDS: Mapping[str, type[Message]] = _messages_of(collaboration) | _messages_of(explanation)


# --- bytes of the parts -----------------------------------------------------------------------------------------


def _explanation_bytes(explained: PartyExplanation) -> list[Buffer]:
    buffer = io.BytesIO()
    explained.save(buffer)
    return [buffer.getvalue()]


# --- how each type of field travels -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Field:
    """How fields of one type become bytes and come back; `holds` says whether what came back is of that type."""

    write: Callable[[Any], list[Buffer]]
    read: Callable[[io.BytesIO], Any]
    holds: Callable[[Any], bool]
    view: Callable[[memoryview], Any] | None = None  # reads without a copy, where the bytes stay where they are


def _plain(holds: Callable[[Any], bool], after: Callable[[Any], Any] = lambda value: value) -> _Field:
    return _Field(
        lambda value: [json.dumps(value, allow_nan=False).encode()], lambda data: after(json.loads(data.read())), holds
    )


def _array(kinds: str, itemsize: int | None = None) -> _Field:
    def holds(value: Any) -> bool:
        return value.dtype.kind in kinds and itemsize in (None, value.dtype.itemsize)

    return _Field(array_buffers, read_array, holds, view=mapped_array)


def _names(value: Any) -> bool:
    return all(isinstance(name, str) for name in value)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _counts(value: Any) -> bool:
    return isinstance(value, dict) and all(_whole(count) for count in value.values())


def _alignment_bytes(alignment: Alignment) -> list[Buffer]:
    parts = (np.array(alignment.resolution), alignment.weights, alignment.intercept)
    return [array_bytes(part) for part in parts]


def _read_alignment(data: io.BytesIO) -> Alignment:
    resolution = float(read_array(data))
    return Alignment(read_array(data), read_array(data), resolution)


def _holds_alignment(alignment: Alignment) -> bool:
    weights, intercept = alignment.weights, alignment.intercept
    return weights.dtype == intercept.dtype == np.float64 and weights.ndim == 2 and intercept.shape == weights.shape[1:]


@recalled
def _frame(data: bytes) -> pd.DataFrame:
    frame: pd.DataFrame = read_table(io.BytesIO(data)).to_pandas()
    return frame


_FIELDS: Mapping[Any, _Field] = {
    str: _plain(lambda value: isinstance(value, str)),
    int: _plain(_whole),
    bool: _plain(lambda value: isinstance(value, bool)),
    float: _plain(lambda value: isinstance(value, float)),
    dict[str, int]: _plain(_counts),
    dict[str, str]: _plain(lambda value: isinstance(value, dict) and _names(value.values())),
    tuple[str, ...]: _plain(_names, tuple),
    bytes: _Field(lambda value: [bytes(value)], lambda data: data.read(), lambda value: isinstance(value, bytes)),
    FloatArray: _array("f", 8),
    Pseudonyms: _array("V", 16),
    Words: _array("u", 1),
    Integers: _array("u", 8),
    Array: _array("biufU"),
    Alignment: _Field(_alignment_bytes, _read_alignment, _holds_alignment),
    pd.DataFrame: _Field(
        lambda frame: [table_bytes(pa.Table.from_pandas(frame))],
        lambda data: _frame(data.read()),
        lambda value: isinstance(value, pd.DataFrame),
    ),
    PartyExplanation: _Field(
        _explanation_bytes, PartyExplanation.load, lambda value: isinstance(value, PartyExplanation)
    ),
}


def _field(hint: Any, trusted: Sequence[str]) -> _Field:
    if hint is Any:  # a model: the only field of no one type
        return _Field(
            lambda model: [write_model(model)], lambda data: read_model(data.read(), trusted=trusted), lambda _: True
        )
    return _FIELDS[hint]


def _hints(kind: type[Message]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {entry.name: hints[entry.name] for entry in fields(kind)}


_HINTS: Mapping[str, dict[str, Any]] = {name: _hints(kind) for name, kind in KINDS.items()}


# --- whole messages ---------------------------------------------------------------------------------------------


def pack(message: Message) -> bytes:
    """A message as bytes.

    Raises
    ------
    ProtocolError
        If it is of no kind that travels, or a field is not of its type (labels that are objects, say).
    """
    return b"".join(buffers(message))


def buffers(message: Message) -> list[Buffer]:
    """The parts that a packed message is made of, one after the other; arrays as they lie in memory."""
    kind = type(message).__name__
    if KINDS.get(kind) is not type(message):
        raise ProtocolError(f"A message must be one of {sorted(KINDS)}. Got {kind!r}.")
    parts: list[Buffer] = []
    sizes = {}
    for name, hint in _HINTS[kind].items():
        field, value = _field(hint, ()), getattr(message, name)
        try:
            sound = field.holds(value)
            written = field.write(value) if sound else []
        except UNREADABLE as error:
            raise ProtocolError(f"The field {name!r} of a {kind} cannot be written down.") from error
        if not sound:
            raise ProtocolError(f"The field {name!r} of a {kind} is not of the type that travels.")
        parts += written
        sizes[name] = sum(map(len, written))
    header = json.dumps({"kind": kind, "fields": sizes}).encode()
    body = [_LENGTH.pack(len(header)), header, *parts]
    digest = hashlib.sha256()
    for part in body:
        digest.update(part)
    return [_MAGIC, digest.digest(), *body]


def digest_of(data: Buffer) -> str:
    """The digest that a packed message begins with, of everything after it."""
    return bytes(data[len(_MAGIC) : len(_MAGIC) + _DIGEST]).hex()


def kind_of(data: bytes) -> str:
    """The kind of a packed message that one has packed oneself."""
    at = len(_MAGIC) + _DIGEST + _LENGTH.size
    (length,) = _LENGTH.unpack_from(data, at - _LENGTH.size)
    return str(json.loads(data[at : at + length])["kind"])


def unpack(data: Buffer, *, trusted: Sequence[str] = ()) -> Message:
    """The message in the bytes.

    Parameters
    ----------
    data : bytes or memoryview
        Arrays in a memoryview, of a file that is mapped to memory, are not copied out of it.
    trusted : sequence of str
        Types beyond scikit-learn's own that a model may contain, by their full names.

    Raises
    ------
    ProtocolError
        If the bytes are damaged, of an unknown kind, or a field is not of its type.
    StorageError
        If a model contains types that are not trusted.
    """
    start = len(_MAGIC) + _DIGEST
    if bytes(data[: len(_MAGIC)]) != _MAGIC:
        raise ProtocolError("What arrived is no message of this version of dcshap.")
    if hashlib.sha256(memoryview(data)[start:]).hexdigest() != digest_of(data):
        raise ProtocolError("A message arrived damaged: its digest is not that of its content.")
    try:
        (length,) = _LENGTH.unpack_from(data, start)
        at = start + _LENGTH.size + length
        header = json.loads(bytes(data[start + _LENGTH.size : at]))
        kind, sizes = header["kind"], dict(header["fields"])
    except UNREADABLE as error:
        raise ProtocolError("A message's header cannot be read.") from error
    if not isinstance(kind, str) or kind not in KINDS:
        raise ProtocolError(f"A message must be one of {sorted(KINDS)}. Got another kind.")
    hints = _HINTS[kind]
    if list(sizes) != list(hints) or not all(_whole(n) and n >= 0 for n in sizes.values()):
        raise ProtocolError(f"A {kind} must have the fields {list(hints)}. Got {len(sizes)} fields that differ.")
    if at + sum(sizes.values()) != len(data):
        raise ProtocolError(
            f"A {kind} arrived with {len(data) - at} bytes of content instead of {sum(sizes.values())}."
        )
    values = {}
    for name, hint in hints.items():
        values[name] = _read_field(data[at : at + sizes[name]], _field(hint, trusted), f"{name!r} of a {kind}")
        at += sizes[name]
    return KINDS[kind](**values)


def _read_field(part: Buffer, field: _Field, what: str) -> Any:
    try:
        if field.view is not None and isinstance(part, memoryview):
            value = field.view(part)
        else:
            value = field.read(io.BytesIO(part))
        sound = field.holds(value)
    except UNREADABLE as error:
        raise ProtocolError(f"The field {what} cannot be read: it is damaged, or contains objects.") from error
    if not sound:
        raise ProtocolError(f"The field {what} is not of the type it must have.")
    return value
