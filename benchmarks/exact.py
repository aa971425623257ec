"""Exact values of the paper's game, with several models in the common space, against peers at their best settings.

Everybody has one thread, calls the same model, and is timed in the same way (the processor's time), after a first call
that compiles and imports. As a machine's speed changes by the minute, dcshap and its fastest peer then take turns, of
which the median is told. With the typical reference, which is the default of collaborations, about half of the players
are null. `bare` is the model alone, called once with all points that the games have.
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
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from benchmarks.adult_game import RESOLUTION, AdultGame, adult_game
from benchmarks.report import Row, best_time
from dcshap._typing import BoolArray, FloatArray
from dcshap.shapley import additive_shapley_values
from dcshap.shapley.game.coalitions import doubled

Explain = Callable[[FloatArray], FloatArray]

TURNS = 5  # of dcshap and its fastest peer

MODELS: dict[str, Any] = {
    "7-nn, kd-tree": KNeighborsClassifier(7, algorithm="kd_tree"),
    "logistic regression": LogisticRegression(),
    "network, 100 hidden": MLPClassifier((100,), max_iter=10, random_state=0),
    "gradient boosting": HistGradientBoostingClassifier(random_state=0),
    "random forest": RandomForestClassifier(100, max_depth=12, random_state=0),
}


def run(*, quick: bool = False) -> list[Row]:
    """One row per model and way of explaining it."""
    n_samples = 3 if quick else 50
    game, typical = adult_game(n_samples), adult_game(n_samples, typical=True)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers', and a network that stops early
        rows = [row for name in MODELS for row in _rows(name, game)]
        return rows + [row for name in [*MODELS][:1] for row in _rows(name, typical, ", typical reference")]


def _rows(name: str, game: AdultGame, about: str = "") -> list[Row]:
    model = MODELS[name].fit(game.common, game.target)
    # Linear models have no ties to break, and the grid would only hide that their points are sums.
    resolution = RESOLUTION if name.startswith("7-nn") else 0.0
    ours, explainers = _ours(model, game, resolution), _peers(model, game, resolution)
    ours(game.samples)  # which compiles what many samples need
    seconds, mine = _timed(ours, game.samples)
    peers = {peer: _timed(explain, game.samples) for peer, explain in explainers.items()}
    fastest = min(peers, key=lambda peer: peers[peer][0])
    bare = _bare(model, game, resolution)
    ratio = _in_turns(explainers[fastest], ours, game.samples)
    figures = {"by": "dcshap", **_figures(seconds, game, bare), "fastest peer / this": ratio}
    rows: list[Row] = [{"model": name + about, **figures}]
    for peer, (theirs, values) in peers.items():
        gap = float(np.abs(values - mine[:, :, -values.shape[2] :]).max())
        rows.append({"model": name + about, "by": peer, **_figures(theirs, game, bare), "largest difference": gap})
    rows.append({"model": name + about, "by": "bare model", **_figures(bare, game, bare)})
    return rows


def _figures(seconds: float, game: AdultGame, bare: float) -> Row:
    return {"ms a sample": 1000 * seconds / len(game.samples), "times bare": seconds / bare}


def _timed(explain: Explain, samples: FloatArray) -> tuple[float, FloatArray]:
    explain(samples[:2])
    return best_time(lambda: explain(samples), clock=time.process_time)


def _in_turns(theirs: Explain, ours: Explain, samples: FloatArray) -> float:
    """The median of their time over ours, of calls in turns."""

    def took(explain: Explain) -> float:
        return best_time(lambda: explain(samples), at_most=1, clock=time.process_time)[0]

    return float(np.median([took(theirs) / took(ours) for _ in range(TURNS)]))


def _ours(model: Any, game: AdultGame, resolution: float) -> Explain:
    def explain(samples: FloatArray) -> FloatArray:
        offsets = (samples - game.reference)[:, :, None] * game.axes
        explanation = additive_shapley_values(
            model.predict_proba, game.base, offsets, resolution=resolution, method="exact"
        )
        return explanation.values

    return explain


def _bare(model: Any, game: AdultGame, resolution: float) -> float:
    points = np.concatenate([doubled(game.base, offsets) for offsets in game.offsets])
    if resolution > 0:
        points = np.round(points / resolution) * resolution
    return best_time(lambda: model.predict_proba(points), clock=time.process_time)[0]


def _peers(model: Any, game: AdultGame, resolution: float) -> dict[str, Explain]:
    background = game.reference[None, :]
    n_players = len(game.reference)

    def predict(rows: FloatArray) -> FloatArray:
        return game.predict(model, rows, resolution=resolution)

    def kernel(samples: FloatArray) -> FloatArray:
        explainer = shap.KernelExplainer(predict, background)
        return np.asarray(explainer.shap_values(samples, nsamples=2**n_players, l1_reg=False, silent=True))

    def exact(samples: FloatArray) -> FloatArray:
        explainer = shap.ExactExplainer(predict, shap.maskers.Independent(background))
        return np.asarray(explainer(samples, silent=True).values)

    def computer(samples: FloatArray) -> FloatArray:
        return np.stack([_shapiq_values(predict, x, game.reference) for x in samples])[:, :, None]

    def light(samples: FloatArray) -> FloatArray:
        explained = explain_any(predict, samples, bg_X=background, method="kernel", how="exact", verbose=False)
        return np.asarray(explained.shap_values)

    return {
        "shap.KernelExplainer": kernel,
        "shap.ExactExplainer": exact,
        "shapiq.ExactComputer": computer,
        "lightshap.explain_any": light,
    }


def _shapiq_values(predict: Explain, x: FloatArray, reference: FloatArray) -> FloatArray:
    """Of the last output: it computes one at a time, and the last is enough to compare."""

    def game(coalitions: BoolArray) -> FloatArray:
        return predict(np.where(coalitions, x, reference))[:, -1]

    values = shapiq.ExactComputer(game, n_players=len(reference))("SV", 1)
    return np.array([values[(player,)] for player in range(len(reference))])
