"""Explaining vertical predictions: Algorithms 3 and 4, and party views.

The steps of the roles, as functions of a role and the messages it has received:

- Algorithm 4 and party views: each other party `disclose`s two vectors per record; the viewing party explains with
  them and its copy of the model (`explain_view`). Nothing else leaves anybody.
- The full view by Owen values is the union of the party views (`unite_views`).
- Algorithm 3: each party sends what its columns add to the analyst (`disclose_columns`), which evaluates all features'
  coalitions (`explain_all`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Unpack

import numpy as np
import pandas as pd

from dcshap._tables import as_frame
from dcshap._typing import BoolArray, FloatArray
from dcshap.collaboration.alignment import to_grid
from dcshap.collaboration.analyst import Analyst
from dcshap.collaboration.messages import SharedModel
from dcshap.collaboration.records import Pseudonyms, identifiers, pseudonyms
from dcshap.collaboration.vertical_party import VerticalParty
from dcshap.exceptions import InputError, NotFittedError, ProtocolError
from dcshap.explanation.engine import EngineOptions, column_offsets, explain_indicators, outputs_of
from dcshap.explanation.disclosures import CoalitionTable, RecordOffsets, RecordPart, RecordVectors
from dcshap.explanation.reference import reference_of
from dcshap.shapley import Explanation, additive_shapley_values

__all__ = ["DC_FEATURES", "disclose", "disclose_columns", "explain_all", "explain_view", "unite_views"]

DC_FEATURES = "DC Features"
MAX_TABLE = 16  # columns of a party whose reduction is not linear, in Algorithm 3: 2^16 rows a record


# --- what a party discloses -------------------------------------------------------------------------------------


def disclose(party: VerticalParty, X: Any, *, reference: Any = "anchor") -> RecordVectors:
    """The two vectors per record that another party's view needs of this one."""
    row = reference_of(party, reference)
    codes = party.agreement.schema.codes(X, missing=party.agreement.missing)
    return RecordVectors(party.name, _pseudonyms(party, X), party.reduce_codes(codes), party.reduce_codes(row.codes)[0])


def disclose_columns(party: VerticalParty, X: Any, *, reference: Any = "anchor") -> RecordOffsets | CoalitionTable:
    """What each of a party's columns adds to its representation, for the analyst to evaluate every coalition."""
    row = reference_of(party, reference)
    codes = party.agreement.schema.codes(X, missing=party.agreement.missing)
    names = party.agreement.schema.names
    if party.linear_reduction is not None:
        offsets = column_offsets(party, codes, row.codes, party.linear_reduction.weights)
        return RecordOffsets(party.name, _pseudonyms(party, X), names, party.reduce_codes(row.codes)[0], offsets)
    if len(names) > MAX_TABLE:
        raise InputError(
            f"Algorithm 3 needs a linear reduction at a party with more than {MAX_TABLE} columns. {party.name!r} has "
            f"{len(names)}. Use index='owen', which needs two vectors per party only."
        )
    filled = np.where(np.isnan(codes), party.anchor.reference(), codes)
    inside = (np.arange(1 << len(names))[:, None] >> np.arange(len(names))) & 1 == 1
    rows = np.stack([party.reduce_codes(np.where(inside, x, row.codes)) for x in filled])
    return CoalitionTable(party.name, _pseudonyms(party, X), names, rows)


def _pseudonyms(party: VerticalParty, X: Any) -> Pseudonyms:
    return pseudonyms(identifiers(X), key=party.key)


# --- Algorithm 4 and party views: at the viewing party ------------------------------------------------------------


def explain_view(
    party: VerticalParty,
    X: Any,
    others: Sequence[RecordVectors],
    *,
    index: str = "shapley",
    merged: bool = False,
    reference: Any = "anchor",
    **options: Unpack[EngineOptions],
) -> Explanation:
    """One party's features, every other party's folded into a "DC Features" bar.

    Parameters
    ----------
    party : VerticalParty
        With a copy of the model.
    X : table of shape (n, M_k)
        The party's own columns of the records.
    others : sequence of RecordVectors
        Two vectors per record from each other party.
    index : {"shapley", "owen"}
        `"shapley"`, Algorithm 4: the value of the game in which each other party is one player. `"owen"`, the party
        view: the parties are blocks, and every party's view agrees with the full one.
    merged : bool
        Algorithm 4 with one bar for all other parties together, instead of one each.
    """
    if merged and index == "owen":
        raise InputError("Party views keep one bar per party: merging parties would make another game of it.")
    shared = _shared_model(party)
    row = reference_of(party, reference)
    codes = party.agreement.schema.codes(X, missing=party.agreement.missing)
    own, vectors = party.agreement.schema.names, _in_order(party, X, others, shared)
    names = (*own, *_bars([each.party for each in vectors], merged=merged))
    blocks = {party.name: list(own)} | {name: [name] for name in names[len(own) :]}
    values: dict[str, Any] = {"index": "owen", "blocks": blocks} if index == "owen" else {"index": index}
    if party.linear_reduction is not None:
        base, offsets = _view_offsets(party, codes, row.codes, vectors, shared)
        if merged:
            offsets = np.concatenate(
                [offsets[:, : len(own)], offsets[:, len(own) :].sum(axis=1, keepdims=True)], axis=1
            )
        explained = additive_shapley_values(
            outputs_of(shared.model),
            base,
            offsets,
            resolution=shared.resolution,
            feature_names=names,
            **values,
            **options,
        )
    else:
        points = _view_points(party, codes, row.codes, vectors, shared)
        explained = explain_indicators(shared.model, points, n_samples=len(codes), names=names, **values, **options)
    return replace(
        explained,
        data=party.agreement.schema.frame(codes).set_axis(as_frame(X).index),
        reference=row.frame,
        reference_fingerprint=row.fingerprint,
        party=party.name,
        view=party.name,
        blocks=None,
    )


