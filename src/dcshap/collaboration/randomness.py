"""Streams of random numbers, one per purpose and name.

Every stream is keyed by what it is for, so that the order in which parties, columns or steps come changes nothing,
and a party's private stream has nothing in common with the one that all parties share.
"""

from __future__ import annotations

import hashlib

import numpy as np

from dcshap._machine import random_bits

__all__ = ["derived_seed", "fresh_seed", "stream"]

SEED_BITS = 128


def fresh_seed() -> int:
    """A seed from the operating system's entropy."""
    return random_bits(SEED_BITS)


def derived_seed(seed: int, *purpose: str) -> int:
    """A seed for one purpose. Nothing can be learnt from it about the one it was derived from."""
    text = "\x1f".join([str(seed), *purpose])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[: SEED_BITS // 8], "big")


def stream(seed: int, *purpose: str) -> np.random.Generator:
    """The stream of one purpose."""
    return np.random.default_rng(derived_seed(seed, *purpose))
