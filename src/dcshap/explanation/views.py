"""Algorithm 4 and party views: a vertical party explains with its own columns and two vectors of each other party.

Each other party `disclose`s two vectors per record; the viewing party explains with them and its copy of the model
(`explain_view`). Nothing else leaves anybody. The full view by Owen values is the union of the party views
(`unite_views`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from dcshap._typing import BoolArray, FloatArray
from dcshap.collaboration.alignment import to_grid
from dcshap.collaboration.messages import SharedModel
from dcshap.collaboration.records import Records
from dcshap.collaboration.vertical_party import VerticalParty
from dcshap.exceptions import InputError, NotFittedError, ProtocolError
from dcshap.explanation.background import N_BACKGROUND
from dcshap.explanation.disclosures import RecordVectors
from dcshap.explanation.engine import (
    EngineOptions,
    averaged,
    column_offsets,
    columns_in_common_space,
    each_reference,
    outputs_of,
)
from dcshap.explanation.reference import fingerprint_of, kind_of, reference_rows, shown_rows
from dcshap.explanation.statement import UNNAMED, PartyExplanation, joint_reference, require_one_run, side_by_side
from dcshap.shapley import Explanation, additive_shapley_values, coalition_shapley_values
from dcshap.shapley.game.coalition_points import PointsOf
from dcshap.shapley.game.players import Grouping, Groups, grouping

__all__ = ["DC_FEATURES", "disclose", "explain_view", "unite_views"]

DC_FEATURES = "DC Features"


def disclose(
    party: VerticalParty, records: Records, *, reference: Any = "anchor", n_background: int = N_BACKGROUND
) -> RecordVectors:
    """The vectors that another party's view needs of this one: of every record, and of the reference's rows."""
    # Algorithm 4, inputs: the guest's features x̂_g and reference r̂_g, both as representations
    return RecordVectors(
        party.name,
        party.pseudonyms_of(records),
        party.noisy_codes(records.codes),
        party.noisy_codes(reference_rows(party, reference, n_background)),
    )


def explain_view(
    party: VerticalParty,
    records: Records,
    others: Sequence[RecordVectors],
    *,
    index: str = "shapley",
    merged: bool = False,
    reference: Any = "anchor",
    n_background: int = N_BACKGROUND,
    groups: Groups | None = None,
    **options: Unpack[EngineOptions],
) -> PartyExplanation:
    """One party's features, every other party's folded into a "DC Features" bar.

    Parameters
    ----------
    party : VerticalParty
        With a copy of the model.
    records : Records
        The party's own columns of the records.
    others : sequence of RecordVectors
        From each other party a vector per record, and one per row of its reference.
    index : {"shapley", "owen"}
        `"shapley"`, Algorithm 4: the value of the game in which each other party is one player. `"owen"`, the party
        view: the parties are blocks, and every party's view agrees with the full one.
    merged : bool
        Algorithm 4 with one bar for all other parties together, instead of one each.
    reference, n_background
        As in `reference_rows`, the same that the others have disclosed.
    groups : list of lists of columns, or dict of name to columns, optional
        The party's own columns that are one player together.
    """
    shared = _shared_model(party)
    rows = reference_rows(party, reference, n_background, warn=True)
    vectors = _in_order(party, records, others, shared, n_rows=len(rows))
    bars = _bars([each.party for each in vectors], merged=merged)
    players = grouping(groups, party.agreement.schema.names, what="groups", of="column")
    game = _game(party, players.names, bars, index, merged=merged)

    explained = []
    for at, how in each_reference(len(rows), options):
        single = [replace(each, absent=each.absent[at]) for each in vectors]
        playing: dict[str, Any] = {"players": players, "game": game | {**how}, "merged": merged}
        explained.append(_explain_against(party, records.codes, rows[at], single, shared, **playing))
    return PartyExplanation.of(
        averaged(explained),
        data=party.agreement.schema.frame(records.codes).set_axis(records.index),
        reference=shown_rows(party, reference, rows),
        reference_fingerprint=fingerprint_of(party.agreement.schema, rows),
        reference_choice=kind_of(reference),
        party=party.name,
        run=party.run,
        view=party.name,
        blocks=None,
        bars=bars,
    ).of_target(party.target)


def _game(
    party: VerticalParty, own: Sequence[str], bars: Mapping[str, Any], index: str, *, merged: bool
) -> dict[str, Any]:
    """The players, and the blocks of an Owen value."""
    # Algorithm 4, line 1: M = h + 1, or one more for every further guest
    game: dict[str, Any] = {"feature_names": (*own, *bars), "index": index}
    if index == "owen":
        if merged:
            raise InputError("Party views keep one bar per party: merging parties would make another game of it.")
        game["blocks"] = {party.name: list(own)} | {bar: [bar] for bar in bars}
    return game


def _explain_against(
    party: VerticalParty,
    codes: FloatArray,
    reference: FloatArray,
    vectors: Sequence[RecordVectors],
    shared: SharedModel,
    *,
    players: Grouping,
    game: Mapping[str, Any],
    merged: bool,
) -> Explanation:
    """Explain with one row of the reference (M_k,), and the other parties' vector (d,) of theirs."""
    outputs, n_own = outputs_of(shared.model), len(players)
    # Algorithm 4, lines 15 and 16: the model's answers to all coalitions' points, and Algorithm 1
    if party.linear_reduction is None:
        points_of = _view_points(party, codes, reference, vectors, shared, players=players)
        return coalition_shapley_values(outputs, points_of, n_samples=len(codes), **game)
    base, offsets = _view_offsets(party, codes, reference, vectors, shared, players=players)
    if merged:
        offsets = np.concatenate([offsets[:, :n_own], offsets[:, n_own:].sum(axis=1, keepdims=True)], axis=1)
    return additive_shapley_values(outputs, base, offsets, resolution=shared.resolution, **game)


