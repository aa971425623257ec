"""Algorithm 2: a horizontal party explains its predictions, with a reference that all parties share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from dcshap._tables import as_frame
from dcshap._typing import BoolArray, FloatArray
from dcshap.collaboration.horizontal_party import HorizontalParty
from dcshap.explanation.background import N_BACKGROUND
from dcshap.explanation.engine import EngineOptions, averaged, column_offsets, each_reference, outputs_of
from dcshap.explanation.reference import fingerprint_of, kind_of, reference_rows
from dcshap.explanation.statement import PartyExplanation
from dcshap.schema import Missing, Unknown
from dcshap.shapley import Explanation, additive_shapley_values, coalition_shapley_values
from dcshap.shapley.game.players import Grouping, Groups, grouping

__all__ = ["explain_codes", "explain_rows"]


def explain_rows(
    party: HorizontalParty,
    X: Any,
    *,
    reference: Any = "anchor",
    n_background: int = N_BACKGROUND,
    groups: Groups | None = None,
    missing: Missing | None = None,
    unknown: Unknown = "error",
    **options: Unpack[EngineOptions],
) -> PartyExplanation:
    """Explain a party's predictions of rows (n, M); nobody else is asked.

    The parameters are those of `HorizontalCollaboration.explain`; values against several reference rows are averaged.
    """
    codes = party.codes_of(X, missing=missing or party.agreement.missing, unknown=unknown)
    rows = reference_rows(party, reference, n_background, warn=True)  # Algorithm 2, line 1: r
    found = explain_codes(party, codes, rows, choice=kind_of(reference), groups=groups, **options)
    frame = party.agreement.schema.frame
    return replace(found, data=frame(codes).set_axis(as_frame(X).index), reference=frame(rows))


def explain_codes(
    party: HorizontalParty,
    codes: FloatArray,
    rows: FloatArray,
    *,
    choice: str | None,
    groups: Groups | None = None,
    **options: Unpack[EngineOptions],
) -> PartyExplanation:
    """As `explain_rows`, of codes (n, M) that were checked against reference rows (m, M) of that choice.

    The explanation carries neither as a table: to make one of a few rows takes as long as to explain them.
    """
    schema = party.agreement.schema
    players = grouping(groups, schema.names, what="groups", of="column")
    # Algorithm 2, line 2: Algorithm 1 with x, r and the composed model h ∘ G ∘ F
    explain = _explain_points if party.linear_reduction is None else _explain_sums
    each = [explain(party, codes, rows[at], players, how) for at, how in each_reference(len(rows), options)]
    return PartyExplanation.of(
        averaged(each),
        reference_fingerprint=fingerprint_of(schema, rows),
        reference_choice=choice,
        party=party.name,
        run=party.run,
    ).of_target(party.target)


def _explain_sums(
    party: HorizontalParty, codes: FloatArray, reference: FloatArray, players: Grouping, options: EngineOptions
) -> Explanation:
    """With a linear reduction, a point of the common space is the reference's plus what each column adds."""
    reduction, alignment = party.linear_reduction, party.alignment
    if reduction is None:
        raise TypeError("Columns add up only where the reduction is linear.")
    weights = reduction.weights @ alignment.weights
    constant = reduction.offset @ alignment.weights + alignment.intercept
    base = party.anchor.encode(reference[None, :])[0] @ weights + constant
    offsets = players.summed(column_offsets(party, codes, reference, weights))
    return additive_shapley_values(
        outputs_of(party.model_),
        base,
        offsets,
        resolution=alignment.resolution,
        feature_names=players.names,
        **options,
    )


def _explain_points(
    party: HorizontalParty, codes: FloatArray, reference: FloatArray, players: Grouping, options: EngineOptions
) -> Explanation:
    """Without one, every coalition's row is mapped to the common space."""
    same = (codes == reference) | (np.isnan(codes) & np.isnan(reference))
    player_of = players.of_member

    def points_of(sample: int, inside: BoolArray) -> FloatArray:
        rows = np.where(inside[:, player_of], codes[sample], reference)  # Algorithm 1, lines 5 and 6
        return party.alignment.transform(party.reduction.transform(party.anchor.encode(rows)))  # G ∘ F

    return coalition_shapley_values(
        outputs_of(party.model_),
        points_of,
        n_samples=len(codes),
        feature_names=players.names,
        null_players=np.stack([same[:, list(columns)].all(axis=1) for columns in players.members], axis=1),
        **options,
    )
