"""Bytes that nobody wrote: only dcshap's own errors come out, and nothing grows beyond what arrived."""

from __future__ import annotations

import io
import resource
import struct
import time
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dcshap import Explanation, Schema
from dcshap._bytes import array_bytes, read_archive, read_array, read_table, table_bytes, zip_bytes
from dcshap.exceptions import SchemaError, StorageError
from dcshap.storage import read_model
from tests.fuzz.corpus import model_bytes, seeds
from tests.fuzz.mutation import mutated
from tests.fuzz.targets import TARGETS, run

SHARES = {
    "wire": 35_000,
    "envelopes": 35_000,
    "ledger": 8_000,
    "schema": 10_000,
    "explanations": 6_000,
    "models": 6_000,
}


def memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


@pytest.mark.parametrize("name", TARGETS)
def test_mutated_inputs_raise_nothing_foreign_and_stay_small(name):
    before, slowest, readable = memory(), 0.0, 0
    for data in mutated(seeds(name), SHARES[name], seed=1):
        began = time.process_time()
        readable += run(TARGETS[name], data)
        slowest = max(slowest, time.process_time() - began)
    assert sum(SHARES.values()) == 100_000
    assert 0 < readable < SHARES[name]  # some are still whole, or nothing would be reached
    assert memory() - before < 300
    assert slowest < 10


@pytest.mark.parametrize("name", TARGETS)
def test_what_was_written_is_read(name):
    assert run(TARGETS[name], seeds(name)[0])


def npy(shape: str, descr: str = "'<f8'") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


@pytest.mark.parametrize("shape", ["(1000000000000,)", "(1048576, 1048576)", "(-1,)", "(2,)", "(-1, -8)"])
def test_an_array_that_claims_more_than_it_brings_is_refused_unread(shape):
    before = memory()
    with pytest.raises(ValueError, match="claims more"):
        read_array(io.BytesIO(npy(shape) + bytes(8)))
    assert memory() - before < 50


def test_elements_of_no_size_are_refused():
    with pytest.raises(ValueError, match="claims more"):
        read_array(io.BytesIO(npy("(1000000000000,)", "'<U0'")))


def test_an_archive_that_grows_beyond_measure_is_refused_unread():
    before, zeros = memory(), bytes(200 << 20)
    bomb = zip_bytes({"a.npy": zeros}, compressed=True)
    del zeros
    grown = memory()
    with pytest.raises(ValueError, match="more than it can bring"):
        read_archive(bomb)
    assert memory() - grown < 50
    assert grown - before < 1000


def test_two_files_of_one_name_are_refused():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("a.npy", array_bytes(np.zeros(2)))
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("a.npy", array_bytes(np.zeros(2)))
    with pytest.raises(ValueError, match="one name"):
        read_archive(buffer.getvalue())


def test_a_model_with_a_huge_array_is_refused_unread():
    before = memory()
    for name in ("0.npy", "huge.npy"):
        with zipfile.ZipFile(io.BytesIO(model_bytes())) as file:
            files = {each: file.read(each) for each in file.namelist()}
        with pytest.raises(StorageError):
            read_model(zip_bytes(files | {name: npy("(300000000,)")}))
    assert memory() - before < 50


def stream(table: pa.Table, **options) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_a_compressed_table_is_refused_unread(codec):
    table = pa.table({"a": pa.array(np.zeros(20_000_000))})
    data, before = stream(table, compression=codec), memory()
    del table
    with pytest.raises(ValueError, match="compressed"):
        read_table(io.BytesIO(data))
    assert memory() - before < 50
    words = pa.table({"a": pa.array(["x", "y"] * 50).dictionary_encode()})
    with pytest.raises(ValueError, match="compressed"):
        read_table(io.BytesIO(stream(words, compression=codec)))


@pytest.mark.parametrize(
    "column",
    [
        pa.nulls(10_000_000),
        pa.RunEndEncodedArray.from_arrays(pa.array([10_000_000]), pa.array(["x" * 1000])),
        pa.array([["a"]]),
        pa.array([{"a": 1}]),
        pa.array(["a"], pa.string_view()),
    ],
    ids=["nulls", "runs", "lists", "structs", "views"],
)
def test_columns_that_can_stand_for_more_than_their_bytes_are_refused(column):
    with pytest.raises(ValueError, match="a table"):
        read_table(io.BytesIO(table_bytes(pa.table({"a": column}))))


def test_plain_tables_are_read_as_they_were():
    frame = pd.DataFrame(
        {
            "number": [1.0, np.nan, 3.0] * 40,
            "whole": [1, 2, 3] * 40,
            "text": ["a", "bb", None] * 40,
            "kind": pd.Categorical(["x", "y", "x"] * 40),
            "yes": [True, False, True] * 40,
            "day": pd.to_datetime(["2020-01-01", "2021-02-03", "2022-03-04"] * 40),
        }
    )
    again = read_table(io.BytesIO(table_bytes(pa.Table.from_pandas(frame)))).to_pandas()
    pd.testing.assert_frame_equal(again, frame)


def unfolding(how: str) -> str:
    """Eight lines, each of which names the one before nine times."""
    lines = zip("abcdefgh", "bcdefghi", strict=True)
    return "".join(f"{name}: &{name} {how.format(', '.join([f'*{before}'] * 9))}\n" for before, name in lines)


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x]\n" + unfolding("[{}]"),
        "a: &a {x: 1}\n" + unfolding("{{<<: [{}]}}"),
        "columns: &a {x: *a}",
        "columns: {x: 2001-99-99}",
        "columns: {x: !!timestamp 5}",
        "columns: {x: !!float yes}",
        "columns: {x: {kind: [number], low: 0, high: 1}}",  # found by guided fuzzing: a TypeError
        "[" * 100_000,
    ],
    ids=["laughs", "merges", "itself", "date", "timestamp", "float", "kinds", "deep"],
)
def test_yaml_that_unfolds_without_end_or_holds_no_values_is_no_schema(text):
    before, began = memory(), time.process_time()
    with pytest.raises(SchemaError):
        Schema.from_yaml(text)
    assert memory() - before < 100
    assert time.process_time() - began < 10


def test_yaml_may_have_aliases():
    schema = Schema.from_frames([pd.DataFrame({"a": [0.0, 1.0]})])
    one = schema.to_yaml().splitlines()
    assert one[0] == "columns:"
    text = "\n".join(["columns:", one[1].replace("a: ", "a: &one "), "  b: *one"])
    assert Schema.from_yaml(text).names == ("a", "b")


def test_a_table_of_a_library_that_is_not_there_is_said():
    whole = seeds("explanations")[0][1:]
    with zipfile.ZipFile(io.BytesIO(whole)) as file:
        files = {name: file.read(name) for name in file.namelist()}
    files["about.json"] = files["about.json"].replace(b'"data_kind": "pandas"', b'"data_kind": "cudf"')
    with pytest.raises(StorageError, match="not installed"):
        Explanation.load(io.BytesIO(zip_bytes(files)))
