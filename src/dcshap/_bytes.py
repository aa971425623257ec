"""Arrays, tables and archives as bytes: `.npy`, `.npz`, zip and Arrow streams. Reading them never runs code from them.

Nothing that is read may claim more than it brings: what a header promises is compared with the bytes that are there
before anything is unpacked.
"""

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

from dcshap._arrow import require_plain, require_uncompressed
from dcshap._typing import Array

# What the readers of arrays, tables, zip files, JSON and skops raise on bytes that nobody wrote.
UNREADABLE = (
    ArithmeticError,
    AssertionError,
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
# What an archive may grow to: tables of categories and zeros shrink well, but not a hundredfold as a whole.
MOST_GROWTH = 100
ALWAYS_ALLOWED = 1 << 26


# --- arrays -------------------------------------------------------------------------------------------------------


def array_bytes(array: Array) -> bytes:
    """An array as `.npy`. An array of objects is refused with a ValueError."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def read_array(file: IO[bytes]) -> Array:
    """The next array of a file that holds one or several, one after the other."""
    require_array(file)
    # No pickle, ever: an array of objects would run what it contains.
    array: Array = np.lib.format.read_array(file, allow_pickle=False)
    return array


def require_array(file: IO[bytes]) -> None:
    """Refuse an array whose header claims more bytes than follow, with a ValueError; the file stays where it is."""
    begin = file.tell()
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    at = file.tell()
    left = file.seek(0, io.SEEK_END) - at
    file.seek(begin)
    size = dtype.itemsize
    for length in shape:
        size *= int(length)
    if size > left or min(shape, default=0) < 0 or (dtype.itemsize == 0 and 0 not in shape):
        raise ValueError("an array claims more than it brings")


# --- archives -----------------------------------------------------------------------------------------------------


def archive_bytes(arrays: Mapping[str, Array]) -> bytes:
    """Arrays by name as `.npz`."""
    return zip_bytes({f"{name}.npy": array_bytes(array) for name, array in arrays.items()})


def read_archive(data: bytes) -> dict[str, Array]:
    """The arrays of an `.npz`, by name."""
    return {name.removesuffix(".npy"): read_array(io.BytesIO(part)) for name, part in read_zip(data).items()}


def zip_bytes(members: Mapping[str, bytes], *, compressed: bool = False) -> bytes:
    """Files by name as a zip archive; the same files give the same bytes, whenever it is written."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name)  # which bears no date
            entry.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
            file.writestr(entry, content)
    return buffer.getvalue()


def read_zip(data: bytes) -> dict[str, bytes]:
    """The files of a zip archive by name, if they do not grow beyond measure."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        entries = file.infolist()
        if len({entry.filename for entry in entries}) < len(entries):
            raise ValueError("an archive has two files of one name")
        # No more than what an entry claims is ever unpacked of it.
        if sum(entry.file_size for entry in entries) > max(ALWAYS_ALLOWED, MOST_GROWTH * len(data)):
            raise ValueError("an archive claims to hold more than it can bring")
        return {entry.filename: file.read(entry) for entry in entries}


# --- tables -------------------------------------------------------------------------------------------------------


def table_bytes(table: pa.Table) -> bytes:
    """An Arrow table as a stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def read_table(file: IO[bytes]) -> pa.Table:
    """The Arrow table of a stream, if its columns are plain and bring what they claim."""
    data = file.read()
    require_uncompressed(data)
    table = pa.ipc.open_stream(data).read_all()
    require_plain(table, size=len(data))
    return table
