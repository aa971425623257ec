"""Tables for benchmarks: those of `dcshap.datasets`, and two synthetic ones for what those lack.

`bank` is like bank marketing: heavy tails (call duration, balance), a majority class of .88, effects that bend.
`credit` is like credit default: correlated bills with heavy tails, payment delays whose effect saturates.
In `clusters`, `digits_2` (below and above 5) and `crossing` (a product of two columns) columns depend on each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import sklearn.datasets

from dcshap import datasets
from dcshap._typing import Array

__all__ = ["NAMES", "Table", "load"]

NAMES = (
    *("adult", "heart", "pima", "iris", "wine", "breast_cancer", "bank", "credit", "hospitals", "digits"),
    *("clusters_0", "clusters_2", "digits_2", "crossing"),
)


@dataclass(frozen=True)
class Table:
    """A table, its labels, and a column by which parties may hold different rows."""

    name: str
    X: pd.DataFrame
    y: Array
    groups: Array

    @property
    def categories(self) -> list[str]:
        """The categorical columns."""
        return [str(c) for c in self.X if not pd.api.types.is_float_dtype(self.X[c]) and self.X[c].dtype != "int64"]

    def take(self, rows: Array) -> Table:
        """Some of the rows."""
        return Table(self.name, self.X.iloc[rows].reset_index(drop=True), self.y[rows], self.groups[rows])


def load(name: str, *, n_rows: int | None = None) -> Table:
    """A table by its name; `n_rows` of it at random."""
    made = {"bank": _bank, "credit": _credit, "hospitals": _hospitals, "digits": _digits, "crossing": _crossing}
    made |= {f"clusters_{seed}": partial(_clusters, seed) for seed in (0, 2)} | {
        "digits_2": partial(_digits, halves=True)
    }
    table = made.get(name, lambda: _published(name))()
    if n_rows is None or n_rows >= len(table.y):
        return table
    return table.take(np.sort(np.random.default_rng(7).permutation(len(table.y))[:n_rows]))


def _published(name: str) -> Table:
    bunch = getattr(datasets, f"load_{name}")()
    X, y = bunch.data, bunch.target.to_numpy()
    by = {"adult": "age", "heart": "age", "pima": "Age", "iris": X.columns[1], "wine": X.columns[0]}.get(name)
    column = X[by] if by in X.columns else X.iloc[:, -1 if name == "pima" else 0]
    return Table(name, X.reset_index(drop=True), y, _thirds(column.to_numpy(dtype=np.float64)))


def _hospitals() -> Table:
    bunch = datasets.load_heart_hospitals()
    X = bunch.data.copy()
    for column in X:  # what nobody recorded: the median or mode over all
        values = X[column]
        filler = values.mode().iloc[0] if isinstance(values.dtype, pd.CategoricalDtype) else values.median()
        X[column] = values.fillna(filler)
    return Table("hospitals", X.reset_index(drop=True), bunch.target.to_numpy(), np.asarray(bunch.hospital.cat.codes))


def _clusters(seed: int) -> Table:
    X, y = sklearn.datasets.make_classification(
        1500, 12, n_informative=6, n_redundant=2, class_sep=0.8, flip_y=0.05, random_state=seed
    )
    return Table(f"clusters_{seed}", _frame({f"c{i}": column for i, column in enumerate(X.T)}, {}), y, _thirds(X[:, 0]))


def _crossing() -> Table:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((1500, 10))
    y = (X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.5 * rng.standard_normal(1500) > 0).astype(int)
    return Table("crossing", _frame({f"c{i}": column for i, column in enumerate(X.T)}, {}), y, _thirds(X[:, 5]))


def _digits(*, halves: bool = False) -> Table:
    bunch = sklearn.datasets.load_digits(as_frame=True)
    X = bunch.data.loc[:, bunch.data.nunique() > 8].astype(np.float64)  # the rim is nearly always empty
    y = bunch.target.to_numpy()
    return Table("digits", X, (y >= 5).astype(int) if halves else y, _thirds(X.mean(axis=1).to_numpy()))


def _bank(n: int = 20_000) -> Table:
    rng = np.random.default_rng(2024)
    age = np.clip(rng.gamma(14, 3, n), 18, 95).round()
    job = rng.choice(11, n, p=[0.22, 0.21, 0.17, 0.11, 0.09, 0.05, 0.035, 0.033, 0.03, 0.028, 0.024])
    education = np.clip(rng.poisson(1.2, n) - (job == 1), 0, 3)
    wealth = rng.standard_normal(n) + 0.3 * (education - 1) + 0.02 * (age - 42)
    balance = (np.sinh(1.1 * wealth) * 600 + 300).round()
    duration = np.exp(5.2 + 0.9 * rng.standard_normal(n)).round()
    campaign = np.minimum(rng.geometric(0.4, n), 50).astype(float)
    previous = np.where(rng.random(n) < 0.82, 0.0, rng.geometric(0.35, n))
    poutcome = np.where(previous == 0, 0, rng.choice([1, 2, 3], n, p=[0.6, 0.22, 0.18]))
    contact = rng.choice(3, n, p=[0.65, 0.06, 0.29])
    housing, loan, marital = rng.random(n) < 0.56, rng.random(n) < 0.16, rng.choice(3, n, p=[0.6, 0.28, 0.12])
    month = rng.choice(12, n, p=[0.03, 0.06, 0.01, 0.065, 0.305, 0.12, 0.15, 0.14, 0.013, 0.016, 0.088, 0.003])
    score = (
        3.2 * np.tanh((np.log(duration) - 6.0) / 0.5) + 0.25 * wealth + 0.006 * (age - 42) ** 2 - 0.12 * campaign
        + np.array([0.0, -0.1, 0.3, 2.2])[poutcome] + np.array([0.3, 0.2, -0.9])[contact]
        - 0.7 * housing - 0.5 * loan + np.array([-0.1, 0.3, 0.1])[marital] + 0.15 * education
        + np.array([-0.6, 0, 1.2, 0.5, -0.6, 0.2, -0.5, -0.4, 1.0, 1.1, -0.5, 0.8])[month]
    )  # fmt: skip
    y = (rng.random(n) < 1 / (1 + np.exp(-(score - 2.1)))).astype(int)
    numbers = {"age": age, "balance": balance, "duration": duration, "campaign": campaign, "previous": previous}
    codes = {"job": job, "education": education, "poutcome": poutcome, "contact": contact, "housing": housing,
             "loan": loan, "marital": marital, "month": month}  # fmt: skip
    return Table("bank", _frame(numbers, codes), y, _thirds(age))


def _credit(n: int = 20_000) -> Table:
    rng = np.random.default_rng(2005)
    means = rng.standard_normal(n)  # how well off
    limit = np.clip(np.exp(11.8 + 0.8 * means + 0.4 * rng.standard_normal(n)) / 1e4, 1, 100).round() * 1e4
    age = np.clip(21 + rng.gamma(3, 5, n) + 2 * means, 21, 79).round()
    trouble = rng.standard_normal(n) - 0.5 * means
    delays = [np.clip(np.rint(1.1 * (trouble + 0.5 * rng.standard_normal(n)) - 0.4), -2, 8) for _ in range(6)]
    use = np.clip(0.45 + 0.25 * rng.standard_normal(n) + 0.15 * trouble, 0, 1.2)
    bills = [(limit * np.clip(use + 0.07 * k * rng.standard_normal(n), -0.05, 1.3)).round() for k in range(6)]
    paid = [(b * np.exp(-2.5 + 0.9 * rng.standard_normal(n) - 0.3 * trouble)).clip(0).round() for b in bills]
    sex, education, marriage = rng.random(n) < 0.6, rng.choice(4, n, p=[0.35, 0.47, 0.16, 0.02]), rng.choice(3, n)
    score = (
        2.2 * (delays[0] >= 2) - 0.8 * (delays[0] == 0) + 0.5 * (delays[1] >= 2) + 0.35 * (delays[2] >= 2)
        - 0.3 * np.log(limit / 1e5) - 0.2 * np.log1p(paid[0] / 1e2) + 0.006 * (age - 36) ** 2
        + 0.9 * (use > 0.85) - 0.15 * sex + np.array([0.0, 0.1, 0.1, -0.8])[education]
    )  # fmt: skip
    y = (rng.random(n) < 1 / (1 + np.exp(-(score - 1.35)))).astype(int)
    numbers = {"limit": limit, "age": age} | {f"pay_{k}": delays[k] for k in range(6)}
    numbers |= {f"bill_{k}": bills[k] for k in range(6)} | {f"paid_{k}": paid[k] for k in range(6)}
    return Table("credit", _frame(numbers, {"sex": sex, "education": education, "marriage": marriage}), y, _thirds(age))


def _frame(numbers: dict[str, Any], codes: dict[str, Any]) -> pd.DataFrame:
    columns: dict[str, Any] = {name: np.asarray(values, dtype=np.float64) for name, values in numbers.items()}
    return pd.DataFrame(columns | {name: pd.Categorical(np.asarray(code).astype(int)) for name, code in codes.items()})


def _thirds(values: Array) -> Array:
    return np.asarray(np.searchsorted(np.quantile(values, [1 / 3, 2 / 3]), values))
