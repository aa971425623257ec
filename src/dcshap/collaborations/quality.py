"""Is it worth it? One party's model alone, the joint model, and the model on pooled rows, side by side.

How good they are, and how far the joint model's explanations are from the others': agreement between parties is not
truth. The pooled model can be trained in one process only, where nobody's rows are secret.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.base import clone, is_classifier
from sklearn.metrics import brier_score_loss, roc_auc_score

from dcshap._typing import Array, FloatArray
from dcshap.collaboration.horizontal_party import HorizontalParty
from dcshap.collaboration.labels import as_labels, goodness
from dcshap.exceptions import InputError, ModelError, QualityWarning
from dcshap.explanation.engine import column_offsets, outputs_of
from dcshap.explanation.reference import chosen_reference
from dcshap.explanation.rows import explain_rows
from dcshap.shapley import additive_shapley_values

__all__ = ["Fidelity", "Quality", "fidelity_of", "measure"]

WORSE = 0.01  # of AUC, or of R²: how much worse than alone is worth a warning
LARGE = 0.02  # attributions whose signs are compared
EXPLAINED = 20  # rows whose explanations are compared


@dataclass(frozen=True)
class Fidelity:
    """How far explanations are from those of another model, of the same rows and from the same reference.

    Attributes
    ----------
    relative_error : float
        `‖φ − φ*‖ / ‖φ*‖`.
    rank_correlation : float
        Spearman's, of the features' attributions in one row, averaged.
    wrong_signs : float
        The share of attributions above .02 that point the other way.
    """

    relative_error: float
    rank_correlation: float
    wrong_signs: float


@dataclass(frozen=True)
class Quality:
    """What collaborating gives one party.

    Attributes
    ----------
    party : str
    scores : DataFrame
        A row each for "alone", "together" and "pooled": accuracy, AUC and Brier score of a classifier (the lower the
        Brier score, the better calibrated), R² of a regressor.
    fidelity : mapping of "alone" and "pooled" to Fidelity
        How far the joint model's explanations are from those of the party's own and of the pooled model.
    """

    party: str
    scores: pd.DataFrame
    fidelity: Mapping[str, Fidelity]

    def __str__(self) -> str:
        lines = [f"What collaborating gives {self.party!r}", self.scores.to_string(float_format="{:.3f}".format), ""]
        for name, found in self.fidelity.items():
            lines.append(
                f"explanations against the {name} model: relative error {found.relative_error:.2f}, rank correlation "
                f"{found.rank_correlation:.2f}, wrong signs {found.wrong_signs:.0%}"
            )
        return "\n".join(lines)


def measure(parties: Mapping[str, HorizontalParty], party: str, X: Any, y: Any) -> Quality:
    """Measure on held-out rows (n, M) and labels (n,) what the joint model gives one party.

    Warns where the party would do better alone.
    """
    own, labels = parties[party], as_labels(y)
    codes = own.agreement.schema.codes(X, missing=own.agreement.missing)
    if len(codes) != len(labels) or not len(codes):
        raise InputError(f"There must be one label per row, of one row at least. Got {len(codes)} and {len(labels)}.")
    points, encoded = own.points(X), own.anchor.encode(codes)
    models = {"alone": _trained(own.model_, [own]), "pooled": _trained(own.model_, list(parties.values()))}
    scores = {name: _scores(model, encoded, labels) for name, model in models.items()}
    table = pd.DataFrame({name: scores.get(name) or _scores(own.model_, points, labels) for name in _ORDER}).T
    _warn_if_worse(party, table)
    shown = slice(min(len(codes), EXPLAINED))
    found = {name: fidelity_of(own, model, X[shown], codes[shown]) for name, model in models.items()}
    return Quality(party, table, found)


_ORDER = ("alone", "together", "pooled")


def fidelity_of(party: HorizontalParty, model: Any, X: Any, codes: FloatArray) -> Fidelity:
    """How far a party's explanations of rows (n, M) are from those of a model of their encoded coordinates."""
    reference = chosen_reference(party, "anchor").codes
    straight = np.eye(party.anchor.encoder.n_coordinates)
    true = additive_shapley_values(
        outputs_of(model),
        party.anchor.encode(reference[None, :])[0],
        column_offsets(party, codes, reference, straight),
        random_state=0,
    ).values
    values = explain_rows(party, X, random_state=0).values
    if values.shape != true.shape:
        raise ModelError("Explanations can be compared where both models know the same classes. One lacks some.")
    return compared(values, true)


def compared(values: FloatArray, true: FloatArray) -> Fidelity:
    """Attributions (n, M) or (n, M, K) beside those that they are to be near to."""
    flat, wanted = (np.moveaxis(np.atleast_3d(each), 1, -1).reshape(-1, each.shape[1]) for each in (values, true))
    ranks = [spearmanr(a, b).statistic for a, b in zip(flat, wanted, strict=True) if np.ptp(a) and np.ptp(b)]
    large = np.abs(wanted) > LARGE
    signs = np.mean(np.sign(flat[large]) != np.sign(wanted[large])) if large.any() else 0.0
    size = float(np.linalg.norm(wanted))
    error = float(np.linalg.norm(flat - wanted)) / size if size > 0 else 0.0
    return Fidelity(error, float(np.mean(ranks)) if ranks else 1.0, float(signs))


def _trained(model: Any, parties: list[HorizontalParty]) -> Any:
    rows = np.concatenate([party.anchor.encode(party.codes) for party in parties])
    return clone(model).fit(rows, np.concatenate([party.labels for party in parties]))


def _scores(model: Any, points: FloatArray, labels: Array) -> dict[str, float]:
    score = goodness(model, labels, np.asarray(model.predict(points)))
    if not is_classifier(model):
        return {"r2": score}
    found = {"accuracy": score}
    if hasattr(model, "predict_proba"):
        chances = _chances(model, points, np.unique(np.concatenate([labels, model.classes_])))
        found |= {"auc": _auc(chances, labels), "brier": _brier(chances, labels)}
    return found


def _chances(model: Any, points: FloatArray, classes: Array) -> pd.DataFrame:
    """Probabilities (n, K) of all classes, also of those that a model has not met."""
    given = pd.DataFrame(model.predict_proba(points), columns=list(model.classes_))
    return given.reindex(columns=list(classes), fill_value=0.0)


def _auc(chances: pd.DataFrame, labels: Array) -> float:
    """One class against the rest, averaged over those that occur; NaN where one occurs alone."""
    present = np.unique(labels)
    if len(present) < 2:
        return float("nan")
    looked_at = present[1:] if len(chances.columns) == 2 else present
    return float(np.mean([roc_auc_score(labels == each, chances[each]) for each in looked_at]))


def _brier(chances: pd.DataFrame, labels: Array) -> float:
    return float(np.mean([brier_score_loss(labels == each, np.clip(chances[each], 0, 1)) for each in chances.columns]))


def _warn_if_worse(party: str, table: pd.DataFrame) -> None:
    measured = next(name for name in ("auc", "r2", "accuracy") if name in table)
    by_name = {name: float(score) for name, score in zip(_ORDER, table[measured], strict=True)}
    if by_name["alone"] - by_name["together"] > WORSE:
        warnings.warn(
            f"Party {party!r} does better alone: {measured} {by_name['alone']:.3f} against {by_name['together']:.3f} "
            f"together. More dimensions (`n_components`), logistic regression or a schema with `knots` may help.",
            QualityWarning,
            stacklevel=3,
        )
