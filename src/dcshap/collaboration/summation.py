"""Secure summation: the total of the parties' matrices, and nobody's own.

Every pair of parties shares a key and stretches it to a mask that one adds and the other subtracts. Values are fixed
point numbers modulo 2¹²⁸, so the masks cancel to the last bit and a masked value is uniformly random by itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dcshap._typing import FloatArray
from dcshap.exceptions import InputError, ProtocolError

__all__ = ["masked", "unmasked_sum"]

Words = npt.NDArray[np.uint8]

_BYTES = 16
_MODULUS = 1 << (8 * _BYTES)
_FRACTION = 2.0**64
_LIMIT = 2.0**62  # what the sum may reach, with its sign, in the 64 bits before the point


def masked(values: FloatArray, *, party: str, keys: Mapping[str, bytes]) -> Words:
    """Hide a party's values (k,) under the masks that it shares with each other party, by the keys: bytes (k, 16)."""
    if not np.all(np.abs(values) < _LIMIT / (len(keys) + 1)):
        raise InputError(
            "Moments must be finite and below 2⁶² over all parties to be summed securely. Scale the columns "
            "(scaled=True)."
        )
    total = [int(value * _FRACTION) for value in values.tolist()]
    for other, key in keys.items():
        sign = 1 if party < other else -1
        stretched = hashlib.shake_256(b"dcshap moments" + key).digest(_BYTES * len(total))
        for position in range(len(total)):
            word = stretched[_BYTES * position : _BYTES * (position + 1)]
            total[position] += sign * int.from_bytes(word, "little")
    joined = b"".join((value % _MODULUS).to_bytes(_BYTES, "little") for value in total)
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, _BYTES)


def unmasked_sum(words: Sequence[Words]) -> FloatArray:
    """The sum (k,) of what all parties masked; the masks cancel."""
    if len({w.shape for w in words}) != 1 or words[0].ndim != 2 or words[0].shape[1] != _BYTES:
        raise ProtocolError(f"Masked values must have one shape (k, {_BYTES}). Got {sorted({w.shape for w in words})}.")
    totals = np.zeros(len(words[0]))
    for position in range(len(totals)):
        value = sum(int.from_bytes(w[position].tobytes(), "little") for w in words) % _MODULUS
        totals[position] = (value - _MODULUS if value >= _MODULUS // 2 else value) / _FRACTION
    return totals
