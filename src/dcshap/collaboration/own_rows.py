"""What a party remembers of its training rows once the table is closed: enough for references of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

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
        reference, median = anchor.reference(), schema.median(codes)
        ends = [_summary(column, missing) for column, missing in zip(codes.T, reference, strict=True)]
        mean, low, high = np.array(ends).T
        return cls(
            median=np.where(np.isnan(median), reference, median),
            mean=mean,
            medoid=_filled(codes[_nearest_to_mean(codes, anchor)], reference),
            low=low,
            high=high,
        )


def _filled(codes: FloatArray, reference: Any) -> FloatArray:
    return np.where(np.isnan(codes), reference, codes)


def _summary(column: FloatArray, missing: float) -> tuple[float, float, float]:
    """The mean of a column's codes (n,) and its first and last percentile."""
    filled = _filled(column, missing)
    low, high = np.quantile(filled, [0.01, 0.99])
    return float(filled.mean()), float(low), float(high)


def _nearest_to_mean(codes: FloatArray, anchor: Anchor) -> int:
    """The row whose encoded coordinates are nearest to their mean; encoded some rows at a time."""
    mean = sum(part.sum(axis=0) for part in anchor.chunks(codes)) / len(codes)
    distances = [np.sum((part - mean) ** 2, axis=1) for part in anchor.chunks(codes)]
    return int(np.argmin(np.concatenate(distances)))
