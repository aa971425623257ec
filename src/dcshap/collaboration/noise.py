"""Frozen noise on representations: drawn from a private seed and the record itself.

Exact representations of integers and categories can be decoded by lattice reduction; a little noise stops it. Fresh
noise would average out over requests and retrainings, so a record's noise is a function of the record: a keyed hash
of its content (or identifier) is the input of the ChaCha20 block function under the party's key, and its output is
turned to normal draws. Whoever lacks the private seed cannot tell it from fresh noise, even knowing the record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dcshap._typing import FloatArray
from dcshap.exceptions import InputError

__all__ = ["NOISE", "Words", "frozen_noise", "noise_scale", "record_digests", "text_digests"]

NOISE = 0.2  # of the root mean square of a representation
CHUNK = 8192  # records at a time; few enough for the processor's cache
CONSTANTS = np.frombuffer(b"expand 32-byte k", dtype="<u4")
TURNS = (16, 12, 8, 7)  # bits, in the order of a quarter round's steps

Words = npt.NDArray[np.uint32]


def noise_scale(represented: FloatArray, *, fraction: float = NOISE, at_least: float = 0.0) -> FloatArray:
    """Standard deviations (d,) of the noise on a representation, the same for all dimensions.

    Parameters
    ----------
    represented : array of shape (n, d)
        The party's rows at the first training; the scale is kept with the map from then on.
    fraction : float
        Of their root mean square about their mean.
    at_least : float
        What the root mean square counts as at least: that of all parties' rows, where it is known, so that a party
        whose rows hardly vary does not send them exactly.
    """
    if not (np.isfinite(fraction) and fraction >= 0):
        raise InputError(f"`noise` must be a finite number, 0 or more. Got {fraction!r}.")
    rms = float(np.sqrt(np.mean((represented - represented.mean(axis=0)) ** 2)))
    return np.full(represented.shape[1], fraction * max(rms, at_least))


def frozen_noise(digests: Words, scale: FloatArray, *, private_seed: int, map_name: str) -> FloatArray:
    """Gaussian noise (n, d) with standard deviation `scale` (d,), the same whenever the same record is asked for.

    Records are given by their digests (n, 3). `map_name` names the map whose output is noised, for instance by a hash
    of its weights. Two maps must not get the same noise: their difference would be exact.
    """
    key = np.frombuffer(_derived(private_seed, "noise", map_name, size=32), dtype="<u4")
    noise = np.empty((len(digests), len(scale)))
    for start in range(0, len(digests), CHUNK):
        part = digests[start : start + CHUNK]
        for first in range(0, len(scale), 8):
            block = _normal(_chacha20(key, first // 8, part))
            noise[start : start + CHUNK, first : first + 8] = block[:, : len(scale) - first]
    noise *= scale
    return noise


def record_digests(records: FloatArray, *, private_seed: int) -> Words:
    """Digests (n, 3) of records given as numbers (n, M), codes or coordinates; equal records have equal ones.

    Multilinear hashing with secret factors: two different records collide with a chance of 2⁻⁹⁶. It does not depend
    on how many records come at once.
    """
    content = np.ascontiguousarray(records, dtype=np.float64) + 0.0  # one zero
    content[np.isnan(content)] = np.nan  # one missing value
    words = content.view("<u4").reshape(len(content), 2 * content.shape[1])
    size = 24 * (words.shape[1] + 1)
    factors = np.frombuffer(_derived(private_seed, "digest", size=size), dtype="<u8").reshape(-1, 3)
    digests = np.empty((len(words), 3), dtype=np.uint32)
    for start in range(0, len(words), CHUNK):
        mixed = words[start : start + CHUNK].astype(np.uint64) @ factors[1:] + factors[0]
        digests[start : start + CHUNK] = mixed >> np.uint64(32)
    return digests


def text_digests(identifiers: Sequence[str], *, private_seed: int) -> Words:
    """Digests (n, 3) of records given by identifiers."""
    key = _derived(private_seed, "identifier", size=32)
    joined = b"".join(hashlib.blake2b(name.encode(), key=key, digest_size=12).digest() for name in identifiers)
    return np.frombuffer(joined, dtype="<u4").reshape(-1, 3).astype(np.uint32)


def _derived(private_seed: int, *purpose: str, size: int) -> bytes:
    return hashlib.shake_256("\x1f".join(["dcshap", str(private_seed), *purpose]).encode()).digest(size)


def _chacha20(key: Words, counter: int, nonces: Words) -> Words:
    """The ChaCha20 block function (RFC 8439), one block (16,) per nonce: (n, 16)."""
    start = np.empty((16, len(nonces)), dtype=np.uint32)
    start[:4], start[4:12], start[12], start[13:] = CONSTANTS[:, None], key[:, None], counter, nonces.T
    a, b, c, d = start.reshape(4, 4, -1).copy()  # the four columns of the state at once
    for _ in range(10):
        _quarter_rounds(a, b, c, d)
        b, c, d = b[[1, 2, 3, 0]], c[[2, 3, 0, 1]], d[[3, 0, 1, 2]]  # its diagonals become columns
        _quarter_rounds(a, b, c, d)
        b, c, d = b[[3, 0, 1, 2]], c[[2, 3, 0, 1]], d[[1, 2, 3, 0]]
    state = np.concatenate([a, b, c, d])
    state += start
    return np.ascontiguousarray(state.T)


def _quarter_rounds(a: Words, b: Words, c: Words, d: Words) -> None:
    """A quarter round on each of four columns, in place."""
    for (target, source, mixed), turn in zip(((a, b, d), (c, d, b)) * 2, TURNS, strict=True):
        np.add(target, source, out=target)
        np.bitwise_xor(mixed, target, out=mixed)
        spare = mixed >> np.uint32(32 - turn)
        np.left_shift(mixed, np.uint32(turn), out=mixed)
        np.bitwise_or(mixed, spare, out=mixed)


def _normal(blocks: Words) -> FloatArray:
    """Eight standard normal draws from each block of 16 words (n, 16): Box–Muller on 64-bit uniforms."""
    wide = blocks.view(np.uint64)  # (n, 8)
    uniform = ((wide >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    radius, angle = np.sqrt(-2.0 * np.log(uniform[:, :4])), 2.0 * np.pi * uniform[:, 4:]
    draws = np.empty((len(blocks), 8))
    draws[:, 0::2], draws[:, 1::2] = radius * np.cos(angle), radius * np.sin(angle)
    return draws