def _shared_model(party: VerticalParty) -> SharedModel:
    if party.shared_model_ is None:
        raise NotFittedError(
            f"Party {party.name!r} has no copy of the model to explain with. The analyst shares it once every party "
            f"agrees to what it contains (instance_models=True for k nearest neighbours and the like)."
        )
    return party.shared_model_


def _bars(others: Sequence[str], *, merged: bool) -> list[str]:
    return [DC_FEATURES] if merged or len(others) == 1 else [f"{DC_FEATURES} ({name})" for name in others]


def _in_order(
    party: VerticalParty, X: Any, others: Sequence[RecordVectors], shared: SharedModel
) -> list[RecordVectors]:
    """The other parties' vectors in the model's order of parties, their records in the order of X."""
    given = {each.party: each for each in others}
    wanted = [name for name in shared.widths if name != party.name]
    if set(given) != set(wanted):
        raise ProtocolError(f"A view needs two vectors from each of {wanted}. Got {sorted(given)}.")
    mine = [pseudonym.tobytes() for pseudonym in _pseudonyms(party, X)]
    return [_reordered(given[name], mine, shared.widths[name]) for name in wanted]


def _reordered(message: RecordVectors, records: Sequence[bytes], width: int) -> RecordVectors:
    at = {pseudonym.tobytes(): row for row, pseudonym in enumerate(message.pseudonyms)}
    unknown = sum(record not in at for record in records)
    if unknown or message.present.shape[1:] != (width,) or message.absent.shape != (width,):
        raise ProtocolError(
            f"Party {message.party!r} must represent all {len(records)} records in {width} dimensions. It lacks "
            f"{unknown}; it sent {message.present.shape} and {message.absent.shape}."
        )
    rows = [at[record] for record in records]
    return replace(message, pseudonyms=message.pseudonyms[rows], present=message.present[rows])


def _view_offsets(
    party: VerticalParty,
    codes: FloatArray,
    reference: FloatArray,
    vectors: Sequence[RecordVectors],
    shared: SharedModel,
) -> tuple[FloatArray, FloatArray]:
    """The base point (d,) and what own columns and other parties add (n, M_k + others, d)."""
    reduction = party.linear_reduction
    if reduction is None:
        raise ProtocolError("Offsets need a linear reduction.")
    slices, n_own = _slices(shared.widths), codes.shape[1]
    base = np.empty(sum(shared.widths.values()))
    offsets = np.zeros((len(codes), n_own + len(vectors), len(base)))
    base[slices[party.name]] = party.reduce_codes(reference)[0]
    offsets[:, :n_own, slices[party.name]] = column_offsets(party, codes, reference, reduction.weights)
    for position, each in enumerate(vectors):
        base[slices[each.party]] = each.absent
        offsets[:, n_own + position, slices[each.party]] = each.present - each.absent
    return base, offsets


def _view_points(
    party: VerticalParty,
    codes: FloatArray,
    reference: FloatArray,
    vectors: Sequence[RecordVectors],
    shared: SharedModel,
) -> Callable[[int, BoolArray], FloatArray]:
    """The model's input for a record and its coalitions, where the party's reduction is not linear."""
    slices, n_own = _slices(shared.widths), codes.shape[1]
    filled = np.where(np.isnan(codes), party.anchor.reference(), codes)

    def points(sample: int, inside: BoolArray) -> FloatArray:
        z = np.empty((len(inside), sum(shared.widths.values())))
        z[:, slices[party.name]] = party.reduce_codes(np.where(inside[:, :n_own], filled[sample], reference))
        for position, each in enumerate(vectors):
            bar = min(n_own + position, inside.shape[1] - 1)  # the last where parties are merged
            z[:, slices[each.party]] = np.where(inside[:, [bar]], each.present[sample], each.absent)
        return to_grid(z, shared.resolution)

    return points


