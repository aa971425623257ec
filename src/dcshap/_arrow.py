"""Arrow streams from others: what they claim is checked before Arrow unpacks, copies or trusts any of it."""

from __future__ import annotations

import struct

import pyarrow as pa
import pyarrow.types as kinds

__all__ = ["require_plain", "require_uncompressed"]

# Which fields of Arrow's metadata are looked into, by their numbers.
_HEADER = 2  # of a Message
_BATCH = 1  # of a DictionaryBatch
_COMPRESSION = 3  # of a RecordBatch
_BITS = 8  # rows that one byte can stand for, in a column of booleans
_SHARED = 16  # times that parts of a table may use the same bytes: chunks with one dictionary
_PLAIN = (
    kinds.is_boolean,
    kinds.is_integer,
    kinds.is_floating,
    kinds.is_decimal,
    kinds.is_temporal,
    kinds.is_string,
    kinds.is_large_string,
    kinds.is_binary,
    kinds.is_large_binary,
    kinds.is_null,
)


def require_uncompressed(data: bytes) -> None:
    """Refuse a stream with compressed buffers, which could grow to any size, with a ValueError. We never write one."""
    reader = pa.ipc.MessageReader.open_stream(data)
    while True:
        try:
            message = reader.read_next_message()
        except StopIteration:
            return
        metadata = message.metadata.to_pybytes()
        batch = _field(metadata, _offset(metadata, 0), _HEADER)
        if message.type == "dictionary" and batch:
            batch = _field(metadata, _offset(metadata, batch), _BATCH)
        if message.type == "schema" or not batch:
            continue
        if _field(metadata, _offset(metadata, batch), _COMPRESSION):
            raise ValueError("a table is compressed")


def require_plain(table: pa.Table, *, size: int) -> None:
    """Refuse columns that are damaged, or stand for more than the bytes that the stream has, with a ValueError."""
    for column in table.schema:
        kind = column.type.value_type if kinds.is_dictionary(column.type) else column.type
        if not any(is_kind(kind) for is_kind in _PLAIN):
            raise ValueError("a table has columns of another kind than numbers, texts, times and categories")
    # Arrow trusts offsets and codes as they come: wrong ones would end the process.
    if table.num_rows * max(table.num_columns, 1) <= _BITS * size:
        table.validate(full=True)
        if table.nbytes <= _SHARED * size:
            return
    raise ValueError("a table claims more than it brings")


# --- Arrow's metadata: flatbuffers, of which two kinds of tables are looked into ----------------------------------


def _offset(data: bytes, at: int) -> int:
    """Where something lies that is pointed to from here."""
    (distance,) = struct.unpack_from("<I", data, at)
    return at + int(distance)


def _field(data: bytes, table: int, number: int) -> int:
    """Where a table keeps a field; 0 where it has none."""
    (back,) = struct.unpack_from("<i", data, table)
    vtable = table - back
    (length,) = struct.unpack_from("<H", data, vtable)
    at = 4 + 2 * number
    if at + 2 > length:
        return 0
    (distance,) = struct.unpack_from("<H", data, vtable + at)
    return table + int(distance) if distance else 0
