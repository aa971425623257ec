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
    "fingerprint_of",
    "is_background",
    "kind_of",
    "reference_rows",
    "shown_rows",
]

KINDS = ("anchor", "own", "mean", "medoid")
BACKGROUND = "background"
MOST_ROWS = 500  # of a vertical party's background: the more, the better others know how its representations spread


@dataclass(frozen=True)
class Reference:
    """Rows (m, M) that were chosen before, as codes: they are used as they are, and nobody is warned of them again."""

    codes: FloatArray


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


def _population(party: Party, n_rows: int) -> tuple[Moments, int]:
    """The moments that a party's background is drawn from, and the seed."""
    if isinstance(party, HorizontalParty):
        return party.moments, party.anchor_seed if party.anchor_seed is not None else 0
    if not isinstance(party, VerticalParty):
        raise InputError("A background is drawn by a horizontal or a vertical party.")
    if n_rows > MOST_ROWS:
        raise InputError(f"A vertical background must have at most {MOST_ROWS} rows. Got {n_rows}.")
    return party.own_moments, derived_seed(party.private_seed, "background")


def reference_rows(
    party: Party, kind: Any = "anchor", n_background: int = N_BACKGROUND, *, warn: bool = False
) -> FloatArray:
    """The rows (m, M) that stand for "feature absent", as codes: one, or those of a background.

    Parameters
    ----------
    party : Party
    kind : {"anchor", "own", "mean", "medoid", "background"}, row or rows
        The anchor's median, the same for all parties; or the median, mean or most central row of the party's own
        training rows, as plain KernelSHAP would have it; or a given row (a table of one row, or a mapping of column
        to value), or a table of several.
        "background" draws a population. Horizontally from the moments that all parties know, with their shared seed:
        the same rows at every party. Vertically from the party's own moments, with its private seed: nobody else could
        check the draw, and whoever knew the seed could take the draw out of what the rows show of the moments.
    n_background : int
        How many rows are drawn.
    warn : bool
        Whether to warn of a single row that is far from the party's own. One step of an explanation does.
    """
    if isinstance(kind, Reference):
        return kind.codes
    if is_background(kind):
        moments, seed = _population(party, n_background)
        return draw_background(party.anchor.encoder, moments, n_rows=n_background, seed=seed)
    if isinstance(kind, pd.DataFrame | np.ndarray) and kind.ndim == 2 and len(kind) > 1:
        return party.agreement.schema.codes(kind, missing=party.agreement.missing)
    codes = _single(party, kind)
    if warn:
        _warn_if_far(party, codes)
    return codes[None, :]


def _single(party: Party, kind: Any) -> FloatArray:
    if not isinstance(kind, str):
        return _given(party.agreement.schema, kind)
    if kind == "anchor":
        return party.anchor.reference()
    if kind not in KINDS:
        raise InputError(f"`reference` must be one of {[*KINDS, BACKGROUND]} or a row. Got {kind!r}.")
    own = party.own_rows
    return {"own": own.median, "mean": own.mean, "medoid": own.medoid}[kind]


def shown_rows(party: VerticalParty, kind: Any, rows: FloatArray) -> pd.DataFrame | None:
    """The reference as whoever asks may see it: synthetic rows tell of all of a party's rows and stay with it."""
    return None if is_background(kind) else party.agreement.schema.frame(rows)


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
