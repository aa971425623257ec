from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from dcshap import shapley_values
from dcshap.datasets import files


def pytest_configure(config):
    """Spans that do not know what predicts lose columns of most tables here; test_survival.py has that warning."""
    config.addinivalue_line("filterwarnings", "ignore:Hardly anything of:dcshap.exceptions.QualityWarning")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    if config.option.dist == "loadfile":
        from tests.scheduling import Scheduling  # noqa: PLC0415 - where there is xdist

        return Scheduling(config, log)
    return None


def pytest_sessionstart(session):
    """Compile the usual kernels once, before several processes would all do it at the same time."""
    if getattr(session.config.option, "numprocesses", None) and not hasattr(session.config, "workerinput"):
        few = KNeighborsClassifier(1).fit(np.eye(4), range(4))
        shapley_values(few.predict_proba, np.eye(4)[:1] + 0.25, np.eye(4)[1])
        for model, n_columns in ((KNeighborsClassifier(7), 5), (LogisticRegression(), 30)):
            rows = np.random.default_rng(0).normal(size=(40, n_columns))
            model.fit(rows, rows[:, 0] > 0)
            for n in (1, 3):
                shapley_values(model.predict_proba, rows[:n], rows[-1])


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Tests run in several processes; more threads than cores only wait for each other."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def published():
    """A function that skips the test if a published file is neither in `DCSHAP_DATA` nor in the cache."""

    def require(*names: str) -> None:
        for name in names:
            file = files.PUBLISHED[name]
            places = (files.data_path(file), files.cache_path(file))
            if not any(place is not None and place.exists() for place in places):
                pytest.skip(f"{name} is neither in {files.DATA_VARIABLE} nor in the cache")

    return require
