from __future__ import annotations

import warnings
from typing import Any

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Threads of many small calls wait for each other far longer than they work."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def shap() -> Any:
    """Shap, imported without the warnings that it causes in matplotlib."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import shap  # noqa: PLC0415 - a peer, not for every test
    return shap


@pytest.fixture(scope="session")
def shapiq() -> Any:
    """Shapiq, likewise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import shapiq  # noqa: PLC0415 - a peer, not for every test
    return shapiq
