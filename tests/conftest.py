from __future__ import annotations

import pytest
from threadpoolctl import threadpool_limits

from dcshap.datasets import files


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
