"""Arrays and tables come back as they were, and whatever damage raises is on the list."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dcshap import Explanation, shapley_values
from dcshap._bytes import (
    UNREADABLE,
    archive_bytes,
    array_bytes,
    mapped_array,
    read_archive,
    read_array,
    read_table,
    table_bytes,
)
from dcshap.exceptions import StorageError

ARRAY = np.arange(12.0).reshape(3, 4)
TABLE = pd.DataFrame({"n": [1.0, np.nan], "town": pd.Categorical(["Köln", "Bonn"])}, index=["a", "b"])

READERS = {
    "array": (lambda: array_bytes(ARRAY), lambda data: read_array(io.BytesIO(data))),
    "archive": (lambda: archive_bytes({"rows": ARRAY}), read_archive),
    "table": (lambda: table_bytes(pa.Table.from_pandas(TABLE)), lambda data: read_table(io.BytesIO(data)).to_pandas()),
}


def damaged(data: bytes, n: int = 400) -> list[bytes]:
    rng = np.random.default_rng(0)
    found = [data[: int(at)] for at in rng.integers(len(data), size=n // 4)]
    for _ in range(n):
        changed = bytearray(data)
        for at in rng.integers(len(data), size=rng.integers(1, 5)):
            changed[at] = rng.integers(256)
        found.append(bytes(changed))
    return found


ARRAYS = [
    ARRAY,
    np.asfortranarray(ARRAY),
    ARRAY[:, ::2],
    np.zeros(()),
    np.zeros((0, 3)),
    np.array(["a", "bcd"]),
    np.zeros(3, "V16"),
    np.array([True, False]),
    np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)),
]


@pytest.mark.parametrize("array", ARRAYS)
def test_a_plain_array_is_written_as_numpy_does_and_read_without_python_s_parser(array, monkeypatch):
    written = io.BytesIO()
    np.save(written, array, allow_pickle=False)
    assert array_bytes(array) == written.getvalue()
    # Two threads in the parser of Python 3.11 end in a SystemError.
    monkeypatch.setattr("ast.literal_eval", None)
    for found in (read_array(io.BytesIO(array_bytes(array))), mapped_array(memoryview(array_bytes(array)))):
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)


def test_a_mapped_array_is_a_view_and_claims_no_more_than_there_is():
    data = array_bytes(ARRAY)
    found = mapped_array(memoryview(data))
    assert not found.flags.owndata
    assert not found.flags.writeable
    with pytest.raises(ValueError, match="claims more"):
        mapped_array(memoryview(data)[:-1])


def test_arrays_and_tables_come_back():
    several = io.BytesIO(array_bytes(ARRAY) + array_bytes(ARRAY[:0].T))
    np.testing.assert_array_equal(read_array(several), ARRAY)
    assert read_array(several).shape == (4, 0)
    np.testing.assert_array_equal(read_archive(archive_bytes({"rows": ARRAY}))["rows"], ARRAY)
    pd.testing.assert_frame_equal(read_table(io.BytesIO(table_bytes(pa.Table.from_pandas(TABLE)))).to_pandas(), TABLE)


@pytest.mark.parametrize("kind", READERS)
def test_whatever_a_reader_raises_on_damage_is_on_the_list(kind):
    write, read = READERS[kind]
    for data in damaged(write()):
        try:
            read(data)
        except UNREADABLE:
            continue


class Bomb:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_an_array_of_objects_is_neither_written_nor_read(tmp_path):
    objects = np.array([Bomb(tmp_path / "trace")], dtype=object)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        array_bytes(objects)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        archive_bytes({"rows": objects})
    plain, archive = io.BytesIO(), io.BytesIO()
    np.save(plain, objects, allow_pickle=True)
    np.savez(archive, rows=objects)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        read_array(io.BytesIO(plain.getvalue()))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        read_archive(archive.getvalue())
    with pytest.raises(ValueError, match="magic"):
        read_array(io.BytesIO(pickle.dumps(objects)))
    assert not (tmp_path / "trace").exists()


def test_an_array_that_claims_a_size_it_has_not_is_unreadable():
    data = array_bytes(ARRAY).replace(b"(3, 4)", b"(9" + b"9" * 3 + b")")
    with pytest.raises(UNREADABLE):
        read_array(io.BytesIO(data))


@pytest.fixture(scope="module")
def explained() -> bytes:
    X = np.random.default_rng(0).normal(size=(4, 3))
    explanation = shapley_values(lambda rows: rows.sum(axis=1), pd.DataFrame(X, columns=list("abc")), X.mean(axis=0))
    buffer = io.BytesIO()
    explanation.save(buffer)
    return buffer.getvalue()


def test_a_damaged_explanation_raises_the_package_s_own_error(explained):
    for data in damaged(explained):
        try:
            Explanation.load(io.BytesIO(data))
        except StorageError:
            continue


@pytest.mark.parametrize("change", ["part", "key", "kind", "method", "locked"])
def test_an_explanation_that_nobody_saved_raises_the_package_s_own_error(explained, change):
    with zipfile.ZipFile(io.BytesIO(explained)) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    if change == "part":
        parts.pop("values.npy")
    if change == "key":
        parts["about.json"] = parts["about.json"].replace(b'"method"', b'"other"')
    if change == "kind":
        parts["about.json"] = parts["about.json"].replace(b'"pandas"', b'"panda"')
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)
    data = bytearray(buffer.getvalue())
    header = data.index(b"PK\x01\x02")
    if change == "method":
        data[header + 10 : header + 12] = b"\x63\x00"  # a way of compressing that nobody knows
    if change == "locked":
        data[header + 8] |= 1
    with pytest.raises(StorageError):
        Explanation.load(io.BytesIO(bytes(data)))


def test_an_explanation_that_is_not_there_is_not_called_damaged(tmp_path):
    with pytest.raises(FileNotFoundError):
        Explanation.load(tmp_path / "nothing")
