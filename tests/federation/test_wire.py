from __future__ import annotations

import hashlib
import io
import json
import typing
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer

from dcshap.collaboration import messages as m
from dcshap.collaboration.alignment import Alignment
from dcshap.collaboration.records import pseudonyms
from dcshap.exceptions import ProtocolError, StorageError
from dcshap.explanation import PartyExplanation
from dcshap.explanation import disclosures as e
from dcshap.federation.seals.wire import KINDS, pack, unpack

RNG = np.random.default_rng(0)
RECORDS = pseudonyms(["a", "b", "c"], key=b"k" * 32)
SECRET = 918273.6450192


def rows(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def integers(*shape: int) -> np.ndarray:
    return RNG.integers(2**64, size=shape, dtype=np.uint64)


def model() -> LogisticRegression:
    return LogisticRegression().fit(rows(20, 2), np.arange(20) % 2)


def explained() -> PartyExplanation:
    return PartyExplanation(
        values=rows(3, 2, 2),
        base_values=rows(3, 2),
        feature_names=("age", "job"),
        output_names=("no", "yes"),
        index="owen",
        method="exact",
        exact=True,
        n_evals=np.full(3, 4),
        standard_errors=np.zeros((3, 2, 2)),
        converged=np.ones(3, dtype=bool),
        data=pd.DataFrame({"age": [1.0, 2.0, 3.0], "job": pd.Categorical(["x", "y", "x"])}, index=["a", "b", "c"]),
        reference=pd.DataFrame({"age": [2.0], "job": ["x"]}),
        blocks={"bank": ("age",), "shop": ("job",)},
        party="bank",
    )


EXAMPLES = [
    m.Hello(2, "vertical", "classes"),
    m.Greeting("bank", "pem", True, False, "private", 0),
    m.Introduction({"bank": "pem", "shop": "pem"}, "bank"),
    m.Ready("bank", 17),
    m.Settings("{}"),
    m.HeldColumns("bank", ("age", "sex")),
    m.Resume("run", {"bank": "pem"}),
    m.Prepared("bank"),
    m.Commit("run"),
    m.AnchorSeed(2**127 + 5),
    m.AnchorDigest("bank", b"\x02" * 32),
    m.Targets("north", np.array(["no", "yes"])),
    m.Targets("north", rows(2)),
    m.PairKey("north", b"\x00\xff" * 16),
    m.MaskedMoments("north", RNG.integers(256, size=(6, 16)).astype(np.uint8)),
    m.PseudonymKey(b"\x01" * 32),
    m.Representation("north", rows(9, 3), rows(4, 3), np.array(["no", "ja", "ß", "no"]), True),
    m.Representation("north", rows(9, 3), rows(4, 3), np.array([True, False, True, True]), False),
    m.Integration("north", Alignment(rows(3, 2), rows(2), 2.0**-20), model()),
    m.RecordPseudonyms("bank", RECORDS, 5, 2),
    m.CommonRecords(RECORDS),
    m.HolderTriple(b"\x03" * 32, {"shop": 2}, integers(2, 2)),
    m.GuestTriple(b"\x04" * 32),
    m.MaskedColumns("shop", integers(3, 2)),
    m.LabelSums("bank", integers(3, 2), integers(2, 2)),
    m.RecordRepresentation("bank", RECORDS, rows(3, 2), True),
    m.RecordLabels("bank", RECORDS, np.array([0, 1, 1])),
    m.JoinReport(17, {"bank": 3, "shop": 0}),
    m.SharedModel(model(), {"bank": 1, "shop": 1}, 2.0**-18),
    e.RecordVectors("shop", RECORDS, rows(3, 2), rows(1, 2)),
    e.RecordOffsets("shop", RECORDS, ("age", "größe"), rows(1, 2), rows(1, 3, 2, 2)),
    e.CoalitionTable("shop", RECORDS, ("age", "job"), rows(1, 3, 4, 2)),
    e.Answer("bank", explained()),
    e.Prediction(rows(3, 2), ("no", "yes")),
    e.Prediction(np.array(["no", "yes"]), ()),
    e.Request("o@b", "r1", "study", "run", "predict", ("a", "b"), "full", False, "anchor", 100, 1.5, "pem", b"sig"),
    e.RecordPart("shop", pd.DataFrame({"x": [1.5, 2.5]}, index=["r1", "r2"]), pd.DataFrame({"x": [0.5]}), "abc"),
]


def same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, pd.DataFrame):
        return isinstance(other, pd.DataFrame) and one.equals(other)
    if isinstance(one, Alignment | PartyExplanation):
        return type(one) is type(other) and all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, LogisticRegression):
        return isinstance(other, LogisticRegression) and np.array_equal(one.coef_, other.coef_)
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("message", EXAMPLES, ids=lambda message: type(message).__name__)
def test_a_message_comes_back_as_it_was(message):
    back = unpack(pack(message))
    assert type(back) is type(message)
    for field in fields(message):
        assert same(getattr(message, field.name), getattr(back, field.name)), field.name