def _shared_model(party: VerticalParty) -> SharedModel:
    if party.shared_model_ is None:
        raise NotFittedError(
            f"Party {party.name!r} has no copy of the model to explain with. The analyst shares it once every party "
            f"agrees to what it contains (instance_models=True for k nearest neighbours and the like)."
        )
    return party.shared_model_


def _bars(others: Sequence[str], *, merged: bool) -> dict[str, tuple[str, ...]]:
    """The names of the other parties' bars, and whom each stands for."""
    if merged or len(others) == 1:
        return {DC_FEATURES: tuple(others)}
    return {f"{DC_FEATURES} ({name})": (name,) for name in others}


def _in_order(
    party: VerticalParty, records: Records, others: Sequence[RecordVectors], shared: SharedModel, *, n_rows: int
) -> list[RecordVectors]:
    """The other parties' vectors in the model's order of parties, their records in the order of this party's."""
    given = {each.party: each for each in others}
    wanted = [name for name in shared.widths if name != party.name]
    if set(given) != set(wanted):
        raise ProtocolError(f"A view needs two vectors from each of {wanted}. Got {sorted(given)}.")
    mine = [pseudonym.tobytes() for pseudonym in party.pseudonyms_of(records)]
    return [_reordered(given[name], mine, (n_rows, shared.widths[name])) for name in wanted]


def _reordered(message: RecordVectors, records: Sequence[bytes], shape: tuple[int, int]) -> RecordVectors:
    at = {pseudonym.tobytes(): row for row, pseudonym in enumerate(message.pseudonyms)}
    unknown = sum(record not in at for record in records)
    if unknown or message.present.shape[1:] != shape[1:] or message.absent.shape != shape:
        raise ProtocolError(
            f"Party {message.party!r} must represent all {len(records)} records, and {shape[0]} rows of the reference, "
            f"in {shape[1]} dimensions. It lacks {unknown}; it sent {message.present.shape} and {message.absent.shape}."
        )
    rows = [at[record] for record in records]
    return replace(message, pseudonyms=message.pseudonyms[rows], present=message.present[rows])


