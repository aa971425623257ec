"""No test of this folder reaches the network: every public address is replaced by one where nobody listens."""

from __future__ import annotations

import dataclasses
import socket

import pytest

from dcshap.datasets import files


@pytest.fixture
def closed_address():
    """An address on this machine with nobody behind it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return f"http://127.0.0.1:{port}"


@pytest.fixture(autouse=True)
def no_network(monkeypatch, closed_address):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name, file in files.PUBLISHED.items():
        offline = dataclasses.replace(file, url=f"{closed_address}/{name}")
        monkeypatch.setitem(files.PUBLISHED, name, offline)


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
