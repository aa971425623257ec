"""Algorithm 2: a horizontal party explains its predictions, with a reference that all parties share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

from dcshap._tables import as_frame
from dcshap._typing import FloatArray
from dcshap.collaboration.horizontal_party import HorizontalParty
from dcshap.explanation.engine import EngineOptions, column_offsets, output_names, outputs_of
from dcshap.explanation.reference import Reference, reference_of
from dcshap.shapley import Explanation, additive_shapley_values, shapley_values

__all__ = ["explain_rows"]


def explain_rows(
    party: HorizontalParty, X: Any, *, reference: Any = "anchor", **options: Unpack[EngineOptions]
) -> Explanation:
    """Explain a party's predictions of rows (n, M); nobody else is asked.

    Parameters
    ----------
    party : HorizontalParty
    X : table of shape (n, M)
    reference : {"anchor", "own", "mean", "medoid"} or row
    **options
        As in `shapley_values`.
    """
    row = reference_of(party, reference)
    codes = party.agreement.schema.codes(X, missing=party.agreement.missing)
    explained = _additive(party, codes, row, options) or _general(party, codes, row, options)
    data = party.agreement.schema.frame(codes).set_axis(as_frame(X).index)
    return replace(explained, data=data, reference=row.frame, reference_fingerprint=row.fingerprint, party=party.name)


def _additive(
    party: HorizontalParty, codes: FloatArray, reference: Reference, options: EngineOptions
) -> Explanation | None:
    """With a linear reduction the common-space point is additive in the columns; None where it is not linear."""
    reduction, alignment = party.linear_reduction, party.alignment
    if reduction is None:
        return None
    weights = reduction.weights @ alignment.weights
    constant = reduction.offset @ alignment.weights + alignment.intercept
    base = party.anchor.encode(reference.codes[None, :])[0] @ weights + constant
    return additive_shapley_values(
        outputs_of(party.model_),
        base,
        column_offsets(party, codes, reference.codes, weights),
        resolution=alignment.resolution,
        feature_names=party.agreement.schema.names,
        **options,
    )


def _general(party: HorizontalParty, codes: FloatArray, reference: Reference, options: EngineOptions) -> Explanation:
    outputs = outputs_of(party.model_)

    def predict(rows: FloatArray) -> FloatArray:
        return outputs(party.alignment.transform(party.reduction.transform(party.anchor.encode(rows))))

    explained = shapley_values(predict, codes, reference.codes, **options)
    named = output_names(party.model_, explained)
    return replace(explained, feature_names=party.agreement.schema.names, output_names=named)
