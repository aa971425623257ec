"""What a party remembers of its training rows once the table is closed: enough for references of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from dcshap._typing import FloatArray
from dcshap.collaboration.anchor import Anchor
from dcshap.schema import Schema

__all__ = ["OwnRows"]


@dataclass(frozen=True)
class OwnRows:
    """What a party remembers of its training rows, as codes (M,) each. It never leaves the party."""

    median: FloatArray
    mean: FloatArray
    medoid: FloatArray
    low: FloatArray  # the first percentile
    high: FloatArray  # the last

    @classmethod
    def of(cls, codes: FloatArray, schema: Schema, anchor: Anchor) -> Self:
        """The summary of rows given as codes (n, M)."""
        # A column that is missing in every row is like the reference there.
        reference = anchor.reference()
        filled = np.where(np.isnan(codes), reference, codes)
        encoded = anchor.encoder.encode(filled)
        nearest = int(np.argmin(np.sum((encoded - encoded.mean(axis=0)) ** 2, axis=1)))
        median = schema.median(codes)
        low, high = np.quantile(filled, [0.01, 0.99], axis=0)
        return cls(
            median=np.where(np.isnan(median), reference, median),
            mean=filled.mean(axis=0),
            medoid=filled[nearest],
            low=low,
            high=high,
        )