def unite_views(views: Mapping[str, Explanation]) -> Explanation:
    """The full view by Owen values: the union of the party views, each of which gives its own features' values."""
    if len(views) < 2 or any(view.index != "owen" or view.view != name for name, view in views.items()):
        raise InputError("A full view needs the Owen view of every party, by the party's name.")
    n_own = {name: len(view.feature_names) - len(views) + 1 for name, view in views.items()}
    names = {name: view.feature_names[: n_own[name]] for name, view in views.items()}
    return replace(
        next(iter(views.values())),
        values=np.concatenate([view.values[:, : n_own[name]] for name, view in views.items()], axis=1),
        standard_errors=np.concatenate(
            [view.standard_errors[:, : n_own[name]] for name, view in views.items()], axis=1
        ),
        feature_names=tuple(feature for each in names.values() for feature in each),
        n_evals=np.sum([view.n_evals for view in views.values()], axis=0),
        blocks=names,
        **_united(views.values()),
    )


# --- Algorithm 3: at the analyst ------------------------------------------------------------------------------


def explain_all(
    analyst: Analyst, parts: Sequence[RecordOffsets | CoalitionTable], **options: Unpack[EngineOptions]
) -> Explanation:
    """All parties' features together, by the Shapley value of the game of all of them."""
    given = {part.party: part for part in parts}
    if set(given) != set(analyst.widths_):
        raise ProtocolError(f"Algorithm 3 needs every party of {list(analyst.widths_)}. Got {sorted(given)}.")
    ordered = [given[name] for name in analyst.widths_]
    records = ordered[0].pseudonyms
    if any(not np.array_equal(part.pseudonyms, records) for part in ordered):
        raise ProtocolError("All parties must represent the same records in the same order.")
    names = tuple(name for part in ordered for name in part.names)
    if all(isinstance(part, RecordOffsets) for part in ordered):
        base, offsets = _joint_offsets([part for part in ordered if isinstance(part, RecordOffsets)])
        return additive_shapley_values(
            outputs_of(analyst.model_), base, offsets, resolution=analyst.resolution_, feature_names=names, **options
        )

    def points(sample: int, inside: BoolArray) -> FloatArray:
        columns, start = [], 0
        for part in ordered:
            stop = start + len(part.names)
            columns.append(_coalition_rows(part, sample, inside[:, start:stop]))
            start = stop
        return to_grid(np.concatenate(columns, axis=1), analyst.resolution_)

    return explain_indicators(analyst.model_, points, n_samples=len(records), names=names, **options)


def _joint_offsets(parts: Sequence[RecordOffsets]) -> tuple[FloatArray, FloatArray]:
    widths = {part.party: len(part.absent) for part in parts}
    slices = _slices(widths)
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


def record_part(party: VerticalParty, X: Any, *, reference: Any = "anchor") -> RecordPart:
    """A party's columns of records and of the reference, as the requester who holds them sees them."""
    row = reference_of(party, reference)
    codes = party.agreement.schema.codes(X, missing=party.agreement.missing)
    data = party.agreement.schema.frame(codes).set_axis(as_frame(X).index)
    return RecordPart(party.name, data, row.frame, row.fingerprint)


def with_parts(explained: Explanation, parts: Sequence[RecordPart]) -> Explanation:
    """An explanation together with the record and the reference, its features in the order of the parts."""
    order = [explained.feature_names.index(name) for part in parts for name in part.data.columns]
    return replace(
        explained,
        values=explained.values[:, order],
        standard_errors=explained.standard_errors[:, order],
        feature_names=tuple(explained.feature_names[at] for at in order),
        data=pd.concat([part.data for part in parts], axis=1),
        reference=pd.concat([part.reference for part in parts], axis=1),
        reference_fingerprint="-".join(part.fingerprint for part in parts),
    )


# --- both -----------------------------------------------------------------------------------------------------


def _slices(widths: Mapping[str, int]) -> dict[str, slice]:
    ends = np.cumsum([0, *widths.values()])
    return {name: slice(int(a), int(b)) for name, (a, b) in zip(widths, pairwise(ends), strict=True)}


def _united(views: Iterable[Explanation]) -> dict[str, Any]:
    views = list(views)
    return {
        "converged": np.all([view.converged for view in views], axis=0),
        "data": pd.concat([view.data for view in views], axis=1),
        "reference": pd.concat([view.reference for view in views], axis=1),
        "reference_fingerprint": "-".join(str(view.reference_fingerprint) for view in views),
        "party": None,
        "view": None,
    }
