"""The reference: the row that stands for "feature absent".

Explanations of the same prediction agree only if they start from the same reference. Taken from the anchor it is the
same for every party, and its fingerprint proves it.
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
from dcshap.collaboration.party import Party
from dcshap.exceptions import InputError, ReferenceWarning
from dcshap.explanation.background import draw_background
from dcshap.schema import Schema

__all__ = ["BACKGROUND", "KINDS", "Reference", "background_of", "chosen_reference", "fingerprint_of", "reference_of"]

KINDS = ("anchor", "own", "mean", "medoid")
BACKGROUND = "background"


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


def background_of(party: HorizontalParty, kind: Any, n_rows: int) -> FloatArray | None:
    """The rows (m, M) that a party is asked to compare with, as codes; None where it is a single reference.

    Parameters
    ----------
    party : HorizontalParty
    kind : "background", a table of several rows, or anything that `reference_of` takes
        "background" draws a population from the moments that all parties know, with their shared seed: the same rows
        at every party.
    n_rows : int
        How many are drawn.
    """
    if isinstance(kind, str) and kind == BACKGROUND:
        seed = party.anchor_seed if party.anchor_seed is not None else 0
        return draw_background(party.anchor.encoder, party.moments, n_rows=n_rows, seed=seed)
    several = isinstance(kind, pd.DataFrame | np.ndarray) and kind.ndim == 2 and len(kind) > 1
    return party.agreement.schema.codes(kind, missing=party.agreement.missing) if several else None


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
