"""How cost grows: with players, samples and training rows, as fitted exponents; and memory at 20 players.

Time should double with every player (growth 2), and grow in proportion to samples and, for neighbours, no faster than
in proportion to training rows (exponents up to 1). One thread.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from benchmarks.report import Row, best_time
from dcshap._typing import FloatArray
from dcshap.shapley import additive_shapley_values, shapley_values

N_DIMENSIONS = 9


def run(*, quick: bool = False) -> list[Row]:
    """One row per fitted exponent, and one per peak of memory."""
    players = (8, 10, 12) if quick else (8, 10, 12, 14, 16, 18, 20)
    samples = (4, 8, 16) if quick else (8, 16, 32, 64)
    training = (2000, 4000, 8000) if quick else (2000, 4000, 8000, 16000, 32000)
    with threadpool_limits(1):
        return [
            _growth("any model", players, lambda m: _any_model(1, m)),
            _growth("7-nn, 8000 rows", players, lambda m: _neighbours(1, m, 8000)),
            _exponent("any model, 12 players", "samples", samples, lambda n: _any_model(n, 12)),
            _exponent("7-nn, 12 players", "samples", samples, lambda n: _neighbours(n, 12, 8000)),
            _exponent("7-nn, 12 players", "training rows", training, lambda n: _neighbours(4, 12, n)),
            *_memory(12 if quick else 20),
        ]


def _any_model(n_samples: int, n_players: int) -> None:
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(n_players, 4))

    def predict(rows: FloatArray) -> FloatArray:
        return np.asarray(np.tanh(rows @ weights).sum(axis=1))

    shapley_values(predict, rng.normal(size=(n_samples, n_players)), np.zeros(n_players), method="exact")


def _neighbours(n_samples: int, n_players: int, n_training: int) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_training, N_DIMENSIONS))
    model = KNeighborsClassifier(7, algorithm="kd_tree").fit(rows, rows[:, 0] > 0)
    offsets = rng.normal(size=(n_samples, n_players, N_DIMENSIONS)) / np.sqrt(n_players)
    additive_shapley_values(model.predict_proba, np.zeros(N_DIMENSIONS), offsets, method="exact")


def _times(sizes: Sequence[int], task: Callable[[int], None]) -> list[float]:
    task(min(sizes))  # compiles
    return [best_time(partial(task, size), at_least=0.3, at_most=5)[0] for size in sizes]


def _growth(name: str, sizes: Sequence[int], task: Callable[[int], None]) -> Row:
    """Fitted to the larger half, where fixed costs no longer matter."""
    seconds = _times(sizes, task)
    half = len(sizes) // 2
    slope = np.polyfit(sizes[half:], np.log2(seconds[half:]), 1)[0]
    return {
        "game": name,
        "against": "players",
        "from": sizes[0],
        "to": sizes[-1],
        "seconds at the end": seconds[-1],
        "growth a player": float(2**slope),
    }


def _exponent(name: str, against: str, sizes: Sequence[int], task: Callable[[int], None]) -> Row:
    seconds = _times(sizes, task)
    slope = np.polyfit(np.log2(sizes), np.log2(seconds), 1)[0]
    return {
        "game": name,
        "against": against,
        "from": sizes[0],
        "to": sizes[-1],
        "seconds at the end": seconds[-1],
        "exponent": float(slope),
    }


def _memory(n_players: int) -> list[Row]:
    """Peak memory of a whole process that does nothing else, imports and compiler included."""
    rows = []
    for name, task in {"any model": _peak_any_model, "7-nn, 8000 rows": _peak_neighbours}.items():
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            peak = pool.apply(task, (n_players,))
        rows.append({"game": name, "against": "memory", "to": n_players, "peak MB": peak})
    return rows


def _peak_any_model(n_players: int) -> float:
    _any_model(1, n_players)
    return _peak()


def _peak_neighbours(n_players: int) -> float:
    _neighbours(1, n_players, 8000)
    return _peak()


def _peak() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
