"""Exact probabilities of logistic regression with up to 1,000 features, against peers that have to sample.

One core, after a first call that compiles and imports; times are the processor's, for one sample, of calls with four
samples, or with one where a peer takes long for that. A peer that is not done after `LONGEST` seconds is stopped. `off
by` is the largest difference from all coalitions (12 features), or from a long run of random orders (more features) in
standard errors of that run. Peers play with their own defaults for the budget, `shap.PermutationExplainer` also with
one order forth and back instead of ten; their `error` is `‖φ̂ − φ‖² / ‖φ‖²`. `shap.LinearExplainer` explains log-odds
only, and does not ask the model: `apart` is the largest difference from our values of the log-odds. Where everybody was
stopped, ratios are at least what is shown. Ten orders of 1,000 features against 100 rows take some GB of memory.
"""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
LONGEST, LONG = 10.0, 0.2  # seconds of a peer for one sample, before it is stopped, and before one has to do
AT_ONCE = 1 << 24  # numbers in a table that a peer's coalitions are turned into here
ONE_ORDER = "shap.PermutationExplainer, 1 order"

Explain = Callable[[FloatArray], FloatArray]


def run(*, quick: bool = False) -> Iterator[Row]:
    """One row per number of features, reference and way of explaining, each as soon as it is there."""
    sizes = N_FEATURES[:2] if quick else N_FEATURES
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers'
        model, x, reference = game_of(sizes[0], 1)
        for explain in [_linear(model, reference), *_peers(model, reference).values()]:
            explain(x)
        for n in sizes:
            for n_rows in (1, N_BACKGROUND):
                about = {"features": n, "reference rows": n_rows}
                yield from ({**about, **row} for row in _rows(*game_of(n, n_rows)))


def game_of(n_features: int, n_rows: int) -> tuple[LogisticRegression, FloatArray, FloatArray]:
    """A fitted model whose log-odds have a standard deviation of about 3, a sample and the reference rows."""
    rng = np.random.default_rng(n_features)
    X = rng.normal(size=(2000, n_features))
    model = LogisticRegression().fit(X, X @ rng.normal(size=n_features) > 0)
    model.coef_ *= 3.0 / np.linalg.norm(model.coef_)
    return model, rng.normal(size=(N_SAMPLES, n_features)), X[:n_rows] if n_rows > 1 else X.mean(axis=0, keepdims=True)


def _rows(model: LogisticRegression, x: FloatArray, reference: FloatArray) -> Iterator[Row]:
    seconds, found = _ours(model.predict_proba, x, reference)
    values = found.values[:, :, 1]
    peers = {name: _timed(explain, x) for name, explain in _peers(model, reference).items()}
    residual = float(np.abs(found.predictions - model.predict_proba(x)).max())
    mine = {"by": f"dcshap, {found.method}", "ms": 1e3 * seconds, "efficiency": residual}
    fastest = min(theirs for name, (theirs, _) in peers.items() if name != ONE_ORDER)
    ratios = {"fastest peer / this": _over(fastest, seconds), "one order / this": _over(peers[ONE_ORDER][0], seconds)}
    yield {**mine, **_check(model, x[:1], reference, values[0]), **ratios}
    for name, (theirs, estimate) in peers.items():
        if estimate is None:
            yield {"by": name, "ms": f"> {1e3 * LONGEST:.0f}"}
            continue
        exact = values[: len(estimate)]
        yield {"by": name, "ms": 1e3 * theirs, "error": float(((estimate - exact) ** 2).sum() / (exact**2).sum())}
    seconds, found = _ours(model.decision_function, x, reference)
    theirs, log_odds = _timed(_linear(model, reference), x)
    gap = {} if log_odds is None else {"apart": float(np.abs(log_odds - found.values[: len(log_odds)]).max())}
    ratio = {"fastest peer / this": _over(theirs, seconds)}
    yield {"by": f"dcshap, log-odds, {found.method}", "ms": 1e3 * seconds, **ratio}
    yield {"by": "shap.LinearExplainer, log-odds", "ms": 1e3 * theirs, **gap}


def _over(theirs: float, ours: float) -> float | str:
    """A ratio; at least that where they were stopped."""
    return theirs / ours if theirs < LONGEST else f"> {LONGEST / ours:.3g}"


def _ours(predict: Any, x: FloatArray, reference: FloatArray) -> tuple[float, Explanation]:
    def explain() -> Explanation:
        return shapley_values(predict, x, reference, method="exact", max_evals=1 << 20)

    explain()
    seconds, found = best_time(explain, clock=time.process_time)
    return seconds / len(x), found


def _timed(explain: Explain, x: FloatArray) -> tuple[float, FloatArray | None]:
    """Seconds for one sample, and values of some; `LONGEST` and None if that is not enough for one."""
    try:
        with _stopped_after(LONGEST):
            seconds, values = best_time(lambda: explain(x[:1]), at_least=0.0, clock=time.process_time)
    except TimeoutError:
        return LONGEST, None
    if seconds > LONG:
        return seconds, values
    seconds, values = best_time(lambda: explain(x), at_least=LONG, clock=time.process_time)
    return seconds / len(x), values


@contextmanager
def _stopped_after(seconds: float) -> Iterator[None]:
    """Raise a `TimeoutError` after so many seconds. Not of the processor: a timer of these makes its clock coarse."""

    def stop(_number: int, _frame: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


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


def _linear(model: Any, reference: FloatArray) -> Explain:
    def linear(x: FloatArray) -> FloatArray:
        masker = shap.maskers.Independent(reference, len(reference))
        return np.asarray(shap.LinearExplainer(model, masker).shap_values(x))

    return linear


def _peers(model: Any, reference: FloatArray) -> dict[str, Explain]:
    r, n = reference.shape

    def probability(rows: Any) -> FloatArray:
        return np.asarray(model.predict_proba(np.asarray(rows))[:, 1])

    def kernel(x: FloatArray) -> FloatArray:
        return np.asarray(shap.KernelExplainer(probability, reference).shap_values(x, l1_reg=False, silent=True))

    def permutation(x: FloatArray, n_orders: int) -> FloatArray:
        explainer = shap.PermutationExplainer(probability, shap.maskers.Independent(reference, r), seed=0)
        return np.asarray(explainer(x, max_evals=n_orders * (2 * n + 1), silent=True).values)

    def light(x: FloatArray) -> FloatArray:
        found = explain_any(probability, x, bg_X=reference, verbose=False, random_state=0)
        return np.asarray(found.shap_values).reshape(len(x), n)

    def kernel_shap(x: FloatArray) -> FloatArray:
        def estimate(each: FloatArray) -> list[float]:
            def coalitions(members: Any) -> FloatArray:
                inside = np.atleast_2d(members) > 0.5
                parts = np.array_split(inside, -(-inside.size * r // AT_ONCE))
                rows = (np.where(part[:, None, :], each, reference[None]).reshape(-1, n) for part in parts)
                return np.concatenate([probability(some).reshape(-1, r).mean(axis=1) for some in rows])

            found = shapiq.KernelSHAP(n=n, random_state=0).approximate(2048 + 2 * n, coalitions)
            return [found[(i,)] for i in range(n)]

        return np.array([estimate(each) for each in x])

    return {
        ONE_ORDER: lambda x: permutation(x, 1),
        "shap.PermutationExplainer, 10 orders": lambda x: permutation(x, 10),
        "shap.KernelExplainer": kernel,
        "shapiq.KernelSHAP": kernel_shap,
        "lightshap.explain_any": light,
    }
