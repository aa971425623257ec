from __future__ import annotations

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Tests run in several processes; more threads than cores only wait for each other."""
    with threadpool_limits(1):
        yield
