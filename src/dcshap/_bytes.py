"""Arrays, tables and archives as bytes: `.npy`, `.npz`, zip and Arrow streams. Reading them never runs code from them.

Nothing that is read may claim more than it brings: what a header promises is compared with the bytes that are there
before anything is unpacked.
"""

from __future__ import annotations

import io
import lzma
import math
import re
import struct
import threading
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
import pyarrow as pa

from dcshap._arrow import require_plain, require_uncompressed
from dcshap._recall import recalled
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
_HEADER = 1 << 17  # bytes that an array's header fits in
_SMALL = 4096  # bytes that are not worth compressing
_PLAIN = re.compile(
    rb"\{'descr': '([<>|=][a-zA-Z]\d*)', 'fortran_order': (True|False), "
    rb"'shape': \((\d{0,18}(?:, ?\d{1,18})*),?\), \} *\n"
)
_PARSING = threading.Lock()
Buffer = bytes | memoryview


# --- arrays -------------------------------------------------------------------------------------------------------


def array_bytes(array: Array) -> bytes:
    """An array as `.npy`. An array of objects is refused with a ValueError."""
    return b"".join(array_buffers(array))


def array_buffers(array: Array) -> list[Buffer]:
    """An array as the parts of an `.npy`: its header, and its numbers as they lie in memory, not copied."""
    if array.dtype.hasobject:
        raise ValueError("Object arrays cannot be saved when allow_pickle=False")  # as numpy says it
    head, described = io.BytesIO(), np.lib.format.header_data_from_array_1_0(array)
    np.lib.format.write_array_header_1_0(head, described)
    plain = np.ascontiguousarray(array.T if described["fortran_order"] else array)
    return [head.getvalue(), *([plain.reshape(-1).view(np.uint8).data] if plain.nbytes else [])]


def read_array(file: IO[bytes]) -> Array:
    """The next array of a file that holds one or several, one after the other."""
    require_array(file)
    shape, fortran, dtype = _array_header(file)
    if dtype.hasobject:  # no pickle, ever: an array of objects would run what it contains
        raise ValueError("Object arrays cannot be loaded when allow_pickle=False")
    array: Array = np.empty(shape, dtype, order="F" if fortran else "C")
    data = file.read(array.nbytes)
    if array.nbytes:
        array.reshape(-1, order="A").view(np.uint8)[:] = np.frombuffer(data, np.uint8)
    return array


def mapped_array(view: memoryview) -> Array:
    """The array that some bytes begin with, as a view of them: it takes no memory beside theirs, and is read-only."""
    file = io.BytesIO(bytes(view[:_HEADER]))
    shape, fortran, dtype = _array_header(file)
    size = math.prod(shape)
    if dtype.hasobject or not _brings(shape, dtype, len(view) - file.tell()):
        raise ValueError("an array claims more than it brings, or holds objects")
    flat: Array = np.frombuffer(view, dtype, count=size, offset=file.tell()) if size else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if fortran else "C")


def require_array(file: IO[bytes]) -> None:
    """Refuse an array whose header claims more bytes than follow, with a ValueError; the file stays where it is."""
    begin = file.tell()
    shape, _, dtype = _array_header(file)
    at = file.tell()
    left = file.seek(0, io.SEEK_END) - at
    file.seek(begin)
    if not _brings(shape, dtype, left):
        raise ValueError("an array claims more than it brings")


def _array_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type of the array that follows; the file is then where its numbers begin.

    Plain types are read here. What numpy reads, it reads as Python, of which the parser of Python 3.11 does not stand
    two threads at once.
    """
    begin = file.tell()
    version = np.lib.format.read_magic(file)
    size = int.from_bytes(file.read(2 if version == (1, 0) else 4), "little")
    plain = _PLAIN.fullmatch(file.read(min(size, _HEADER)))
    if plain is not None:
        shape = tuple(int(length) for length in plain[3].split(b",") if length.strip())
        return shape, plain[2] == b"True", np.dtype(plain[1].decode())
    file.seek(begin)
    np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    with _PARSING:
        header: tuple[tuple[int, ...], bool, np.dtype[Any]] = read(file)
    return header


def _brings(shape: tuple[int, ...], dtype: np.dtype[Any], left: int) -> bool:
    """Whether the bytes that are left can hold an array that its header claims."""
    size = math.prod((dtype.itemsize, *map(int, shape)))
    return size <= left and min(shape, default=0) >= 0 and (dtype.itemsize > 0 or 0 in shape)


# --- archives -----------------------------------------------------------------------------------------------------


def archive_bytes(arrays: Mapping[str, Array]) -> bytes:
    """Arrays by name as `.npz`."""
    return zip_bytes({f"{name}.npy": array_bytes(array) for name, array in arrays.items()})


@recalled
def read_archive(data: bytes) -> dict[str, Array]:
    """The arrays of an `.npz`, by name."""
    return {name.removesuffix(".npy"): read_array(io.BytesIO(part)) for name, part in read_zip(data).items()}


def zip_bytes(members: Mapping[str, bytes], *, compressed: bool = False) -> bytes:
    """Files by name as a zip archive; the same files give the same bytes, whenever it is written.

    Small files are not compressed: setting the compressor up for each takes as long as writing all of them.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name)  # which bears no date
            deflated = compressed and len(content) > _SMALL
            entry.compress_type = zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED
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
