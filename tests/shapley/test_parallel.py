"""Cores, clusters and the bar that shows how far they are."""

from __future__ import annotations

import joblib
import numpy as np
import pytest

from dcshap.shapley import shapley_values

X = np.random.default_rng(0).normal(size=(6, 7))
ZEROS = np.zeros(7)


def _predict(rows):
    return np.tanh(rows.sum(axis=1)) * rows[:, 0]


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_jobs_do_not_change_exact_values(backend):
    alone = shapley_values(_predict, X, ZEROS, batch_size=100)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        together = shapley_values(_predict, X, ZEROS, batch_size=100)
    np.testing.assert_array_equal(alone.values, together.values)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the cluster's own, on starting and stopping
def test_a_dask_cluster_takes_the_work():
    from distributed import Client, LocalCluster

    def where(rows):
        from distributed import get_worker

        seen = get_worker().name  # raises outside a worker
        assert seen is not None
        return np.tanh(rows.sum(axis=1)) * rows[:, 0]

    alone = shapley_values(_predict, X, ZEROS, batch_size=100)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        with joblib.parallel_config(backend="dask"):
            together = shapley_values(_predict, X, ZEROS, batch_size=100)
            sampled = shapley_values(_predict, X, ZEROS, method="sampled", max_evals=60, random_state=1)
        on_workers = {name for names in client.has_what() for name in [names]}
        assert len(on_workers) == 2
    np.testing.assert_array_equal(alone.values, together.values)
    here = shapley_values(_predict, X, ZEROS, method="sampled", max_evals=60, random_state=1)
    np.testing.assert_array_equal(here.values, sampled.values)


def test_nothing_is_printed_unless_asked_for(capfd):
    shapley_values(_predict, X, ZEROS)
    assert capfd.readouterr() == ("", "")


def test_the_bar_counts_samples_on_stderr(capfd):
    shapley_values(_predict, X, ZEROS, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "6/6" in err
