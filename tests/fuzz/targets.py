"""Where bytes from others are read: each target takes any bytes and may raise nothing but dcshap's own errors.

What protects a reader from strangers (a digest, a signature, a chain of hashes) is made right first: whoever takes part
could write it.
"""

from __future__ import annotations

import hashlib
import io
import json
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from uuid import uuid4

from dcshap import Explanation, Schema
from dcshap._bytes import read_zip, zip_bytes
from dcshap._machine import Machine, using_machine
from dcshap.exceptions import DcshapError
from dcshap.federation.rehearsal.quick_keys import identities
from dcshap.federation.seals.envelopes import framed, open_envelope
from dcshap.federation.seals.ledger import Entry, Ledger
from dcshap.federation.seals.post import PostOffice
from dcshap.federation.seals.wire import unpack
from dcshap.storage import read_model

MAGIC = b"dcshap message 1\n"
BANK, SHOP = "bank", "shop"
KNOWN = identities([BANK, SHOP, "server"], analyst="server")
Target = Callable[[bytes], None]


class _Frozen(Machine):
    """A machine whose clock stands still: envelopes are too old after ten minutes, and fuzzing takes longer."""

    def now(self) -> float:
        return 1.7e9


FROZEN = _Frozen()


def wire(data: bytes) -> None:
    """A packed message with the digest that it must have."""
    unpack(MAGIC + hashlib.sha256(data).digest() + data)


def envelopes(data: bytes) -> None:
    """What a partner has signed: an envelope, and a reply."""
    sealed = framed(KNOWN[BANK].sign(data)) + data
    office = PostOffice(SHOP, KNOWN[SHOP])
    with using_machine(FROZEN):
        try:
            open_envelope(KNOWN[SHOP], sealed, me=SHOP)
        except DcshapError:
            asked = framed(b"", json.dumps({"identifier": "asked"}).encode())
            office.answers_in(framed(b"", sealed), asked, sender=BANK)
            office.answers_in(data, asked, sender=BANK)


def ledger(data: bytes) -> None:
    """A ledger's file: as it is, or with hashes that fit."""
    path = _folder() / uuid4().hex
    path.write_bytes(_chained(data[1:]) if data[:1] == b"c" else data)
    try:
        book = Ledger(path)
        book.append(Entry("bank", "Ready", 3))
        book.charge(Entry("officer", "Answer", 3, {}, "r", "officer", 1), budget=10**9, days=30)
        book.verify()
    finally:
        path.unlink(missing_ok=True)


def schema(data: bytes) -> None:
    """A schema's YAML."""
    found = Schema.from_yaml(data.decode(errors="replace"))
    if Schema.from_yaml(found.to_yaml()) != found:
        raise AssertionError("a schema that was read and written is another")


def explanations(data: bytes) -> None:
    """An explanation's file, or one of the files in it."""
    from tests.fuzz.corpus import explanation_bytes  # noqa: PLC0415 - the corpus is made from the targets

    Explanation.load(io.BytesIO(_member(data, explanation_bytes())))


def models(data: bytes) -> None:
    """A model's file, or one of the files in it."""
    from tests.fuzz.corpus import model_bytes  # noqa: PLC0415

    read_model(_member(data, model_bytes()))


TARGETS: dict[str, Target] = {each.__name__: each for each in (wire, envelopes, ledger, schema, explanations, models)}


def run(target: Target, data: bytes) -> bool:
    """Whether the bytes could be read; anything but an error of dcshap's own goes up."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            target(data)
        except DcshapError:
            return False
    return True


def _member(data: bytes, whole: bytes) -> bytes:
    """The bytes, or an archive with them in place of one of its files: the first byte says which."""
    files = _files(whole)
    names = sorted(files)
    if not data or data[0] >= len(names):
        return data[1:]
    return zip_bytes(files | {names[data[0]]: data[1:]})


_files = cache(read_zip)  # nobody changes them


def _chained(data: bytes) -> bytes:
    last, lines = "0" * 64, []
    for line in data.splitlines():
        try:
            content = json.loads(line)["entry"]
            text = json.dumps(content, sort_keys=True)
        except (ValueError, LookupError, TypeError, RecursionError):
            lines.append(line)
            continue
        last = hashlib.sha256(f"{last}\n{text}".encode(errors="surrogatepass")).hexdigest()
        lines.append(json.dumps({"entry": content, "hash": last}).encode())
    return b"".join(line + b"\n" for line in lines)


@cache
def _folder() -> Path:
    memory = Path("/dev/shm")  # noqa: S108 - a folder of one's own is made in it
    return Path(mkdtemp(prefix="dcshap-fuzz-", dir=memory if memory.is_dir() else None))
