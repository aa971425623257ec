"""From a row's codes to the coordinates that reductions work on.

Each raw column is encoded by itself, from the schema and the anchor alone, so all parties encode alike. A number or
an ordinal code becomes one coordinate, a one-hot category or a number with knots a block of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np
import scipy.linalg

from dcshap._typing import FloatArray
from dcshap.exceptions import SchemaError
from dcshap.schema.columns import Column, Number
from dcshap.schema.dictionary import Schema
from dcshap.schema.knots import hat_scale, hats

__all__ = ["CHUNK", "Encoder", "sensitive_coordinates", "straight_coordinates", "widths"]

CHUNK = 4096  # rows that go through several steps at once; few enough to stay in the processor's cache


@dataclass(frozen=True)
class Encoder:
    """Centres and scales every encoded coordinate."""

    schema: Schema
    center: FloatArray  # (p,), the sum of `widths`
    scale: FloatArray  # (p,)
    blocks: tuple[slice, ...] = field(init=False)  # raw column -> its encoded coordinates

    def __post_init__(self) -> None:
        ends = np.cumsum([0, *widths(self.schema)])
        blocks = tuple(slice(int(a), int(b)) for a, b in pairwise(ends))
        object.__setattr__(self, "blocks", blocks)

    @classmethod
    def from_schema(cls, schema: Schema, *, around: Literal["typical", "middle"] = "typical") -> Encoder:
        """Scale by the spread of even draws from each range, around its typical value or its middle."""
        blocks = [_center_and_scale(column, around) for column in schema.columns]
        return cls(schema, np.concatenate([c for c, _ in blocks]), np.concatenate([s for _, s in blocks]))

    @classmethod
    def from_codes(cls, schema: Schema, codes: FloatArray) -> Encoder:
        """Scale by the mean and spread of given rows (n, M); a one-hot block is scaled as a whole."""
        plain = cls.unscaled(schema)
        encoded = plain.encode(codes)
        scale = np.empty(len(plain.center))
        for column, block in zip(schema.columns, plain.blocks, strict=True):
            scale[block] = np.sqrt(encoded[:, block].var(axis=0).sum())
            if not scale[block][0] > 0:
                raise SchemaError(f"Column {column.name!r} must vary in the anchor's table. It is constant there.")
        return cls(schema, encoded.mean(axis=0), scale)

    @classmethod
    def unscaled(cls, schema: Schema) -> Encoder:
        """Leave values as they are, as the paper does."""
        width = sum(widths(schema))
        return cls(schema, np.zeros(width), np.ones(width))

    @property
    def n_coordinates(self) -> int:
        """The number of encoded coordinates."""
        return len(self.center)

    @property
    def coordinate_names(self) -> list[str]:
        """A name for each encoded coordinate: the column's, and the category's or knot's position in a block."""
        return [
            column.name if _width(column) == 1 else f"{column.name}\x1f{position}"
            for column in self.schema.columns
            for position in range(_width(column))
        ]

    def spans(self) -> FloatArray:
        """The width (M,) of each raw column's range, in codes."""
        return np.array(
            [
                column.high - column.low if isinstance(column, Number) else len(column.categories) - 1.0
                for column in self.schema.columns
            ]
        )

    def encode(self, codes: FloatArray) -> FloatArray:
        """Encode codes (n, M), none of them missing, to coordinates (n, p)."""
        if all(_width(column) == 1 and not _clipped(column) for column in self.schema.columns):
            encoded = codes - self.center
        else:
            encoded = np.concatenate(
                [_indicators(column, codes[:, j]) for j, column in enumerate(self.schema.columns)], axis=1
            )
            encoded -= self.center
        encoded *= 1.0 / self.scale
        return encoded

    def unscale(self, encoded: FloatArray) -> FloatArray:
        """Coordinates (n, p) before they were centred and scaled."""
        return encoded * self.scale + self.center

    def decode(self, encoded: FloatArray) -> FloatArray:
        """The codes (n, M) nearest to coordinates (n, p): the largest of a one-hot block, any real number else."""
        raw = self.unscale(encoded)
        columns = [
            _decoded(column, raw[:, block]) for column, block in zip(self.schema.columns, self.blocks, strict=True)
        ]
        return np.stack(columns, axis=1).astype(np.float64)


def widths(schema: Schema) -> Sequence[int]:
    """How many coordinates each raw column is encoded to."""
    return [_width(column) for column in schema.columns]


def sensitive_coordinates(schema: Schema) -> list[int]:
    """Positions of the coordinates that columns marked as sensitive are encoded to."""
    marked = [column.sensitive for column in schema.columns for _ in range(_width(column))]
    return [position for position, sensitive in enumerate(marked) if sensitive]


def straight_coordinates(schema: Schema) -> FloatArray:
    """Weights (p, s) that make one coordinate of a number with knots, its place among them; all others stay."""
    blocks = [
        _places(width) if isinstance(column, Number) and width > 1 else np.eye(width)
        for column, width in zip(schema.columns, widths(schema), strict=True)
    ]
    straight: FloatArray = scipy.linalg.block_diag(*blocks)
    return straight


def _places(n: int) -> FloatArray:
    return (np.arange(float(n)) - (n - 1) / 2)[:, None]


def _width(column: Column) -> int:
    if isinstance(column, Number):
        return max(len(column.knots), 1)
    return len(column.categories) if column.encoding == "onehot" else 1


def _clipped(column: Column) -> bool:
    return isinstance(column, Number) and column.clipped


def _center_and_scale(column: Column, around: Literal["typical", "middle"]) -> tuple[FloatArray, FloatArray]:
    if isinstance(column, Number) and column.knots:
        n = len(column.knots)
        return hats(np.array([column.typical_code]), column.knots)[0], np.full(n, hat_scale(n))
    if isinstance(column, Number):
        middle, scale = (column.low + column.high) / 2, (column.high - column.low) / np.sqrt(12)
    elif column.encoding == "ordinal":
        n = len(column.categories)
        middle, scale = (n - 1) / 2, np.sqrt((n * n - 1) / 12)
    else:
        n = len(column.categories)
        middle, scale = 1 / n, np.sqrt(1 - 1 / n)  # a block's total variance is 1 once scaled, as any number's
    width, typical = _width(column), column.typical_code
    center = np.full(width, middle)
    if around == "typical" and typical is not None:
        center = _indicators(column, np.array([typical]))[0]
    return center, np.full(width, scale)


def _decoded(column: Column, raw: FloatArray) -> FloatArray:
    if isinstance(column, Number) and column.knots:
        return np.asarray(raw @ np.array(column.knots))
    return np.asarray(raw.argmax(axis=1) if raw.shape[1] > 1 else raw[:, 0])


def _indicators(column: Column, codes: FloatArray) -> FloatArray:
    if isinstance(column, Number) and column.knots:
        return hats(codes, column.knots)
    if isinstance(column, Number) and column.clipped:
        codes = np.clip(codes, column.low, column.high)
    if _width(column) == 1:
        return codes[:, None]
    block = np.zeros((len(codes), _width(column)))
    block[np.arange(len(codes)), codes.astype(np.int64)] = 1.0
    return block
