"""What a party's data are worth: the Shapley value of each party to the joint model's quality.

The game's players are the parties. The analyst trains on every coalition from what it holds already, so nothing more
travels: on the coalition's rows, or vertically on its columns. A coalition without any, or with one class, predicts
the most common class, or the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import get_scorer

from dcshap._typing import Array, FloatArray
from dcshap.collaboration.labels import as_labels, common_weights, goodness

__all__ = ["Score", "Worth", "contributions_of", "scorer_of", "worth_of_columns", "worth_of_rows"]

EXACT = 12  # parties whose coalitions are all tried
PERMUTATIONS = 400  # where there are more
Score = Callable[[Any, FloatArray], float]  # a fitted model and held-out points (n, d) -> how good it is
Worth = Callable[[frozenset[str]], float]  # a coalition of parties -> how good its model is
Held = Mapping[str, tuple[FloatArray, Array, FloatArray]]  # points (n_i, d_i), labels (n_i,), and weights or none


def contributions_of(parties: Sequence[str], worth: Worth) -> pd.DataFrame:
    """The `value` of each party, and its `standard_error`; exact up to 12 parties, sampled beyond.

    Values add up to the joint model's score less that of a model that has seen nothing but how common each class is.
    """
    worth = cache(worth)  # each coalition is trained once
    names = list(parties)
    if len(names) <= EXACT:
        values = {name: _exact(name, names, worth) for name in names}
        return pd.DataFrame({"value": pd.Series(values), "standard_error": 0.0})
    rng = np.random.default_rng(0)
    drawn = pd.DataFrame([_marginal(list(rng.permutation(names)), worth) for _ in range(PERMUTATIONS)])[names]
    return pd.DataFrame({"value": drawn.mean(), "standard_error": drawn.std() / np.sqrt(PERMUTATIONS)})


def scorer_of(metric: str | None, y: Any) -> Score:
    """How good a model is on held-out labels (n,): by a scorer's name, or accuracy or R²."""
    labels, scorer = as_labels(y), None if metric is None else get_scorer(metric)

    def score(model: Any, points: FloatArray) -> float:
        if scorer is not None:
            return float(scorer(model, points, labels))
        return goodness(model, labels, np.asarray(model.predict(points)))

    return score


def worth_of_rows(held: Held, model: Any, score: Score, points: FloatArray) -> Worth:
    """A coalition's worth where each party holds rows: the score on held-out points (n, d)."""

    def worth(coalition: frozenset[str]) -> float:
        chosen = [held[name] for name in sorted(coalition or held)]
        rows, labels = (np.concatenate([each[part] for each in chosen]) for part in (0, 1))
        weights = common_weights([(own, len(part)) for part, _, own in chosen])
        return score(_trained(model, rows, labels, weights, learns=bool(coalition)), points)

    return worth


def worth_of_columns(held: Held, model: Any, score: Score, points: Mapping[str, FloatArray]) -> Worth:
    """A coalition's worth where each party holds columns of the same records: the score on held-out points (n, d_i)."""

    def worth(coalition: frozenset[str]) -> float:
        chosen = sorted(coalition or held)
        rows, asked = (np.concatenate([part[name] for name in chosen], axis=1) for part in (columns, points))
        _, labels, weights = held[chosen[0]]
        counted = common_weights([(weights, len(labels))])
        return score(_trained(model, rows, labels, counted, learns=bool(coalition)), asked)

    columns = {name: rows for name, (rows, *_) in held.items()}
    return worth


def _trained(model: Any, points: FloatArray, labels: Array, weights: FloatArray | None, *, learns: bool) -> Any:
    classifier, counted = is_classifier(model), {} if weights is None else {"sample_weight": weights}
    if not learns or (classifier and len(np.unique(labels)) < 2):
        plain = DummyClassifier(strategy="prior") if classifier else DummyRegressor()
        return plain.fit(points, labels, **counted)
    return clone(model).fit(points, labels, **counted)


def _exact(name: str, names: list[str], worth: Worth) -> float:
    others, n = [each for each in names if each != name], len(names)
    total = 0.0
    for size in range(n):
        weight = 1.0 / (n * comb(n - 1, size))
        for chosen in combinations(others, size):
            total += weight * (worth(frozenset((*chosen, name))) - worth(frozenset(chosen)))
    return total


def _marginal(order: list[str], worth: Worth) -> dict[str, float]:
    found, inside, before = {}, frozenset[str](), worth(frozenset())
    for name in order:
        inside |= {name}
        after = worth(inside)
        found[name], before = after - before, after
    return found
