"""Every attack on one party's release, held against the thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dcshap.audit.alone import analyst_lines
from dcshap.audit.collusion import collusion_lines
from dcshap.audit.findings import Audit
from dcshap.audit.ledgers import ledger_lines
from dcshap.audit.models import model_line
from dcshap.audit.release import N_ROWS, History, release_of
from dcshap.audit.verdicts import chosen_thresholds
from dcshap.collaboration.party import Party

__all__ = ["audit_party"]


def audit_party(
    party: Party,
    *,
    history: History | None = None,
    model: Any = None,
    others: Sequence[Party] = (),
    thresholds: Mapping[str, tuple[float, float]] | None = None,
    n_rows: int = N_ROWS,
    seed: int = 0,
) -> Audit:
    """Attack what a party has sent, or would send, on its own rows. Nothing leaves the party.

    Parameters
    ----------
    party : HorizontalParty or VerticalParty
        With its rows at hand (`take`), after a training or before the first.
    history : History, optional
        What was sent before, from a ledger; nothing by default.
    model : estimator, optional
        The model that leaves the analyst; the one that the party has received by default.
    others : sequence of parties, optional
        Other parties of the same run with their rows at hand, in one process: the analyst holds their representations
        too.
    thresholds : mapping of name to (passes up to, fails beyond), optional
        In place of those of `dcshap.audit.THRESHOLDS`.
    n_rows : int
        At most this many rows are looked at.
    seed : int
        Of the audit's own draws.
    """
    table = chosen_thresholds(thresholds)
    release = release_of(party, seed=seed, n_rows=n_rows)
    beside = [release_of(other, seed=seed, n_rows=n_rows) for other in others]
    lines = [
        *analyst_lines(release, beside, table, seed=seed),
        *collusion_lines(release, table, seed=seed),
        *ledger_lines(party, release, history or History(), table, seed=seed),
        model_line(party, model, release, table, seed=seed),
    ]
    return Audit(party.name, tuple(lines), release.notes, dict(thresholds or {}))
