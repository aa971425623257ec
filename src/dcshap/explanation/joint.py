"""Algorithm 3: the analyst explains all parties' features together, for a third party that holds the record.

Each party sends what its columns add to the analyst (`disclose_columns`), which evaluates all features' coalitions
(`explain_all`). The requester puts the record and the reference beside the values (`record_part`, `with_parts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from dcshap._typing import BoolArray, FloatArray
from dcshap.collaboration.alignment import to_grid
from dcshap.collaboration.analyst import Analyst
from dcshap.collaboration.records import Records
from dcshap.collaboration.vertical_party import VerticalParty
from dcshap.exceptions import InputError, ProtocolError
from dcshap.explanation.disclosures import CoalitionTable, RecordOffsets, RecordPart
from dcshap.explanation.engine import (
    EngineOptions,
    column_offsets,
    columns_in_common_space,
    outputs_of,
)
from dcshap.explanation.reference import chosen_reference, reference_of
from dcshap.explanation.statement import PartyExplanation, side_by_side
from dcshap.shapley import additive_shapley_values, coalition_shapley_values

__all__ = ["disclose_columns", "explain_all", "record_part", "with_parts"]

MAX_TABLE = 16  # columns of a party whose reduction is not linear: 2^16 rows a record


def disclose_columns(
    party: VerticalParty, records: Records, *, reference: Any = "anchor"
) -> RecordOffsets | CoalitionTable:
    """What each of a party's columns adds to its representation, for the analyst to evaluate every coalition."""
    row = reference_of(party, reference)
    names = party.agreement.schema.names
    if party.linear_reduction is not None:
        offsets = column_offsets(party, records.codes, row.codes, party.linear_reduction.weights)
        offsets += party.noise_shares(records.codes, row.codes)
        # Algorithm 3, lines 1 to 4: F_i is linear, so F_i of every coalition is a sum of these
        return RecordOffsets(party.name, party.pseudonyms_of(records), names, party.reduce_codes(row.codes)[0], offsets)
    if len(names) > MAX_TABLE:
        raise InputError(
            f"Algorithm 3 needs a linear reduction at a party with more than {MAX_TABLE} columns. {party.name!r} has "
            f"{len(names)}. Use index='owen', which needs two vectors per party only."
        )
    filled = np.where(np.isnan(records.codes), party.anchor.reference(), records.codes)
    # Algorithm 3, line 1: S
    inside = (np.arange(1 << len(names))[:, None] >> np.arange(len(names))) & 1 == 1
    # Algorithm 3, lines 2 to 4: X'_i, the party's columns of all coalitions, and F_i(X'_i)
    noise = party.noise_shares(records.codes, row.codes)
    rows = [
        party.reduce_codes(np.where(inside, x, row.codes)) + inside.astype(np.float64) @ shares
        for x, shares in zip(filled, noise, strict=True)
    ]
    table = np.stack(rows) if rows else np.empty((0, len(inside), party.reduce_codes(row.codes).shape[1]))
    return CoalitionTable(party.name, party.pseudonyms_of(records), names, table)


def explain_all(
    analyst: Analyst, parts: Sequence[RecordOffsets | CoalitionTable], **options: Unpack[EngineOptions]
) -> PartyExplanation:
    """All parties' features together, by the Shapley value of the game of all of them."""
    given = {part.party: part for part in parts}
    if set(given) != set(analyst.widths_):
        raise ProtocolError(f"Algorithm 3 needs every party of {list(analyst.widths_)}. Got {sorted(given)}.")
    ordered = [given[name] for name in analyst.widths_]
    asked = ordered[0].pseudonyms
    if any(not np.array_equal(part.pseudonyms, asked) for part in ordered):
        raise ProtocolError("All parties must represent the same records in the same order.")
    names = tuple(name for part in ordered for name in part.names)
    # Algorithm 3, lines 6 and 7: the model's answers to X̂, and Algorithm 1
    if all(isinstance(part, RecordOffsets) for part in ordered):
        base, offsets = _joint_offsets([part for part in ordered if isinstance(part, RecordOffsets)])
        explained = additive_shapley_values(
            outputs_of(analyst.model_), base, offsets, resolution=analyst.resolution_, feature_names=names, **options
        )
        return PartyExplanation.of(explained, run=analyst.run)

    def points_of(sample: int, inside: BoolArray) -> FloatArray:
        columns, start = [], 0
        for part in ordered:
            stop = start + len(part.names)
            columns.append(_coalition_rows(part, sample, inside[:, start:stop]))
            start = stop
        return to_grid(np.concatenate(columns, axis=1), analyst.resolution_)  # Algorithm 3, line 5: X̂

    return PartyExplanation.of(
        coalition_shapley_values(
            outputs_of(analyst.model_), points_of, n_samples=len(asked), feature_names=names, **options
        ),
        run=analyst.run,
    )


def _joint_offsets(parts: Sequence[RecordOffsets]) -> tuple[FloatArray, FloatArray]:
    widths = {part.party: len(part.absent) for part in parts}
    slices = columns_in_common_space(widths)
    n, n_columns = len(parts[0].offsets), sum(len(part.names) for part in parts)
    offsets, start = np.zeros((n, n_columns, sum(widths.values()))), 0
    for part in parts:
        stop = start + len(part.names)
        offsets[:, start:stop, slices[part.party]] = part.offsets
        start = stop
    return np.concatenate([part.absent for part in parts]), offsets


def _coalition_rows(part: RecordOffsets | CoalitionTable, sample: int, inside: BoolArray) -> FloatArray:
    if isinstance(part, RecordOffsets):
        rows: FloatArray = part.absent + inside.astype(np.float64) @ part.offsets[sample]
    else:
        rows = part.rows[sample][inside @ (1 << np.arange(len(part.names)))]
    return rows


def record_part(party: VerticalParty, records: Records, *, reference: Any = "anchor") -> RecordPart:
    """A party's columns of records and of the reference, as the requester who holds them sees them."""
    row = chosen_reference(party, reference)
    data = party.agreement.schema.frame(records.codes).set_axis(records.index)
    return RecordPart(party.name, data, row.frame, row.fingerprint)


def with_parts(explained: PartyExplanation, parts: Sequence[RecordPart]) -> PartyExplanation:
    """An explanation together with the record and the reference, its features in the order of the parts."""
    order = [explained.feature_names.index(name) for part in parts for name in part.data.columns]
    return replace(
        explained,
        values=explained.values[:, order],
        standard_errors=explained.standard_errors[:, order],
        feature_names=tuple(explained.feature_names[at] for at in order),
        data=side_by_side([part.data for part in parts]),
        reference=pd.concat([part.reference for part in parts], axis=1),
        reference_fingerprint="-".join(part.fingerprint for part in parts),
    )
