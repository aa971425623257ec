"""What fuzzing begins with: everything that a target reads, as it is written, and inputs that once went wrong."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from dcshap import Schema
from dcshap._bytes import read_zip
from dcshap._machine import using_machine
from dcshap.federation.seals.envelopes import About, framed, seal, unframed
from dcshap.federation.seals.ledger import Entry, Ledger
from dcshap.federation.seals.wire import pack
from dcshap.storage import write_model
from tests.federation.test_wire import EXAMPLES, explained
from tests.fuzz.targets import BANK, FROZEN, KNOWN, MAGIC, SHOP, TARGETS, _folder

FOUND = Path(__file__).parent / "found"  # inputs that once went wrong, one file each, by target

ODD_YAML = [b"columns: &a {x: *a}", b"a: &a [1]\nb: [*a, *a]\n<<: {c: 1}", b"? [1]\n: 2001-99-99"]


@cache
def explanation_bytes() -> bytes:
    buffer = io.BytesIO()
    explained().save(buffer)
    return buffer.getvalue()


@cache
def model_bytes() -> bytes:
    rng = np.random.default_rng(0)
    return write_model(LogisticRegression().fit(rng.normal(size=(20, 2)), np.arange(20) % 2))


@cache
def seeds(target: str) -> tuple[bytes, ...]:
    """The inputs that a target's fuzzing begins with."""
    made = {
        "wire": [pack(message)[len(MAGIC) + 32 :] for message in EXAMPLES],
        "envelopes": _envelopes(),
        "ledger": _ledgers(),
        "schema": [*_schemas(), *ODD_YAML],
        "explanations": _members(explanation_bytes()),
        "models": [*_members(model_bytes()), *_members(write_model(_tree()))],
    }[target]
    return (*made, *(path.read_bytes() for path in sorted((FOUND / target).glob("*"))))


def _schemas() -> list[bytes]:
    table = pd.DataFrame({"age": [1.0, 2.5, 9.0], "job": ["clerk", "nurse", "smith"], "old": [True, False, True]})
    plain, bent = Schema.from_frames([table]), Schema.from_frames([table], onehot=["job"], knots=3, robust=True)
    return [plain.to_yaml().encode(), bent.to_yaml().encode()]


def _tree() -> DecisionTreeClassifier:
    rng = np.random.default_rng(0)
    return DecisionTreeClassifier(max_depth=2).fit(rng.normal(size=(20, 2)), np.arange(20) % 2)


def _members(whole: bytes) -> list[bytes]:
    files = read_zip(whole)
    return [b"\xff" + whole, *(bytes([at]) + files[name] for at, name in enumerate(sorted(files)))]


def _envelopes() -> list[bytes]:
    about = About(BANK, SHOP, "meet", "session", "hello", answers="asked")
    content = framed(b'{"steps": ["ready"], "seconds": 0.1}', pack(EXAMPLES[3]))
    found = []
    for to in (None, KNOWN[SHOP].certificate):
        with using_machine(FROZEN):
            sealed = seal(KNOWN[BANK], about, content, to=to)
        found += [unframed(sealed, 1)[1], sealed, framed(b"", sealed)]
    return [*found, framed(b'{"kind": "InputError", "text": "no", "site": "bank"}', b"")]


def _ledgers() -> list[bytes]:
    path = _folder() / "seeds"
    book = Ledger(path)
    for at in range(3):
        book.append(Entry("analyst", "Representation", 12, {"rows": (3, 2)}, "run"))
        book.charge(Entry("officer", "Answer", 3, {}, f"r{at}", "officer", 1), budget=9, days=30)
    data = path.read_bytes()
    path.unlink()
    return [data, b"c" + data]


__all__ = ["TARGETS", "explanation_bytes", "model_bytes", "seeds"]
