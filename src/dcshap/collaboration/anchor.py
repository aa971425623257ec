"""The anchor: synthetic rows that all parties share and the analyst never sees.

What each party makes of them, `F_i(anchor)`, is how the analyst finds the maps between the parties' representations.
Each column is drawn from a stream of its own, so that the same seed gives the same column in any order of columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from dcshap._recall import recalled
from dcshap._typing import FloatArray
from dcshap.collaboration.randomness import stream
from dcshap.exceptions import InputError
from dcshap.schema import Category, Schema
from dcshap.schema.encoding import CHUNK, Encoder

__all__ = ["Anchor", "AnchorKind"]

AnchorKind = Literal["gaussian", "uniform"]


@dataclass(frozen=True)
class Anchor:
    """Anchor rows, and the encoder that goes with them."""

    encoder: Encoder  # scaled by the anchor's mean and spread
    rows: FloatArray  # (n_anchor, p), encoded
    # (n_anchor, M), the same rows as codes; real-valued, neither clipped nor rounded, for a Gaussian anchor.
    codes: FloatArray
    median: FloatArray  # (M,), the row in their middle, as codes

    @classmethod
    @partial(recalled, shared=True)
    def draw(cls, schema: Schema, *, kind: AnchorKind, n_rows: int, seed: int, scaled: bool = True) -> Anchor:
        """Draw an anchor from a seed that the parties share.

        `"gaussian"` is isotropic in scaled coordinates, around the schema's typical values. `"uniform"` fills the
        schema's ranges, as in the paper; its columns are independent and not Gaussian, so the analyst can find them
        by independent component analysis.
        """
        encoder = Encoder.from_schema(schema, around="middle" if kind == "uniform" else "typical")
        if kind == "gaussian":
            rows = np.stack([_antithetic(stream(seed, "anchor", name), n_rows) for name in encoder.coordinate_names], 1)
            codes = encoder.decode(rows)
            # The origin, not the median of the codes, which rounding would move off the typical values.
            median = schema.median(encoder.decode(np.zeros((1, encoder.n_coordinates))))
            if scaled:
                return cls(encoder, rows, codes, median)
            return cls(Encoder.unscaled(schema), encoder.unscale(rows), codes, median)
        if kind == "uniform":
            codes = np.stack([_uniform_column(schema, name, n_rows, seed) for name in schema.names], axis=1)
            encoder = encoder if scaled else Encoder.unscaled(schema)
            return cls(encoder, encoder.encode(codes), codes, schema.median(codes))
        raise InputError(f"`anchor` must be 'gaussian', 'uniform' or a table. Got {kind!r}.")

    @classmethod
    def from_table(cls, schema: Schema, table: Any, *, scaled: bool = True) -> Anchor:
        """Use a public table that the parties bring; coordinates are scaled by its mean and spread."""
        codes = schema.codes(table)
        encoder = Encoder.from_codes(schema, codes) if scaled else Encoder.unscaled(schema)
        return cls(encoder, encoder.encode(codes), codes, schema.median(codes))

    def reference(self) -> FloatArray:
        """The anchor's median row as codes (M,): what stands for "feature absent"."""
        return self.median.copy()

    def encode(self, codes: FloatArray) -> FloatArray:
        """Encode codes (n, M); the reference's value takes the place of a missing one."""
        absent = np.isnan(codes)
        return self.encoder.encode(np.where(absent, self.reference(), codes) if absent.any() else codes)

    def chunks(self, codes: FloatArray, *, complete: bool = False) -> Iterator[FloatArray]:
        """Encode codes (n, M), some rows at a time; `complete` says that none of them is missing."""
        encode = self.encoder.encode if complete else self.encode
        for start in range(0, len(codes), CHUNK):
            yield encode(codes[start : start + CHUNK])


def _antithetic(rng: np.random.Generator, n_rows: int) -> FloatArray:
    """Standard normal draws, half of them the negatives of the others: mean and median are 0.

    The last of an odd number is 0 itself.
    """
    half = rng.standard_normal(n_rows // 2)
    return np.concatenate([half, -half, np.zeros(n_rows % 2)])


def _uniform_column(schema: Schema, name: str, n_rows: int, seed: int) -> FloatArray:
    column, rng = schema[name], stream(seed, "anchor", name)
    if isinstance(column, Category):
        return rng.integers(len(column.categories), size=n_rows).astype(np.float64)
    return rng.uniform(column.low, column.high, size=n_rows)
