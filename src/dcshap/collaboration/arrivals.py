"""What the analyst checks of what parties have sent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dcshap.collaboration.messages import RecordLabels, RecordRepresentation, Representation
from dcshap.collaboration.records import Pseudonyms, Rows, require_pseudonyms, sorted_once
from dcshap.collaboration.stacking import parts_of
from dcshap.exceptions import InputError, ProtocolError

__all__ = ["check_representation", "matched", "require_parties", "rows_in_common"]


def require_parties(names: Sequence[str]) -> None:
    """Refuse fewer than two parties, and one that stands twice."""
    if len(names) < 2:
        raise InputError(f"A collaboration needs at least two parties. Got {len(names)}.")
    if len(set(names)) < len(names):
        raise ProtocolError(f"Each party must send one representation. Got these: {sorted(names)}.")


def check_representation(message: Representation, *, n_anchor: int) -> None:
    """Refuse a representation of another shape than it must have, or with numbers that are none."""
    anchor, rows = message.anchor, message.rows
    if anchor.ndim != 2 or rows.ndim != 2 or anchor.shape[1] != rows.shape[1] or len(rows) != len(message.labels):
        raise ProtocolError(
            f"Party {message.party!r} must send rows (n, m), anchor (n_anchor, m) and labels (n,). Got {rows.shape}, "
            f"{anchor.shape} and {message.labels.shape}."
        )
    if len(anchor) != n_anchor:
        raise ProtocolError(
            f"All parties must represent the same anchor. Party {message.party!r} sent {len(anchor)} rows, the first "
            f"{n_anchor}."
        )
    if not (np.isfinite(anchor).all() and all(np.isfinite(part).all() for part in parts_of(rows))):
        raise ProtocolError(f"Party {message.party!r} must send finite numbers. Some are not.")


def matched(sent: Sequence[tuple[str, Pseudonyms]]) -> tuple[Pseudonyms, list[Rows]]:
    """The pseudonyms that all parties have sent, in their order, and the rows of each party that they belong to."""
    found = [sorted_once(party, pseudonyms) for party, pseudonyms in sent]
    common = found[0][0]
    for known, _ in found[1:]:
        common = common[_places(known, common)[1]]
    return common, [rows[_places(known, common)[0]] for known, rows in found]


def rows_in_common(
    sent: Sequence[RecordLabels | RecordRepresentation], *, expected: Pseudonyms | None
) -> tuple[int, Sequence[Rows | slice]]:
    """How many records all have sent, and which rows of each they are; nothing is copied where all sent the expected.

    Raises
    ------
    ProtocolError
        Where records are expected and others, or fewer, were sent, or where what was sent of them is more or less.
    """
    for each in sent:
        _require_one_each(each)
    if expected is not None and all(np.array_equal(each.pseudonyms, expected) for each in sent):
        return len(expected), [slice(None)] * len(sent)
    common, rows = matched([(each.party, each.pseudonyms) for each in sent])
    if expected is not None and any(len(each) != len(expected) for each in (common, *(s.pseudonyms for s in sent))):
        raise ProtocolError("All parties must send the records in common, and no others.")
    if not len(common):
        raise InputError("The parties must have records in common. None is held by all of them and labelled.")
    return len(common), rows


def _require_one_each(message: RecordLabels | RecordRepresentation) -> None:
    require_pseudonyms(message.party, message.pseudonyms)
    n = len(message.pseudonyms)
    if isinstance(message, RecordRepresentation):
        whole = message.rows.ndim == 2 and len(message.rows) == n
    else:
        whole = len(message.labels) == n and len(message.weights) in (0, n)
    if not whole:
        raise ProtocolError(f"Party {message.party!r} must send one row, label and weight for each of {n} records.")


def _places(known: Pseudonyms, wanted: Pseudonyms) -> tuple[Rows, npt.NDArray[np.bool_]]:
    """Where pseudonyms stand among sorted ones, and which of them do."""
    if np.array_equal(known, wanted):
        return np.arange(len(known)), np.ones(len(known), dtype=np.bool_)
    places = np.searchsorted(known, wanted)
    among = places < len(known)
    among[among] = known[places[among]] == wanted[among]
    return places, among
