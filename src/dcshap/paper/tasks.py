"""The data of an experiment: who holds which rows, and which rows nobody trains on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from dcshap import datasets
from dcshap.datasets.splits import Positions
from dcshap.exceptions import InputError

__all__ = ["SPLITS", "USERS", "Task", "adult_parts", "horizontal_task"]

USERS = ("user 1", "user 2")
N_EXPLAINED = 50  # the paper's number of test samples
N_ADULT_TEST = 2000  # rows of adult.test that accuracy is measured on
HELD_OUT_SHARE = 4  # elsewhere one row in four, and at least those that are explained


@dataclass(frozen=True)
class Task:
    """Two parties' rows and labels, and held-out rows; the first of them are explained."""

    parties: dict[str, tuple[pd.DataFrame, pd.Series[int]]]
    X_test: pd.DataFrame
    y_test: pd.Series[int]
    target_names: tuple[str, ...]


SPLITS: Mapping[str, Callable[[Any, int], list[Positions]]] = MappingProxyType(
    {
        "skewed": lambda y, seed: datasets.label_skew(y, random_state=seed),
        "iid": lambda y, seed: datasets.iid_split(len(y), random_state=seed),
        "skewed 80/20": lambda y, seed: datasets.label_skew(y, majority=0.8, random_state=seed),
        "skewed 70/30": lambda y, seed: datasets.label_skew(y, majority=0.7, random_state=seed),
        # Of more than two classes, 90 % of the last and 10 % of each other to user 1.
        "last class": lambda y, seed: datasets.label_skew(np.asarray(y) == np.max(y), random_state=seed),
        "contradiction": lambda y, seed: list(datasets.contradiction_split(y, random_state=seed)),
    }
)


def horizontal_task(dataset: str, *, split: str, seed: int) -> Task:
    """The rows of a data set divided between two users.

    Adult trains on all of `adult.data` and is measured on 2000 rows of `adult.test`. Of the others a quarter of the
    rows, and at least 50, is held out. A seed decides which rows are held out, and in which order, and who holds the
    others.
    """
    if split not in SPLITS:
        raise InputError(f"A split must be one of {list(SPLITS)}. Got {split!r}.")
    rng = np.random.default_rng(seed)
    if dataset == "adult":
        train, test = adult_parts()
        drawn = rng.permutation(len(test.target))[:N_ADULT_TEST]
        X, y, X_test, y_test = train.data, train.target, test.data.iloc[drawn], test.target.iloc[drawn]
    else:
        train = _load(dataset)
        n_held_out = max(N_EXPLAINED, len(train.target) // HELD_OUT_SHARE)
        kept, held_out = datasets.hold_out(train.target, n_held_out, random_state=seed)
        held_out = rng.permutation(held_out)  # the rows of Iris and Wine are sorted by class
        X, y = train.data.iloc[kept], train.target.iloc[kept]
        X_test, y_test = train.data.iloc[held_out], train.target.iloc[held_out]
    parts = SPLITS[split](y, seed)
    parties = {name: (X.iloc[rows], y.iloc[rows]) for name, rows in zip(USERS, parts, strict=True)}
    return Task(parties, X_test, y_test, tuple(train.target_names))


@cache
def adult_parts() -> tuple[Any, Any]:
    """`adult.data` and `adult.test`."""
    return datasets.load_adult("train"), datasets.load_adult("test")


@cache
def _load(dataset: str) -> Any:
    loaders = {
        "iris": datasets.load_iris,
        "pima": datasets.load_pima,
        "wine": datasets.load_wine,
        "heart": datasets.load_heart,
        "breast cancer": datasets.load_breast_cancer,
    }
    if dataset not in loaders:
        raise InputError(f"A data set must be one of {['adult', *loaders]}. Got {dataset!r}.")
    return loaders[dataset]()
