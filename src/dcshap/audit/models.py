"""The audit's line about the model that leaves the analyst."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcshap.audit.attacks.membership import found_by_model
from dcshap.audit.findings import Line
from dcshap.audit.release import Release
from dcshap.audit.verdicts import Thresholds
from dcshap.collaboration.consent import carries_rows
from dcshap.collaboration.horizontal_party import HorizontalParty
from dcshap.collaboration.party import Party
from dcshap.collaboration.vertical_party import VerticalParty

__all__ = ["model_line"]

ADVICE = "Use logistic regression or another parametric model, with few parameters."


def model_line(party: Party, model: Any, release: Release, table: Thresholds, *, seed: int) -> Line:
    """Whether the model, or one like it, gives away which records it was trained with."""
    model = _model_of(party) if model is None else model
    attack, attacker = "membership of the model", "whoever has the model"
    if model is not None and carries_rows(model):
        words = f"{type(model).__name__} carries the training rows with it, as they were sent."
        return Line(attack, attacker, "membership", 1.0, "fail", words, ADVICE)
    if model is None or release.labels is None:
        words = "No model has left yet." if model is None else "Without labels at hand the model cannot be attacked."
        return Line(attack, attacker, "membership", 0.0, "pass" if model is None else "warn", words)
    found = found_by_model(model, release.rows, np.asarray(release.labels), seed=seed)
    words = (
        f"Of models like {type(model).__name__} on halves of this party's rows, {found:.0%} of the records trained "
        f"with are found at 1% of false alarms."
    )
    return Line.judged(attack, attacker, "membership", found, words, table=table, advice=ADVICE)


def _model_of(party: Party) -> Any:
    if isinstance(party, HorizontalParty):
        return party.model_
    if isinstance(party, VerticalParty) and party.shared_model_ is not None:
        return party.shared_model_.model
    return None