def test_every_message_class_of_the_method_is_registered_and_tried():
    def below(kind: type) -> set[type]:
        subclasses: list[type] = kind.__subclasses__()
        return {found for each in subclasses for found in {each, *below(each)}}

    written = {kind for kind in below(m.Message) if kind.__module__.startswith("dcshap.")}
    assert set(KINDS.values()) == written == {type(message) for message in EXAMPLES}


def test_arrays_may_be_empty_and_need_not_be_contiguous():
    sent = m.RecordRepresentation("bank", RECORDS[:0], rows(6, 4)[::2, 1:3].T[:, :0].T, False)
    back = typing.cast(m.RecordRepresentation, unpack(pack(sent)))
    assert back.rows.shape == (0, 2)
    crooked = rows(6, 4)[::2, 1:3]
    sent = m.RecordRepresentation("bank", RECORDS[:3], crooked, False)
    assert np.array_equal(typing.cast(m.RecordRepresentation, unpack(pack(sent))).rows, crooked)


@pytest.mark.parametrize("message", EXAMPLES, ids=lambda message: type(message).__name__)
def test_any_damaged_byte_is_found(message):
    data = bytearray(pack(message))
    for at in RNG.integers(len(data), size=30):
        damaged = bytearray(data)
        damaged[at] ^= 0x55
        with pytest.raises(ProtocolError):
            unpack(bytes(damaged))


@pytest.mark.parametrize("length", [0, 1, 20, 49, 60, 200])
def test_a_cut_message_is_refused(length):
    with pytest.raises(ProtocolError):
        unpack(pack(m.Representation("north", rows(9, 3), rows(4, 3), np.zeros(4), True))[:length])


def forged(kind: str, parts: dict[str, bytes]) -> bytes:
    header = json.dumps({"kind": kind, "fields": {name: len(part) for name, part in parts.items()}}).encode()
    body = len(header).to_bytes(8, "little") + header + b"".join(parts.values())
    return b"dcshap message 1\n" + hashlib.sha256(body).digest() + body


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("Nothing", {}),
        ("AnchorSeed", {}),
        ("AnchorSeed", {"seed": b"true"}),
        ("AnchorSeed", {"seed": b'"918273.6450192"'}),
        ("AnchorSeed", {"seed": b"{918273.6450192"}),
        ("AnchorSeed", {"seed": b"1", "more": b"1"}),
        ("JoinReport", {"n_common": b"1", "n_dropped": b'{"bank": 918273.6450192}'}),
        ("Targets", {"party": b'"x"', "values": b"918273.6450192"}),
        ("Answer", {"explanation": b"918273.6450192"}),
        ("RecordPart", {"party": b'"x"', "data": b"918273.6450192", "reference": b"", "fingerprint": b'""'}),
    ],
)
def test_a_forged_message_is_refused_without_a_value_in_the_text(kind, parts):
    with pytest.raises((ProtocolError, StorageError)) as refused:
        unpack(forged(kind, parts))
    assert str(SECRET) not in str(refused.value)


def test_an_array_of_objects_is_neither_written_nor_read():
    objects = np.array([SECRET, "x"], dtype=object)
    with pytest.raises(ProtocolError) as refused:
        pack(m.Representation("north", rows(9, 3), rows(2, 3), objects, True))
    assert str(SECRET) not in str(refused.value)
    buffer = io.BytesIO()
    np.save(buffer, objects, allow_pickle=True)
    with pytest.raises(ProtocolError, match="contains objects"):
        unpack(forged("Targets", {"party": b'"x"', "values": buffer.getvalue()}))


def test_an_array_of_another_type_is_refused():
    with pytest.raises(ProtocolError, match="not of the type"):
        pack(m.RecordRepresentation("bank", RECORDS[:1], np.array([["a"]]), False))


def test_a_model_with_untrusted_types_is_not_loaded_unless_named():
    sent = pack(m.SharedModel(FunctionTransformer(untrusted), {"bank": 1}, 1.0))
    with pytest.raises(StorageError, match="untrusted"):
        unpack(sent)
    back = typing.cast(m.SharedModel, unpack(sent, trusted=[f"{__name__}.untrusted"]))
    assert back.model.func is untrusted


def untrusted(values: np.ndarray) -> np.ndarray:
    return values


def test_what_is_no_message_of_the_method_does_not_travel():
    @dataclass(frozen=True)
    class AnchorSeed(m.Message):
        seed: int

    try:
        with pytest.raises(ProtocolError, match="must be one of"):
            pack(AnchorSeed(1))
    finally:
        del AnchorSeed
