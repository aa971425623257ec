"""The product of one party's columns with another's labels, of which only the first party learns anything.

A dealer draws `A` (n, q) and `B` (n, K) and splits `AᵀB` into two random shares `C₁ + C₂`: a Beaver triple. The first
party has `X`, `A` and `C₁`, the second `Y`, `B` and `C₂`. They show each other `D = X − A` and `E = Y − B`, which are
uniformly random by themselves; `XᵀE + C₁` and `DᵀB + C₂` then add up to `XᵀY`. Numbers are fixed point, modulo 2⁶⁴, so
that masks cancel to the last bit.

The dealer knows `A` and `B`, so neither `D` nor `E` may ever reach it. It deals seeds instead of large matrices.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcshap._machine import random_bytes
from dcshap._typing import FloatArray
from dcshap.exceptions import InputError, ProtocolError

__all__ = [
    "Integers",
    "Triple",
    "deal",
    "expand",
    "first_share",
    "from_fixed",
    "second_share",
    "seed_for",
    "to_fixed",
]

Integers = npt.NDArray[np.uint64]

FRACTION = 16  # bits after the point, of either factor
SEED_BYTES = 32
LARGEST_LABEL = 4.0  # of what stands for a label: 0 or 1, or a scaled number, with its noise
_LIMIT = 2.0 ** (63 - 2 * FRACTION)  # what an entry of the product must stay below


@dataclass(frozen=True)
class Triple:
    """What the dealer draws for one product."""

    first: bytes  # the seed of `A` and `C₁`
    second: bytes  # the seed of `B`
    share: Integers  # (q, K), `C₂`


def seed_for(seed: bytes, name: str) -> bytes:
    """The seed of one product, where a party takes part in several."""
    return hashlib.sha256(b"dcshap triple for " + name.encode() + b"\x1f" + seed).digest()


def deal(
    n_rows: int, n_columns: int, n_labels: int, *, first: bytes | None = None, second: bytes | None = None
) -> Triple:
    """Draw the randomness for a product of (n, q) with (n, K); the seeds of `A` and `B` may be given."""
    first, second = first or random_bytes(SEED_BYTES), second or random_bytes(SEED_BYTES)
    A, B = expand(first, "A", n_rows, n_columns), expand(second, "B", n_rows, n_labels)
    return Triple(first, second, A.T @ B - expand(first, "C", n_columns, n_labels))


def expand(seed: bytes, what: str, n_rows: int, n_columns: int) -> Integers:
    """A uniformly random matrix (n_rows, n_columns), the same wherever the seed is known."""
    drawn = hashlib.shake_256(b"dcshap triple " + what.encode() + b"\x1f" + seed).digest(8 * n_rows * n_columns)
    return np.frombuffer(drawn, dtype="<u8").astype(np.uint64, copy=False).reshape(n_rows, n_columns)


def to_fixed(parts: Iterable[FloatArray]) -> Integers:
    """Numbers (n, k), given some rows at a time, as integers modulo 2⁶⁴.

    Raises
    ------
    InputError
        Where a sum over rows (n, k) could not be told from one that has wrapped around.
    """
    fixed, sums = [], np.zeros(1)
    for values in parts:
        sums = sums + np.abs(values).sum(axis=0)
        # Written so that NaN is refused too.
        if not np.all(sums * LARGEST_LABEL < _LIMIT):
            raise InputError(
                "Columns must be finite, and their sums below 2²⁹, to be multiplied with the labels in secret. Scale "
                "the columns (scaled=True)."
            )
        fixed.append(np.rint(values * 2.0**FRACTION).astype(np.int64))
    return np.concatenate(fixed).view(np.uint64)


def from_fixed(product: Integers) -> FloatArray:
    """The numbers that a product of two fixed point matrices stands for."""
    return np.asarray(product.view(np.int64) / 2.0 ** (2 * FRACTION))


def first_share(X: Integers, masked_labels: Integers, seed: bytes) -> Integers:
    """`XᵀE + C₁` (q, K), at the party that is to know the product."""
    if masked_labels.ndim != 2 or len(masked_labels) != len(X):
        raise ProtocolError(
            f"Masked labels must be of the same {len(X)} records as the columns. Got the shape {masked_labels.shape}."
        )
    return X.T @ masked_labels + expand(seed, "C", X.shape[1], masked_labels.shape[1])


def second_share(masked_columns: Integers, mask: Integers, share: Integers) -> Integers:
    """`DᵀB + C₂` (q, K), at the party that holds the labels."""
    if masked_columns.ndim != 2 or len(masked_columns) != len(mask):
        raise ProtocolError(
            f"Masked columns must be of the same {len(mask)} records as the labels. Got the shape "
            f"{masked_columns.shape}."
        )
    if share.shape != (masked_columns.shape[1], mask.shape[1]):
        raise ProtocolError(
            f"The analyst must deal for {masked_columns.shape[1]} columns and {mask.shape[1]} labels. Got a share of "
            f"{share.shape}."
        )
    return masked_columns.T @ mask + share
