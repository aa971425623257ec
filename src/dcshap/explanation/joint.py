"""Algorithm 3: the analyst explains all parties' features together, for a third party that holds the record.

Each party sends what its columns add to the analyst (`disclose_columns`), which evaluates all features' coalitions
(`explain_all`). The requester puts the record and the reference beside the values (`record_part`, `with_parts`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from dcshap._typing import BoolArray, FloatArray
from dcshap.collaboration.alignment import to_grid
from dcshap.collaboration.analyst import Analyst
from dcshap.collaboration.records import Records
from dcshap.collaboration.vertical_party import VerticalParty
from dcshap.exceptions import InputError, ProtocolError
from dcshap.explanation.background import N_BACKGROUND
from dcshap.explanation.disclosures import CoalitionTable, RecordOffsets, RecordPart
from dcshap.explanation.engine import (
    EngineOptions,
    averaged,
    column_offsets,
    columns_in_common_space,
    each_reference,
    outputs_of,
)
from dcshap.explanation.reference import fingerprint_of, reference_rows, shown_rows
from dcshap.explanation.statement import PartyExplanation, joint_reference, side_by_side
from dcshap.shapley import Explanation, additive_shapley_values, coalition_shapley_values
from dcshap.shapley.game.players import Grouping, Groups, grouping

__all__ = ["disclose_columns", "explain_all", "record_part", "with_parts"]

MAX_TABLE = 16  # columns of a party whose reduction is not linear: 2^16 rows a record


def disclose_columns(
    party: VerticalParty,
    records: Records,
    *,
    reference: Any = "anchor",
    n_background: int = N_BACKGROUND,
    groups: Groups | None = None,
) -> RecordOffsets | CoalitionTable:
    """What each of a party's columns adds to its representation, for the analyst to evaluate every coalition.

    Of columns that are one player together (`groups`) the analyst sees what they add together only.
    """
    rows = reference_rows(party, reference, n_background, warn=True)
    players = grouping(groups, party.agreement.schema.names, what="groups", of="column")
    names, pseudonyms = players.names, party.pseudonyms_of(records)
    if party.linear_reduction is not None:
        weights = party.linear_reduction.weights
        # Algorithm 3, lines 1 to 4: F_i is linear, so F_i of every coalition is a sum of these
        offsets = [
            players.summed(column_offsets(party, records.codes, row, weights) + party.noise_shares(records.codes, row))
            for row in rows
        ]
        return RecordOffsets(party.name, pseudonyms, names, party.noisy_codes(rows), np.stack(offsets))
    if len(names) > MAX_TABLE:
        raise InputError(
            f"Algorithm 3 needs a linear reduction at a party with more than {MAX_TABLE} columns. {party.name!r} has "
            f"{len(names)}. Use index='owen', which needs two vectors per party only."
        )
    tables = [_table(party, records.codes, row, players) for row in rows]
    return CoalitionTable(party.name, pseudonyms, names, np.stack(tables))


def _table(party: VerticalParty, codes: FloatArray, reference: FloatArray, players: Grouping) -> FloatArray:
    """The representations of all coalitions (n, 2^players, d), against one row of the reference (M_k,)."""
    filled = np.where(np.isnan(codes), party.anchor.reference(), codes)
    # Algorithm 3, line 1: S
    inside = (np.arange(1 << len(players))[:, None] >> np.arange(len(players))) & 1 == 1
    inside = inside[:, players.of_member]
    noise, absent = party.noise_shares(codes, reference), party.noisy_codes(reference[None, :])
    absent -= party.reduce_codes(reference)  # the reference's own noise
    # Algorithm 3, lines 2 to 4: X'_i, the party's columns of all coalitions, and F_i(X'_i)
    rows = [
        party.reduce_codes(np.where(inside, x, reference)) + absent + inside.astype(np.float64) @ shares
        for x, shares in zip(filled, noise, strict=True)
    ]
    return np.stack(rows) if rows else np.empty((0, len(inside), absent.shape[1]))


def explain_all(
    analyst: Analyst, parts: Sequence[RecordOffsets | CoalitionTable], **options: Unpack[EngineOptions]
) -> PartyExplanation:
    """All parties' features together, by the Shapley value of the game of all of them.

    A player that several parties name is one: a group of columns of several parties.
    """
    given = {part.party: part for part in parts}
    if set(given) != set(analyst.widths_):
        raise ProtocolError(f"Algorithm 3 needs every party of {list(analyst.widths_)}. Got {sorted(given)}.")
    ordered = [given[name] for name in analyst.widths_]
    if any(not np.array_equal(part.pseudonyms, ordered[0].pseudonyms) for part in ordered):
        raise ProtocolError("All parties must represent the same records in the same order.")
    n_rows = {part.party: _n_rows(part) for part in ordered}
    if len(set(n_rows.values())) > 1:
        raise ProtocolError(f"All parties must bring as many rows of the reference. Got {n_rows}.")

    each = [
        _explain_against(analyst, [_single(part, at) for part in ordered], how)
        for at, how in each_reference(_n_rows(ordered[0]), options)
    ]
    return PartyExplanation.of(averaged(each), run=analyst.run)


def _n_rows(part: RecordOffsets | CoalitionTable) -> int:
    return len(part.absent if isinstance(part, RecordOffsets) else part.rows)


def _single(part: RecordOffsets | CoalitionTable, at: int) -> RecordOffsets | CoalitionTable:
    """What a party sent against one row of the reference, without the axis of the rows."""
    if isinstance(part, RecordOffsets):
        return replace(part, absent=part.absent[at], offsets=part.offsets[at])
    return replace(part, rows=part.rows[at])


def _explain_against(
    analyst: Analyst, parts: Sequence[RecordOffsets | CoalitionTable], options: EngineOptions
) -> Explanation:
    names = tuple(dict.fromkeys(name for part in parts for name in part.names))
    players = [[names.index(name) for name in part.names] for part in parts]
    # Algorithm 3, lines 6 and 7: the model's answers to X̂, and Algorithm 1
    if all(isinstance(part, RecordOffsets) for part in parts):
        base, offsets = _joint_offsets([part for part in parts if isinstance(part, RecordOffsets)], players)
        return additive_shapley_values(
            outputs_of(analyst.model_), base, offsets, resolution=analyst.resolution_, feature_names=names, **options
        )

    def points_of(sample: int, inside: BoolArray) -> FloatArray:
        columns = [_coalition_rows(part, sample, inside[:, at]) for part, at in zip(parts, players, strict=True)]
        return to_grid(np.concatenate(columns, axis=1), analyst.resolution_)  # Algorithm 3, line 5: X̂

    n = len(parts[0].pseudonyms)
    return coalition_shapley_values(outputs_of(analyst.model_), points_of, n_samples=n, feature_names=names, **options)


def _joint_offsets(parts: Sequence[RecordOffsets], players: Sequence[Sequence[int]]) -> tuple[FloatArray, FloatArray]:
    """The base point (d,) and what all players add (n, M, d), given the players of each part."""
    widths = {part.party: len(part.absent) for part in parts}
    slices = columns_in_common_space(widths)
    n_players = len({player for each in players for player in each})
    offsets = np.zeros((len(parts[0].offsets), n_players, sum(widths.values())))
    for part, at in zip(parts, players, strict=True):
        offsets[:, at, slices[part.party]] = part.offsets
    return np.concatenate([part.absent for part in parts]), offsets


def _coalition_rows(part: RecordOffsets | CoalitionTable, sample: int, inside: BoolArray) -> FloatArray:
    if isinstance(part, RecordOffsets):
        rows: FloatArray = part.absent + inside.astype(np.float64) @ part.offsets[sample]
    else:
        rows = part.rows[sample][inside @ (1 << np.arange(len(part.names)))]
    return rows


def record_part(
    party: VerticalParty, records: Records, *, reference: Any = "anchor", n_background: int = N_BACKGROUND
) -> RecordPart:
    """A party's columns of records and of the reference, as the requester who holds them sees them."""
    schema, rows = party.agreement.schema, reference_rows(party, reference, n_background)
    shown = shown_rows(party, reference, rows)
    data = schema.frame(records.codes).set_axis(records.index)
    return RecordPart(party.name, data, data.head(0) if shown is None else shown, fingerprint_of(schema, rows))


def with_parts(
    explained: PartyExplanation, parts: Sequence[RecordPart], groups: Mapping[str, Sequence[str]]
) -> PartyExplanation:
    """An explanation together with the record and the reference; groups first, then columns as in the parts."""
    grouped = {column for members in groups.values() for column in members}
    names = [*groups, *(name for part in parts for name in part.data.columns if name not in grouped)]
    order = [explained.feature_names.index(name) for name in names]
    return replace(
        explained,
        values=explained.values[:, order],
        standard_errors=explained.standard_errors[:, order],
        feature_names=tuple(explained.feature_names[at] for at in order),
        data=side_by_side([part.data for part in parts]),
        reference=joint_reference([part.reference for part in parts]),
        reference_fingerprint="-".join(part.fingerprint for part in parts),
    )
