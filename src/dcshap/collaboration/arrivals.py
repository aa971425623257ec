"""What the analyst checks of what parties have sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dcshap.collaboration.messages import Representation
from dcshap.collaboration.records import Pseudonyms
from dcshap.collaboration.stacking import parts_of
from dcshap.exceptions import InputError, ProtocolError

__all__ = ["by_pseudonym", "check_representation", "require_parties"]


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


def by_pseudonym(party: str, pseudonyms: Pseudonyms) -> Mapping[bytes, int]:
    """The row of each pseudonym, if each stands once."""
    rows = {pseudonym.tobytes(): row for row, pseudonym in enumerate(pseudonyms)}
    if len(rows) < len(pseudonyms):
        raise ProtocolError(f"Party {party!r} must send each record once. {len(pseudonyms) - len(rows)} stand twice.")
    return rows
