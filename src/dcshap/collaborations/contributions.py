"""What a party's data are worth: the Shapley value of each party to the joint model's quality.

The game's players are the parties. The analyst trains on every coalition from what it holds already, so nothing more
travels. A coalition without rows, or with one class, predicts what is commonest in it, or nothing at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor

from dcshap._typing import Array, FloatArray

__all__ = ["Score", "contributions_of"]

EXACT = 12  # parties whose coalitions are all tried
PERMUTATIONS = 400  # where there are more
Score = Callable[[Any], float]  # a fitted model -> how good it is


def contributions_of(
    held: Mapping[str, tuple[FloatArray, Array]], model: Any, score: Score, *, seed: int = 0
) -> pd.DataFrame:
    """The value of each party's rows.

    Parameters
    ----------
    held : mapping of party to points (n_i, d) and labels (n_i,)
    model : estimator
    score : callable
    seed : int
        For sampling, beyond 12 parties.

    Returns
    -------
    DataFrame
        By party: `value` and `standard_error`. Values add up to the joint model's score less that of a model that has
        seen nothing but how common each class is.
    """
    worth = _Worth(held, model, score)
    names = list(held)
    if len(names) <= EXACT:
        values = {name: _exact(name, names, worth) for name in names}
        return pd.DataFrame({"value": pd.Series(values), "standard_error": 0.0})
    rng = np.random.default_rng(seed)
    drawn = pd.DataFrame([_marginal(list(rng.permutation(names)), worth) for _ in range(PERMUTATIONS)])[names]
    return pd.DataFrame({"value": drawn.mean(), "standard_error": drawn.std() / np.sqrt(PERMUTATIONS)})


class _Worth:
    """How good the model of a coalition is; each coalition is trained once."""

    def __init__(self, held: Mapping[str, tuple[FloatArray, Array]], model: Any, score: Score) -> None:
        self._held, self._model, self._score = held, model, score
        self._known: dict[frozenset[str], float] = {}

    def __call__(self, coalition: frozenset[str]) -> float:
        if coalition not in self._known:
            self._known[coalition] = self._score(self._trained(coalition or frozenset(self._held), bool(coalition)))
        return self._known[coalition]

    def _trained(self, parties: frozenset[str], learns: bool) -> Any:
        chosen = [self._held[name] for name in sorted(parties)]
        points, labels = (np.concatenate(part) for part in zip(*chosen, strict=True))
        classifier = is_classifier(self._model)
        if not learns or (classifier and len(np.unique(labels)) < 2):
            plain = DummyClassifier(strategy="prior") if classifier else DummyRegressor()
            return plain.fit(points, labels)
        return clone(self._model).fit(points, labels)


def _exact(name: str, names: list[str], worth: _Worth) -> float:
    others, n = [each for each in names if each != name], len(names)
    total = 0.0
    for size in range(n):
        weight = 1.0 / (n * comb(n - 1, size))
        for chosen in combinations(others, size):
            total += weight * (worth(frozenset((*chosen, name))) - worth(frozenset(chosen)))
    return total


def _marginal(order: list[str], worth: _Worth) -> dict[str, float]:
    found, inside, before = {}, frozenset[str](), worth(frozenset())
    for name in order:
        inside |= {name}
        after = worth(inside)
        found[name], before = after - before, after
    return found
