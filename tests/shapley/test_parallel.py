"""Cores, clusters and the bar that shows how far they are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from distributed import LocalCluster

from dcshap._typing import FloatArray
from dcshap.shapley import shapley_values

X = np.random.default_rng(0).normal(size=(6, 7))
ZEROS = np.zeros(7)


def _predict(rows: FloatArray) -> FloatArray:
    return np.asarray(np.tanh(rows.sum(axis=1)) * rows[:, 0])


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_jobs_do_not_change_exact_values(backend):
    alone = shapley_values(_predict, X, ZEROS, batch_size=100)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        together = shapley_values(_predict, X, ZEROS, batch_size=100)
    np.testing.assert_array_equal(alone.values, together.values)


@dataclass(frozen=True)
class LeavesTraces:
    """A model that leaves a file for every process it is called in."""

    folder: Path

    def __call__(self, rows):
        (self.folder / str(os.getpid())).touch()
        return _predict(rows)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the cluster's own, on starting and stopping
@pytest.mark.parametrize("options", [{"batch_size": 100}, {"method": "sampled", "max_evals": 60, "random_state": 1}])
def test_a_dask_cluster_takes_the_work(options, tmp_path):
    alone = shapley_values(_predict, X, ZEROS, **options)
    start: Any = LocalCluster  # it has no types
    with (
        start(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        cluster.get_client(),
        joblib.parallel_config(backend="dask"),
    ):
        together = shapley_values(LeavesTraces(tmp_path), X, ZEROS, **options)
    np.testing.assert_array_equal(alone.values, together.values)
    elsewhere = {path.name for path in tmp_path.iterdir()} - {str(os.getpid())}
    assert len(elsewhere) == 2


def test_nothing_is_printed_unless_asked_for(capfd):
    shapley_values(_predict, X, ZEROS)
    assert capfd.readouterr() == ("", "")


def test_the_bar_counts_samples_on_stderr(capfd):
    shapley_values(_predict, X, ZEROS, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "6/6" in err
