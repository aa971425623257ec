"""Arrays and tables as bytes: `.npy`, `.npz` and Arrow streams. Reading them never runs code from them."""

from __future__ import annotations

import io
import lzma
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO

import numpy as np
import pyarrow as pa

from dcshap._typing import Array

# What the readers of arrays, tables, zip files, JSON and skops raise on bytes that nobody wrote. MemoryError: a header
# may promise any size.
UNREADABLE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    lzma.LZMAError,
    pa.ArrowException,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


def array_bytes(array: Array) -> bytes:
    """An array as `.npy`. An array of objects is refused with a ValueError."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def read_array(file: IO[bytes]) -> Array:
    """The next array of a file that holds one or several, one after the other."""
    # No pickle, ever: an array of objects would run what it contains.
    array: Array = np.lib.format.read_array(file, allow_pickle=False)
    return array


def archive_bytes(arrays: Mapping[str, Array]) -> bytes:
    """Arrays by name as `.npz`."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def read_archive(data: bytes) -> dict[str, Array]:
    """The arrays of an `.npz`, by name."""
    # No pickle, as in `read_array`.
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def table_bytes(table: pa.Table) -> bytes:
    """An Arrow table as a stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def read_table(file: IO[bytes]) -> pa.Table:
    """The Arrow table of a stream."""
    table = pa.ipc.open_stream(file).read_all()
    table.validate(full=True)  # Arrow trusts offsets and codes as they come: wrong ones would end the process
    return table
