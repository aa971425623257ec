"""Is it worth it? One party's model alone, the joint model, and the model on pooled rows, side by side.

How good they are, and how far the joint model's explanations are from the others': agreement between parties is not
truth. The pooled model can be trained in one process only, where nobody's rows are secret.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.base import clone, is_classifier
from sklearn.metrics import brier_score_loss, roc_auc_score

from dcshap._typing import Array, FloatArray
from dcshap.collaboration.analyst import Analyst
from dcshap.collaboration.horizontal_party import HorizontalParty
from dcshap.collaboration.labels import as_labels, common_weights, goodness
from dcshap.collaboration.messages import ANALYST, RecordLabels
from dcshap.collaboration.party import Party
from dcshap.collaboration.records import Records
from dcshap.collaboration.vertical_party import VerticalParty
from dcshap.exceptions import InputError, ModelError, NotFittedError, QualityWarning
from dcshap.explanation.engine import column_offsets, outputs_of
from dcshap.explanation.joint import disclose_columns, explain_all
from dcshap.explanation.reference import reference_rows
from dcshap.explanation.rows import explain_rows
from dcshap.shapley import additive_shapley_values

__all__ = ["Fidelity", "Quality", "fidelity_of", "measure_records", "measure_rows", "straight_values"]

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
        How far the joint model's explanations are from those of the party's own and of the pooled model; vertically,
        a party's own model knows its own columns only, and these are compared.
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


def measure_rows(parties: Mapping[str, HorizontalParty], party: str, X: Any, y: Any) -> Quality:
    """Measure on held-out rows (n, M) and labels (n,) what the joint model gives one party.

    Warns where the party would do better alone.
    """
    own, everybody = parties[party], list(parties.values())
    codes = own.agreement.schema.codes(X, missing=own.agreement.missing)
    labels = _labels_of(y, len(codes))
    encoded = own.anchor.encode(codes)

    def plain(members: list[HorizontalParty]) -> tuple[Any, FloatArray]:
        rows = np.concatenate([each.anchor.encode(each.codes) for each in members])
        weights = common_weights([(each.weights, len(each.labels)) for each in members])
        return _fitted(own.model_, rows, np.concatenate([each.labels for each in members]), weights), encoded

    models = {"alone": plain([own]), "together": (own.model_, own.points(X)), "pooled": plain(everybody)}
    table = _compared_scores(party, models, labels)
    shown = slice(min(len(codes), EXPLAINED))
    found = {name: fidelity_of(own, models[name][0], X[shown], codes[shown]) for name in ("alone", "pooled")}
    return Quality(party, table, found)


def measure_records(
    parties: Mapping[str, VerticalParty], analyst: Analyst, party: str, held: Mapping[str, Records], y: Any
) -> Quality:
    """Measure on held-out records and labels (n,) what the joint model gives one party; as `measure_rows`."""
    ordered = {name: parties[name] for name in analyst.widths_}
    labels = _labels_of(y, len(held[party]))
    trained = _trained_labels(ordered)
    weights = common_weights([(trained.weights, len(trained.labels))])

    def plain(members: list[VerticalParty]) -> tuple[Any, FloatArray]:
        rows, asked = (
            np.concatenate([each.anchor.encode(codes[each.name]) for each in members], axis=1)
            for codes in ({name: each.codes for name, each in ordered.items()}, {n: r.codes for n, r in held.items()})
        )
        return _fitted(analyst.model_, rows, trained.labels, weights), asked

    points = analyst.points_of([ordered[name].represent(held[name]) for name in ordered])
    models = {"alone": plain([parties[party]]), "together": (analyst.model_, points)}
    models["pooled"] = plain(list(ordered.values()))
    table = _compared_scores(party, models, labels)
    shown = {name: records.select(records.identifiers[:EXPLAINED]) for name, records in held.items()}
    parts = [disclose_columns(each, shown[name]) for name, each in ordered.items()]
    values = explain_all(analyst, parts, random_state=0)
    own = [values.feature_names.index(name) for name in parties[party].agreement.schema.names]
    straight = {name: (each, shown[name].codes) for name, each in ordered.items()}
    found = {
        "alone": compared(values.values[:, own], straight_values(models["alone"][0], [straight[party]])),
        "pooled": compared(values.values, straight_values(models["pooled"][0], list(straight.values()))),
    }
    return Quality(party, table, found)


def _fitted(model: Any, rows: FloatArray, labels: Array, weights: FloatArray | None) -> Any:
    return clone(model).fit(rows, labels, **({} if weights is None else {"sample_weight": weights}))


def _trained_labels(parties: Mapping[str, VerticalParty]) -> RecordLabels:
    for party in parties.values():
        if party.holds_labels:
            return party.send_labels(ANALYST)
    raise NotFittedError("The party with the labels has no labels at hand: they are there after `fit`, not from disk.")


def _labels_of(y: Any, n_rows: int) -> Array:
    labels = as_labels(y)
    if n_rows != len(labels) or not n_rows:
        raise InputError(f"There must be one label per row, of one row at least. Got {n_rows} and {len(labels)}.")
    return labels


def _compared_scores(party: str, models: Mapping[str, tuple[Any, FloatArray]], labels: Array) -> pd.DataFrame:
    """The scores of models, each with the held-out points that it sees."""
    table = pd.DataFrame({name: _scores(model, points, labels) for name, (model, points) in models.items()}).T
    _warn_if_worse(party, table)
    return table


def fidelity_of(party: HorizontalParty, model: Any, X: Any, codes: FloatArray) -> Fidelity:
    """How far a party's explanations of rows (n, M) are from those of a model of their encoded coordinates."""
    true = straight_values(model, [(party, codes)])
    values = explain_rows(party, X, random_state=0).values
    if values.shape != true.shape:
        raise ModelError("Explanations can be compared where both models know the same classes. One lacks some.")
    return compared(values, true)


