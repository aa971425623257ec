"""Exact probabilities of logistic regression with up to 1,000 features, against peers that have to sample.

One core, a few samples, after a first call that compiles and imports; times are the processor's, for one sample. `off
by` is the largest difference from all coalitions (12 features), or from a long run of random orders (more features) in
standard errors of that run. Peers play with their own defaults for the budget, `shap.PermutationExplainer` with one
order forth and back and with the ten that its `shap_values` takes; their `error` is `‖φ̂ − φ‖² / ‖φ‖²`.
`shap.LinearExplainer` explains log-odds only: it is there for scale.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import shap
import shapiq
from lightshap import explain_any
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.report import Row, best_time
from dcshap._typing import FloatArray
from dcshap.shapley import Explanation, shapley_values

__all__ = ["run"]

N_FEATURES = (12, 30, 100, 300, 1000)
N_BACKGROUND = 100
N_SAMPLES = 4
N_ORDERS, N_ADDED = 40_000, 10_000_000  # at least so many orders, and so many additions of a feature
MOST_ROWS = 3_000_000  # of a peer's table: more would not fit the memory of a small machine

Explain = Callable[[], FloatArray]


def run(*, quick: bool = False) -> list[Row]:
    """One row per number of features, reference and way of explaining."""
    sizes = N_FEATURES[:2] if quick else N_FEATURES
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers'
        for explain in _peers(*game_of(sizes[0], 1)).values():
            explain()
        return [row for n in sizes for background in (1, N_BACKGROUND) for row in _rows(n, background)]


def game_of(n_features: int, n_rows: int) -> tuple[LogisticRegression, FloatArray, FloatArray]:
    """A fitted model whose log-odds have a standard deviation of about 3, a sample and the reference rows."""
    rng = np.random.default_rng(n_features)
    X = rng.normal(size=(2000, n_features))
    model = LogisticRegression().fit(X, X @ rng.normal(size=n_features) > 0)
    model.coef_ *= 3.0 / np.linalg.norm(model.coef_)
    return model, rng.normal(size=(N_SAMPLES, n_features)), X[:n_rows] if n_rows > 1 else X.mean(axis=0, keepdims=True)


def _rows(n: int, n_rows: int) -> list[Row]:
    model, x, reference = game_of(n, n_rows)

    def ours() -> Explanation:
        return shapley_values(model.predict_proba, x, reference, method="exact", max_evals=1 << 20)

    ours()
    seconds, found = best_time(ours, clock=time.process_time)
    values = found.values[:, :, 1]
    about = {"features": n, "reference rows": n_rows}
    residual = float(np.abs(found.predictions - model.predict_proba(x)).max())
    peers = {name: _timed(explain) for name, explain in _peers(model, x, reference).items()}
    sampling = {name: each for name, each in peers.items() if "Linear" not in name}
    mine = {**about, "by": f"dcshap, {found.method}", "ms": 1e3 * seconds / len(x), "efficiency": residual}
    mine |= _check(model, x[:1], reference, values[0])
    if sampling:
        mine["fastest peer / this"] = min(each[0] for each in sampling.values()) / seconds
    rows: list[Row] = [mine]
    for name, (theirs, estimate) in peers.items():
        row = {**about, "by": name, "ms": 1e3 * theirs / len(x)}
        if name in sampling:
            row["error"] = float(((estimate - values) ** 2).sum() / (values**2).sum())
        rows.append(row)
    return rows


def _timed(explain: Explain) -> tuple[float, FloatArray]:
    return best_time(explain, at_least=0.2, at_most=3, clock=time.process_time)


def _check(model: Any, x: FloatArray, reference: FloatArray, values: FloatArray) -> Row:
    if len(values) <= 16:
        every = shapley_values(lambda rows: model.predict_proba(rows), x, reference, method="exact")  # noqa: PLW0108
        return {"off by": float(np.abs(values - every.values[0, :, 1]).max())}
    mean, error = orders(model, x, reference, max(N_ORDERS, N_ADDED // len(values)))
    z = (values - mean) / error
    return {"off by, standard errors": float(np.abs(z).max()), "their rms": float(np.sqrt((z**2).mean()))}


def orders(model: Any, x: FloatArray, reference: FloatArray, n_orders: int) -> tuple[FloatArray, FloatArray]:
    """Means and standard errors of what features add in random orders, each against one of the reference rows."""
    rng = np.random.default_rng(0)
    n, at_once = x.shape[1], max(1, 2_000_000 // x.shape[1])
    total, squares = np.zeros(n), np.zeros(n)
    done = 0
    while done < n_orders:
        k = min(at_once, n_orders - done)
        rows = reference[rng.integers(len(reference), size=k)]
        moves, base = (x - rows) * model.coef_[0], rows @ model.coef_[0] + model.intercept_[0]
        order = rng.random((k, n)).argsort(axis=1)
        path = np.concatenate([base[:, None], np.take_along_axis(moves, order, axis=1)], axis=1).cumsum(axis=1)
        added = np.empty((k, n))
        np.put_along_axis(added, order, np.diff(expit(path), axis=1), axis=1)
        total += added.sum(axis=0)
        squares += (added**2).sum(axis=0)
        done += k
    mean = total / n_orders
    return mean, np.sqrt((squares / n_orders - mean**2) / n_orders)


def _peers(model: Any, x: FloatArray, reference: FloatArray) -> dict[str, Explain]:  # noqa: C901 - one function each
    n, r = x.shape[1], len(reference)

    def probability(rows: Any) -> FloatArray:
        return np.asarray(model.predict_proba(np.asarray(rows))[:, 1])

    def linear() -> FloatArray:
        return np.asarray(shap.LinearExplainer(model, shap.maskers.Independent(reference, r)).shap_values(x))

    def kernel() -> FloatArray:
        return np.asarray(shap.KernelExplainer(probability, reference).shap_values(x, l1_reg=False, silent=True))

    def permutation(n_orders: int) -> FloatArray:
        explainer = shap.PermutationExplainer(probability, shap.maskers.Independent(reference, r), seed=0)
        return np.asarray(explainer(x, max_evals=n_orders * (2 * n + 1), silent=True).values)

    def light() -> FloatArray:
        found = explain_any(probability, x, bg_X=reference, verbose=False, random_state=0)
        return np.asarray(found.shap_values).reshape(len(x), n)

    def kernel_shap() -> FloatArray:
        values = []
        for each in x:

            def coalitions(members: Any, each: FloatArray = each) -> FloatArray:
                inside = np.atleast_2d(members) > 0.5
                rows = np.where(inside[:, None, :], each, reference[None]).reshape(-1, n)
                return np.asarray(probability(rows).reshape(-1, r).mean(axis=1))

            found = shapiq.KernelSHAP(n=n, random_state=0).approximate(2048 + 2 * n, coalitions)
            values.append([found[(i,)] for i in range(n)])
        return np.array(values)

    peers: dict[str, Explain] = {"shap.LinearExplainer, log-odds": linear}
    if n * n * r * 2 <= 100 * MOST_ROWS:
        peers |= {
            "shap.PermutationExplainer, 1 order": lambda: permutation(1),
            "shap.PermutationExplainer, 10 orders": lambda: permutation(10),
            "lightshap.explain_any": light,
        }
    if (2048 + 2 * n) * r * n <= 100 * MOST_ROWS:
        peers |= {"shap.KernelExplainer": kernel, "shapiq.KernelSHAP": kernel_shap}
    return peers
