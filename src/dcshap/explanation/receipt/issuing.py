"""A party issues a receipt of what it has explained."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dcshap._machine import now
from dcshap._tables import row_cells
from dcshap._typing import FloatArray
from dcshap.collaboration.horizontal_party import HorizontalParty
from dcshap.collaboration.party import Party
from dcshap.collaboration.vertical_party import VerticalParty
from dcshap.exceptions import InputError, NotFittedError, ProtocolError
from dcshap.explanation.receipt.commitments import (
    Digests,
    agree,
    commit_numbers,
    commit_record,
    digest_numbers,
    fresh_opening,
    model_digest,
    under,
)
from dcshap.explanation.receipt.signature import Signer
from dcshap.explanation.receipt.slip import Receipt
from dcshap.explanation.statement import PartyExplanation
from dcshap.schema.columns import Category

__all__ = ["receipt_of", "require_stated"]

_maps: WeakKeyDictionary[Party, tuple[str, Digests]] = WeakKeyDictionary()  # of each party's training


def receipt_of(
    party: Party,
    explanation: PartyExplanation,
    *,
    sample: int = 0,
    opening: str | None = None,
    signer: Signer | None = None,
) -> Receipt:
    """A party's signed statement of what it has explained of one sample.

    Parameters
    ----------
    party : Party
        With the model that the explanation is of.
    explanation : PartyExplanation
    sample : int, default 0
    opening : str, optional
        The opening of another receipt of the same record, so that the two can be compared; a new one by default. It
        is the receipt's `opening`: give it to those who may know the record, and to nobody else.
    signer : Signer, optional
        By default with the key that the party keeps.
    """
    if explanation.run != party.run:
        raise InputError("A receipt must be of the model that the party has now. It was trained since: explain again.")
    chosen = explanation[sample]
    code = fresh_opening() if opening is None else opening
    statement = Receipt(
        party=party.name,
        run=party.run,
        written=datetime.fromtimestamp(now(), UTC).isoformat(timespec="seconds"),
        view=chosen.view,
        index=chosen.index,
        method=chosen.method,
        model=model_digest(_model_of(party)),
        maps=_map_digests(party),
        reference=str(chosen.reference_fingerprint),
        under=under(code),
        **_commitments(chosen, code),
        opening=code,
    )
    return statement.signed(Signer.of_party(party) if signer is None else signer)


def require_stated(receipt: Receipt, explanation: PartyExplanation, *, sample: int = 0) -> None:
    """Refuse a receipt, with its opening, that is not of an explanation of one sample.

    Raises
    ------
    ProtocolError
    """
    opening = receipt.opening or ""
    found = _commitments(explanation[sample], opening)
    same = receipt.under == under(opening) and receipt.record == found["record"]
    same = same and agree(receipt.values, found["values"]) and agree(receipt.prediction, found["prediction"])
    if not same or (receipt.run, receipt.view) != (explanation.run, explanation.view):
        raise ProtocolError(f"The receipt of {receipt.party!r} must be of the explanation that it has sent. It is not.")


def _model_of(party: Party) -> Any:
    if isinstance(party, HorizontalParty) and party.model_ is not None:
        return party.model_
    if isinstance(party, VerticalParty) and party.shared_model_ is not None:
        return party.shared_model_.model
    raise NotFittedError(f"Party {party.name!r} must have a copy of the model to issue a receipt. It has none.")


def _commitments(explanation: PartyExplanation, opening: str) -> dict[str, Any]:
    """The hashes of what is secret, of an explanation of one sample."""
    values = explanation.values.reshape(len(explanation.feature_names), -1)
    ends = np.stack([explanation.base_values.ravel(), explanation.predictions.ravel()])
    scale = float(np.abs(ends).max())

    # What a single output is called is up to each party.
    outputs = explanation.output_names if len(explanation.output_names) > 1 else ("output",)

    def commit(numbers: FloatArray, *names: str) -> Digests:
        return commit_numbers(numbers, "\x1e".join([*names, *outputs]), opening, scale=scale)

    by_name = np.argsort(explanation.feature_names)
    cells = row_cells(explanation.data, 0, [str(name) for name in explanation.data.columns])
    return {
        "record": commit_record(cells, opening),
        "values": commit(values[by_name], "values", *sorted(explanation.feature_names)),
        "prediction": commit(ends, "prediction"),
        "totals": {name: commit(total, "total", name) for name, total in _totals(explanation, values).items()},
    }


def _totals(explanation: PartyExplanation, values: FloatArray) -> dict[str, FloatArray]:
    """What the features of each party contribute together, from values (M, K), where that is known."""
    names = explanation.feature_names
    if explanation.view is None:
        held = explanation.blocks or {}
    else:
        others = {parties[0]: (bar,) for bar, parties in explanation.bars.items() if len(parties) == 1}
        held = {explanation.view: explanation.own_features, **others}
    return {party: values[[names.index(name) for name in features]].sum(axis=0) for party, features in held.items()}


def _map_digests(party: Party) -> tuple[str, ...]:
    """The hashes of where a horizontal party's map takes rows that differ from the typical one in a single column.

    Where the reduction is linear they determine all of the map: between a number's knots it is linear too.
    """
    if not isinstance(party, HorizontalParty):
        return ()
    known = _maps.get(party)
    if known is None or known[0] != party.run:
        encoded = party.anchor.encode(_probes(party))
        known = party.run, digest_numbers(party.alignment.transform(party.reduction.transform(encoded)))
        _maps[party] = known
    return known[1]


def _probes(party: HorizontalParty) -> FloatArray:
    schema, typical = party.agreement.schema, party.anchor.reference()
    rows = [typical]
    for name in sorted(schema.names):
        column, at = schema[name], schema.names.index(name)
        codes = (
            range(len(column.categories)) if isinstance(column, Category) else (column.low, *column.knots, column.high)
        )
        for code in codes:
            row = typical.copy()
            row[at] = code
            rows.append(row)
    return np.array(rows)