def straight_values(model: Any, parts: Sequence[tuple[Party, FloatArray]]) -> FloatArray:
    """The attributions of a model of encoded coordinates, of parties' columns given as codes (n, M_k), side by side."""
    bases, offsets = [], []
    for party, codes in parts:
        reference = reference_rows(party)[0]
        bases.append(party.anchor.encode(reference[None, :])[0])
        offsets.append(column_offsets(party, codes, reference, np.eye(party.anchor.encoder.n_coordinates)))
    joined = np.zeros((len(offsets[0]), sum(o.shape[1] for o in offsets), sum(map(len, bases))))
    at = np.cumsum([(0, 0), *(each.shape[1:] for each in offsets)], axis=0)
    for (row, column), each in zip(at[:-1], offsets, strict=True):
        joined[:, row : row + each.shape[1], column : column + each.shape[2]] = each
    return additive_shapley_values(outputs_of(model), np.concatenate(bases), joined, random_state=0).values


def compared(values: FloatArray, true: FloatArray) -> Fidelity:
    """How far attributions (n, M) or (n, M, K) are from true ones of the same shape."""
    flat, wanted = (np.moveaxis(np.atleast_3d(each), 1, -1).reshape(-1, each.shape[1]) for each in (values, true))
    ranks = [spearmanr(a, b).statistic for a, b in zip(flat, wanted, strict=True) if np.ptp(a) and np.ptp(b)]
    large = np.abs(wanted) > LARGE
    signs = np.mean(np.sign(flat[large]) != np.sign(wanted[large])) if large.any() else 0.0
    size = float(np.linalg.norm(wanted))
    error = float(np.linalg.norm(flat - wanted)) / size if size > 0 else 0.0
    return Fidelity(error, float(np.mean(ranks)) if ranks else 1.0, float(signs))


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
    by_name = {str(name): float(score) for name, score in table[measured].items()}
    if by_name["alone"] - by_name["together"] > WORSE:
        warnings.warn(
            f"Party {party!r} does better alone: {measured} {by_name['alone']:.3f} against {by_name['together']:.3f} "
            f"together. More dimensions (`n_components`), logistic regression or a schema with `knots` may help.",
            QualityWarning,
            stacklevel=3,
        )
