"""Nothing here reaches the network: what needs a published file is skipped where the file is not at hand."""

from __future__ import annotations

import pytest

from dcshap.datasets import files


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
