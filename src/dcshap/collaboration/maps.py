"""A party's private maps as bytes, kept while a training is under way: its linear reduction and its noise's scale."""

from __future__ import annotations

import numpy as np

from dcshap._bytes import UNREADABLE, archive_bytes, read_archive
from dcshap.collaboration.party import Party
from dcshap.collaboration.reduction import LinearReduction
from dcshap.exceptions import StorageError

__all__ = ["map_bytes", "recall_maps"]


def map_bytes(party: Party) -> bytes:
    """The maps that a party has found."""
    reduction, scale = party.linear_reduction, party._noise_scale
    if reduction is None or scale is None:
        raise StorageError(f"Party {party.name!r} must have a linear reduction to keep it while it trains.")
    return archive_bytes({"weights": reduction.weights, "offset": reduction.offset, "noise_scale": scale})


def recall_maps(party: Party, data: bytes) -> None:
    """Have a party use the maps that it has found before in the same training."""
    try:
        arrays = read_archive(data)
        found = [np.asarray(arrays[name], dtype=np.float64) for name in ("weights", "offset", "noise_scale")]
    except UNREADABLE as error:
        raise StorageError(f"The maps that party {party.name!r} has kept cannot be read: train anew.") from error
    party._reduction, party._noise_scale = LinearReduction(found[0], found[1]), found[2]
