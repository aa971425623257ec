"""What the parties settle among themselves before they begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dcshap.collaboration.anchor import Anchor, AnchorKind
from dcshap.collaboration.newton import ROUNDS
from dcshap.collaboration.noise import NOISE
from dcshap.collaboration.reduction import ReductionKind
from dcshap.collaboration.span import auto_components
from dcshap.exceptions import InputError, PrivacyError, SchemaError
from dcshap.schema import Missing, Schema
from dcshap.schema.encoding import widths

__all__ = ["Agreement", "Span", "require_one_holder"]

Span = Literal["supervised", "private", "shared", "random"]
SPANS = ("supervised", "private", "shared", "random")
FRACTION = 0.75  # of the columns: the dimensions of a span that does not know what is predicted


@dataclass(frozen=True)
class Agreement:
    """The schema and the settings that all parties use. The analyst knows neither."""

    schema: Schema
    # The dimensions of a representation, as a number or a fraction of the columns, rounded. "auto": about a quarter
    # where the span is supervised, three quarters otherwise.
    n_components: int | float | Literal["auto"] = "auto"
    reduction: ReductionKind | Any = "svd"  # of a private span: a name, or a scikit-learn transformer
    # Whether each party picks its own subspace, or all use a common one: directions that predict and random ones, or
    # the leading ones of their rows together, both found by secure summation; or a random one.
    span: Span = "supervised"
    # Newton rounds of logistic regression for the directions that predict; 0 takes Fisher's. Classes only.
    span_rounds: int = ROUNDS
    # Differential privacy of the moments that a supervised span is found from; without Newton rounds.
    epsilon: float | None = None
    noise: float = NOISE  # of each dimension's root mean square, added to every row that leaves the party
    task: Literal["classes", "number"] = "classes"  # what is predicted
    anchor: AnchorKind | Any = "gaussian"  # a name, or a public table
    n_anchor: int = 2000
    scaled: bool = True  # whether columns are centred and scaled by the anchor's mean and spread
    missing: Missing = "error"

    def __post_init__(self) -> None:
        if self.span not in SPANS:
            raise InputError(f"`span` must be one of {list(SPANS)}. Got {self.span!r}.")
        if self.task not in ("classes", "number"):
            raise InputError(f"`task` must be 'classes' or 'number'. Got {self.task!r}.")
        if not _is_number(self.noise) or not 0 <= self.noise <= 10:
            raise InputError(f"`noise` must be a number from 0 to 10, 0.2 by default. Got {self.noise!r}.")
        if not isinstance(self.span_rounds, int) or not 0 <= self.span_rounds <= 50:
            raise InputError(f"`span_rounds` must be a whole number from 0 to 50. Got {self.span_rounds!r}.")
        if self.epsilon is not None and (
            self.span != "supervised" or not _is_number(self.epsilon) or self.epsilon <= 0
        ):
            raise InputError(f"`epsilon` must be a number above 0, and needs span='supervised'. Got {self.epsilon!r}.")
        if self.missing not in ("error", "reference"):
            raise InputError(f"`missing` must be 'error' or 'reference'. Got {self.missing!r}.")
        if self.span != "private" and not (isinstance(self.reduction, str) and self.reduction == "svd"):
            raise InputError(f"`reduction` belongs to span='private'. With span={self.span!r} leave it at its default.")
        n_anchor, dimensions = self._n_anchor(), self.dimensions if self.span != "supervised" else self.components(1)
        if n_anchor < dimensions + 2:
            raise InputError(
                f"The anchor must have more rows than the representations have dimensions. Got {n_anchor} rows for "
                f"{dimensions} dimensions. Raise `n_anchor`; 2000 is the default."
            )

    @property
    def rounds(self) -> int:
        """The Newton rounds that the parties take; none where the moments are private."""
        return 0 if self.epsilon is not None else self.span_rounds

    @property
    def dimensions(self) -> int:
        """`n_components` as a number, checked against the number of columns; of a span that is not supervised."""
        n_columns = len(self.schema)
        dimensions = self._number(FRACTION if self.n_components == "auto" else self.n_components)
        if dimensions >= n_columns:
            raise PrivacyError(
                f"`n_components` must be smaller than the number of columns, or representations hide nothing. Got "
                f"{dimensions} for {n_columns} columns. Use {max(1, round(FRACTION * n_columns))} or fewer."
            )
        return dimensions

    def components(self, n_predictive: int) -> int:
        """`n_components` as a number for a supervised span, given how many directions can predict.

        Encoding widens columns, so the bound is the number of coordinates.
        """
        self._require_columns()
        n_coordinates = sum(widths(self.schema))
        wanted = self.n_components
        dimensions = auto_components(len(self.schema), n_predictive) if wanted == "auto" else self._number(wanted)
        if dimensions >= n_coordinates:
            raise PrivacyError(
                f"`n_components` must be smaller than the number of encoded coordinates, or representations hide "
                f"nothing. Got {dimensions} for {n_coordinates}."
            )
        return dimensions

    def _require_columns(self) -> None:
        if len(self.schema) < 2:
            raise PrivacyError(
                f"A party needs at least 2 columns, or a representation cannot hide them. Got {len(self.schema)}."
            )

    def _number(self, wanted: Any) -> int:
        self._require_columns()
        n_columns = len(self.schema)
        if isinstance(wanted, int | np.integer) and not isinstance(wanted, bool):
            dimensions = int(wanted)
        elif isinstance(wanted, float) and 0 < wanted < 1:
            dimensions = min(max(int(np.floor(wanted * n_columns + 0.5)), 1), n_columns - 1)
        else:
            raise InputError(
                f"`n_components` must be 'auto', a whole number or a fraction between 0 and 1. Got {wanted!r}."
            )
        if dimensions < 1:
            raise InputError(f"`n_components` must be at least 1. Got {dimensions}.")
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
            "n_components": self.n_components if isinstance(self.n_components, float | str) else int(self.n_components),
            "reduction": self.reduction if isinstance(self.reduction, str) else None,
            "span": self.span,
            "span_rounds": self.span_rounds,
            "epsilon": self.epsilon,
            "noise": float(self.noise),
            "task": self.task,
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


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(np.isfinite(value))


def require_one_holder(columns: Sequence[str], schema: Schema | None = None) -> None:
    """Refuse vertical parties' columns, all together, if several hold one, or nobody one that the schema has."""
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise SchemaError(f"Each column must belong to one party. Held by several: {twice}. Rename or drop them.")
    unheld = [] if schema is None else [name for name in schema.names if name not in columns]
    if unheld:
        raise SchemaError(f"Each column of the schema must belong to a party. Nobody brings {unheld}.")
