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