def _view_offsets(
    party: VerticalParty,
    codes: FloatArray,
    reference: FloatArray,
    vectors: Sequence[RecordVectors],
    shared: SharedModel,
    *,
    players: Grouping,
) -> tuple[FloatArray, FloatArray]:
    """The base point (d,) and what own players and other parties add (n, players + others, d)."""
    reduction = party.linear_reduction
    if reduction is None:
        raise ProtocolError("Offsets need a linear reduction.")
    slices, n_own = columns_in_common_space(shared.widths), len(players)
    base = np.empty(sum(shared.widths.values()))
    offsets = np.zeros((len(codes), n_own + len(vectors), len(base)))
    # Algorithm 4, lines 6, 7 and 14: F_h is linear, so F_h(x'_h) is F_h(r_h) plus what the columns in s add
    base[slices[party.name]] = party.noisy_codes(reference[None, :])[0]
    added = column_offsets(party, codes, reference, reduction.weights) + party.noise_shares(codes, reference)
    offsets[:, :n_own, slices[party.name]] = players.summed(added)
    for position, each in enumerate(vectors):  # Algorithm 4, lines 8 to 12: x'_g is r̂_g, or x̂_g
        base[slices[each.party]] = each.absent
        offsets[:, n_own + position, slices[each.party]] = each.present - each.absent
    return base, offsets


def _view_points(
    party: VerticalParty,
    codes: FloatArray,
    reference: FloatArray,
    vectors: Sequence[RecordVectors],
    shared: SharedModel,
    *,
    players: Grouping,
) -> PointsOf:
    """The model's input for a record and its coalitions, where the party's reduction is not linear."""
    slices, n_own, player_of = columns_in_common_space(shared.widths), len(players), players.of_member
    filled = np.where(np.isnan(codes), party.anchor.reference(), codes)
    noise, absent = party.noise_shares(codes, reference), party.noisy_codes(reference[None, :])
    absent -= party.reduce_codes(reference)  # the reference's own noise

    def points_of(sample: int, inside: BoolArray) -> FloatArray:
        z = np.empty((len(inside), sum(shared.widths.values())))
        columns = inside[:, player_of]
        own = np.where(columns, filled[sample], reference)  # Algorithm 4, lines 6 and 7: x'_h
        # Algorithm 4, line 14: F_h(X'_h), with the noise that the columns in s share
        shares = columns.astype(np.float64) @ noise[sample]
        z[:, slices[party.name]] = party.reduce_codes(own) + absent + shares
        for position, each in enumerate(vectors):
            bar = min(n_own + position, inside.shape[1] - 1)  # the last where parties are merged
            # Algorithm 4, lines 8 to 12: x'_g
            z[:, slices[each.party]] = np.where(inside[:, [bar]], each.present[sample], each.absent)
        return to_grid(z, shared.resolution)

    return points_of


def unite_views(views: Mapping[str, PartyExplanation]) -> PartyExplanation:
    """The full view by Owen values: the union of the party views, each of which gives its own features' values."""
    if len(views) < 2 or any(view.index != "owen" or view.view != name for name, view in views.items()):
        raise InputError("A full view needs the Owen view of every party, by the party's name.")
    require_one_run(views)
    names = {name: view.own_features for name, view in views.items()}
    own = {name: [view.feature_names.index(each) for each in names[name]] for name, view in views.items()}
    each_view = list(views.values())
    return replace(
        each_view[0],
        values=np.concatenate([view.values[:, own[name]] for name, view in views.items()], axis=1),
        standard_errors=np.concatenate([view.standard_errors[:, own[name]] for name, view in views.items()], axis=1),
        feature_names=tuple(feature for each in names.values() for feature in each),
        n_evals=np.sum([view.n_evals for view in each_view], axis=0),
        converged=np.all([view.converged for view in each_view], axis=0),
        data=side_by_side([view.data for view in each_view]),
        reference=joint_reference([view.reference for view in each_view]),
        output_names=_named_outputs(each_view),
        reference_fingerprint="-".join(str(view.reference_fingerprint) for view in each_view),
        blocks=names,
        bars={},
        party=None,
        view=None,
    )


def _named_outputs(views: Sequence[PartyExplanation]) -> tuple[str, ...]:
    """The outputs' names: those of the party that has the labels, which alone knows what the target is called."""
    named = [view.output_names for view in views if view.output_names != (UNNAMED,)]
    return (named or [views[0].output_names])[0]
