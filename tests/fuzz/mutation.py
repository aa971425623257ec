"""Plain mutation: bytes flipped, cut, doubled, spliced, and numbers that readers stumble over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

BINARY = (b"", b"\0" * 8, b"\xff" * 8, b"\x7f" + b"\xff" * 7)
ODD = (*BINARY, b"-1", b"1e999", b"99999999999", b"NaN", b"null", b"[", b"{", b'"', b"\n")


def mutated(seeds: Sequence[bytes], n: int, *, seed: int) -> Iterator[bytes]:
    """Inputs that are like the seeds, and not."""
    chance = Random(seed)
    for _ in range(n):
        data = bytearray(chance.choice(seeds))
        for _ in range(1 + int(chance.expovariate(0.7))):
            _change(data, chance, seeds)
        yield bytes(data)


def _change(data: bytearray, chance: Random, seeds: Sequence[bytes]) -> None:
    at, size = chance.randrange(len(data) + 1), chance.choice([1, 2, 4, 8, 30])
    kind = chance.randrange(7)
    if kind == 0 and data:
        data[at % len(data)] ^= 1 << chance.randrange(8)
    elif kind == 1:
        data[at : at + size] = chance.randbytes(size)
    elif kind == 2:
        del data[at : at + size]
    elif kind == 3:
        data[at:at] = data[at : at + size]
    elif kind == 4:
        data[at : at + chance.choice([0, 1, 8])] = chance.choice(ODD)
    elif kind == 5:
        other = chance.choice(seeds)
        begin = chance.randrange(len(other) + 1)
        data[at : at + size] = other[begin : begin + size]
    else:
        del data[at:]
