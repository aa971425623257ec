"""What the parties settle among themselves before they begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dcshap.collaboration.anchor import Anchor, AnchorKind
from dcshap.collaboration.reduction import ReductionKind
from dcshap.exceptions import InputError, PrivacyError
from dcshap.schema import Missing, Schema

__all__ = ["Agreement", "Span"]

Span = Literal["private", "shared", "random"]


@dataclass(frozen=True)
class Agreement:
    """The schema and the settings that all parties use. The analyst knows neither.

    Parameters
    ----------
    schema : Schema
    n_components : int or float
        The dimensions of a representation, as a number or a fraction of the columns, rounded.
    reduction : {"svd", "pca", "random", "lpp"} or scikit-learn transformer
    span : {"private", "shared", "random"}
        Whether each party picks its own subspace, or all use a common one: that of their rows together, found by
        secure summation, or a random one from the shared seed.
    anchor : {"gaussian", "uniform"} or table
    n_anchor : int
    scaled : bool
        Whether columns are centred and scaled by the anchor's mean and spread.
    missing : {"error", "reference"}
    """

    schema: Schema
    n_components: int | float = 0.75
    reduction: ReductionKind | Any = "svd"
    span: Span = "private"
    anchor: AnchorKind | Any = "gaussian"
    n_anchor: int = 2000
    scaled: bool = True
    missing: Missing = "error"

    def __post_init__(self) -> None:
        if self.span not in ("private", "shared", "random"):
            raise InputError(f"`span` must be 'private', 'shared' or 'random'. Got {self.span!r}.")
        if self.missing not in ("error", "reference"):
            raise InputError(f"`missing` must be 'error' or 'reference'. Got {self.missing!r}.")
        if self.span != "private" and not (isinstance(self.reduction, str) and self.reduction == "svd"):
            raise InputError(f"`span={self.span!r}` sets the subspace for all: leave `reduction` at its default.")
        n_anchor = self._n_anchor()
        if n_anchor < self.dimensions + 2:
            raise InputError(
                f"The anchor must have more rows than the representations have dimensions. Got {n_anchor} rows for "
                f"{self.dimensions} dimensions. Raise `n_anchor`; 2000 is the default."
            )

    @property
    def dimensions(self) -> int:
        """`n_components` as a number, checked against the number of columns."""
        n_columns, wanted = len(self.schema), self.n_components
        if n_columns < 2:
            raise PrivacyError(
                f"A party needs at least 2 columns, or a representation cannot hide them. Got {n_columns}."
            )
        if isinstance(wanted, int | np.integer) and not isinstance(wanted, bool):
            dimensions = int(wanted)
        elif isinstance(wanted, float) and 0 < wanted < 1:
            dimensions = min(max(int(np.floor(wanted * n_columns + 0.5)), 1), n_columns - 1)
        else:
            raise InputError(f"`n_components` must be a whole number or a fraction between 0 and 1. Got {wanted!r}.")
        if dimensions < 1:
            raise InputError(f"`n_components` must be at least 1. Got {dimensions}.")
        if dimensions >= n_columns:
            raise PrivacyError(
                f"`n_components` must be smaller than the number of columns, or representations hide nothing. Got "
                f"{dimensions} for {n_columns} columns. Use {max(1, round(0.75 * n_columns))} or fewer."
            )
        return dimensions

    def _n_anchor(self) -> int:
        if isinstance(self.anchor, str):
            if not isinstance(self.n_anchor, int | np.integer):
                raise InputError(f"`n_anchor` must be a whole number. Got {type(self.n_anchor).__name__}.")
            return int(self.n_anchor)
        if not hasattr(self.anchor, "__len__"):
            raise InputError(f"`anchor` must be 'gaussian', 'uniform' or a table. Got {type(self.anchor).__name__}.")
        return len(self.anchor)

    def to_dict(self) -> dict[str, Any]:
        """Plain content; a public table as anchor and a transformer are not in it."""
        return {
            "schema": self.schema.to_dict(),
            "n_components": self.n_components if isinstance(self.n_components, float) else int(self.n_components),
            "reduction": self.reduction if isinstance(self.reduction, str) else None,
            "span": self.span,
            "anchor": self.anchor if isinstance(self.anchor, str) else None,
            "n_anchor": int(self.n_anchor),
            "scaled": self.scaled,
            "missing": self.missing,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any], **given: Any) -> Agreement:
        """The agreement that `to_dict` wrote; `given` supplies what is not in it."""
        return cls(**(content | {"schema": Schema.from_dict(content["schema"])} | given))

    def draw_anchor(self, seed: int) -> Anchor:
        """The anchor that the agreed settings and the shared seed give."""
        if not isinstance(self.anchor, str):
            return Anchor.from_table(self.schema, self.anchor, scaled=self.scaled)
        kind: Any = self.anchor
        return Anchor.draw(self.schema, kind=kind, n_rows=self.n_anchor, seed=seed, scaled=self.scaled)
