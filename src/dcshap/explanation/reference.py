"""The reference: the row that stands for "feature absent".

Explanations of the same prediction agree only if they start from the same reference. Taken from the anchor it is the
same for every party, and its fingerprint proves it. A background is several rows, over which values are averaged.
Horizontally all parties draw the same ones. Vertically each draws its own columns: row b of all parties together is one
background row, in which columns of different parties are independent, because nobody knows how they are related.
"""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dcshap._typing import FloatArray
from dcshap.collaboration.horizontal_party import HorizontalParty
from dcshap.collaboration.moments import Moments
from dcshap.collaboration.party import Party
from dcshap.collaboration.randomness import derived_seed
from dcshap.collaboration.vertical_party import VerticalParty
from dcshap.exceptions import InputError, ReferenceWarning
from dcshap.explanation.background import N_BACKGROUND, draw_background
from dcshap.schema import Schema

__all__ = [
    "BACKGROUND",
    "KINDS",
    "Reference",
    "background_of",
    "chosen_reference",
    "fingerprint_of",
    "is_background",
    "kind_of",
    "reference_of",
    "reference_rows",
    "shown_rows",
]

KINDS = ("anchor", "own", "mean", "medoid")
BACKGROUND = "background"
MOST_ROWS = 500  # of a vertical party's background: the more, the better others know how its representations spread


@dataclass(frozen=True)
class Reference:
    """A reference row.

    Attributes
    ----------
    schema : Schema
    codes : array of shape (M,)
    """

    schema: Schema
    codes: FloatArray

    @property
    def fingerprint(self) -> str:
        """A hash of the schema and the row: equal where two references are, whoever made them."""
        return fingerprint_of(self.schema, self.codes)

    @property
    def frame(self) -> pd.DataFrame:
        """The row as a table of one."""
        return self.schema.frame(self.codes[None, :])


def fingerprint_of(schema: Schema, codes: FloatArray) -> str:
    """A hash of the schema and of rows given as codes."""
    # Sums in another order may differ in the last digits, which no two parties should stumble over.
    rounded = [f"{code:.9g}" for code in codes.ravel() + 0.0]
    return hashlib.sha256("\x1f".join([schema.fingerprint, *rounded]).encode()).hexdigest()[:16]


def kind_of(reference: Any) -> str | None:
    """How a reference was chosen, by its name; None where it was given."""
    return reference if isinstance(reference, str) else None


def is_background(kind: Any) -> bool:
    """Whether synthetic rows are asked for."""
    return isinstance(kind, str) and kind == BACKGROUND


def background_of(party: Party, kind: Any, n_rows: int = N_BACKGROUND) -> FloatArray | None:
    """The rows (m, M) that a party is asked to compare with, as codes; None where it is a single reference.

    Parameters
    ----------
    party : Party
    kind : "background", a table of several rows, or anything that `reference_of` takes
        "background" draws a population. Horizontally from the moments that all parties know, with their shared seed:
        the same rows at every party. Vertically from the party's own moments, with its private seed: nobody else could
        check the draw, and whoever knew the seed could take the draw out of what the rows show of the moments.
    n_rows : int
        How many are drawn.
    """
    if is_background(kind):
        moments, seed = _population(party, n_rows)
        return draw_background(party.anchor.encoder, moments, n_rows=n_rows, seed=seed)
    several = isinstance(kind, pd.DataFrame | np.ndarray) and kind.ndim == 2 and len(kind) > 1
    return party.agreement.schema.codes(kind, missing=party.agreement.missing) if several else None


def _population(party: Party, n_rows: int) -> tuple[Moments, int]:
    """The moments that a party's background is drawn from, and the seed."""
    if isinstance(party, HorizontalParty):
        return party.moments, party.anchor_seed if party.anchor_seed is not None else 0
    if not isinstance(party, VerticalParty):
        raise InputError("A background is drawn by a horizontal or a vertical party.")
    if n_rows > MOST_ROWS:
        raise InputError(f"A vertical background must have at most {MOST_ROWS} rows. Got {n_rows}.")
    return party.own_moments, derived_seed(party.private_seed, "background")


def reference_rows(party: Party, kind: Any, n_background: int, *, warn: bool = False) -> FloatArray:
    """The rows (m, M) that stand for "feature absent", as codes: one, or those of a background."""
    several = background_of(party, kind, n_background)
    if several is not None:
        return several
    return (reference_of if warn else chosen_reference)(party, kind).codes[None, :]


def shown_rows(party: VerticalParty, kind: Any, rows: FloatArray) -> pd.DataFrame | None:
    """The reference as whoever asks may see it: synthetic rows tell of all of a party's rows and stay with it."""
    return None if is_background(kind) else party.agreement.schema.frame(rows)


def reference_of(party: Party, kind: Any = "anchor") -> Reference:
    """The reference that a party is asked to explain with; warns if it is far from the party's own rows.

    The other steps of an explanation, which use the same reference, take `chosen_reference`: one warning is enough.
    """
    reference = chosen_reference(party, kind)
    if not isinstance(kind, Reference):  # a reference that was chosen before was warned of then
        _warn_if_far(party, reference.codes)
    return reference


def chosen_reference(party: Party, kind: Any = "anchor") -> Reference:
    """The reference that a party is asked to use.

    Parameters
    ----------
    party : Party
    kind : {"anchor", "own", "mean", "medoid"} or row
        The anchor's median, the same for all parties; or the median, mean or most central row of the party's own
        training rows, as plain KernelSHAP would have it; or a given row (a table of one row, or a mapping of column
        to value).
    """
    schema = party.agreement.schema
    if isinstance(kind, Reference):
        codes = kind.codes
    elif not isinstance(kind, str):
        codes = _given(schema, kind)
    elif kind == "anchor":
        codes = party.anchor.reference()
    elif kind in KINDS:
        codes = {"own": party.own_rows.median, "mean": party.own_rows.mean, "medoid": party.own_rows.medoid}[kind]
    else:
        raise InputError(f"`reference` must be one of {[*KINDS, BACKGROUND]} or a row. Got {kind!r}.")
    return Reference(schema, codes)


def _given(schema: Schema, row: Any) -> FloatArray:
    if isinstance(row, pd.Series):
        row = row.to_dict()
    if isinstance(row, dict):
        row = pd.DataFrame({name: [value] for name, value in row.items()})
    table = np.atleast_2d(row) if isinstance(row, np.ndarray | list | tuple) else row
    codes = schema.codes(table)
    if len(codes) != 1:
        raise InputError(f"A given reference must be one row. Got {len(codes)}.")
    row_codes: FloatArray = codes[0]
    return row_codes


def _warn_if_far(party: Party, codes: FloatArray) -> None:
    """Warn if the reference is more than one usual range outside the party's 1–99% range."""
    own = party.own_rows
    width = np.maximum(own.high - own.low, 0.1 * party.anchor.encoder.spans())
    beyond = np.maximum(own.low - codes, codes - own.high) > width
    far = [name for name, outside in zip(party.agreement.schema.names, beyond, strict=True) if outside]
    if far:
        warnings.warn(
            f"The reference is far from what party {party.name!r} usually sees in {far}: attributions of these columns "
            f"compare with a case that hardly occurs. Give the columns a `typical` value in the schema.",
            ReferenceWarning,
            stacklevel=4,
        )
