"""Where the analyst's server listens: on the address that was configured, and nowhere else.

The engine listens on all interfaces wherever its host is not this machine's loopback. `DCSHAP_LISTEN` is the address to
listen on instead; `dcshap federation analyst start` sets it.
"""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

from dcshap.exceptions import InputError, StorageError

__all__ = ["LISTEN", "address_of", "listen_where_configured", "server_of"]

LISTEN = "DCSHAP_LISTEN"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_EVERYWHERE = "://0:"  # how the engine writes "all interfaces"


def server_of(folder: Path) -> tuple[str, int]:
    """The host and the port of the analyst's server, as a participant's kit has them."""
    startup = folder / "startup"
    try:
        admin = startup / "fed_admin.json"
        if admin.exists():
            content = json.loads(admin.read_text(encoding="utf-8"))["admin"]
            return str(content["host"]), int(content["port"])
        (path,) = [each for each in (startup / "fed_server.json", startup / "fed_client.json") if each.exists()]
        target = str(json.loads(path.read_text(encoding="utf-8"))["servers"][0]["service"]["target"])
        host, _, port = target.rpartition(":")
        return host, int(port)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise StorageError(f"{startup} must say where the analyst's server is. It cannot be read.") from error


def address_of(host: str, listen: str | None = None) -> str:
    """The address to listen on: what was asked for, or the one that the host's name stands for."""
    if listen is not None or host in _LOOPBACK:
        return listen or "127.0.0.1"
    try:
        return str(socket.getaddrinfo(host, None, family=socket.AF_INET)[0][4][0])
    except OSError as error:
        raise InputError(
            f"The server's host {host!r} has no address here. Say which to listen on: --listen ADDRESS."
        ) from error


def listen_where_configured() -> None:
    """Have the engine of this process listen on the address in `DCSHAP_LISTEN`, and between processes on loopback."""
    address = os.environ.get(LISTEN)
    if not address:
        return
    from nvflare.private.fed.server import fed_server  # noqa: PLC0415 - slow, and needed by the server alone

    cell = fed_server.Cell

    def listening(*args: Any, root_url: Any = None, **more: Any) -> Any:
        if isinstance(root_url, list):  # the server's own; those of its runs are told a string
            root_url = [url.replace(_EVERYWHERE, f"://{address}:") for url in root_url]
            more["internal_listener_host"] = "127.0.0.1"
        return cell(*args, root_url=root_url, **more)

    fed_server.Cell = listening
