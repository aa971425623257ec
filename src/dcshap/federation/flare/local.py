"""A whole federation on this machine's loopback, as separate processes with real certificates; to try it, and to test.

All keys are made in one place, which real organisations do not do: there each makes its own (`docs/federation.md`).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from dcshap.exceptions import FederationError
from dcshap.federation.flare.kits import Kit, secure_server
from dcshap.federation.flare.processes import SiteProcess, free_port
from dcshap.federation.flare.session import Session

__all__ = ["LEAD", "LocalFederation", "provision"]

LEAD = "lead@analyst.example"
_SERVER = "localhost"
_BUILDERS: list[dict[str, Any]] = [
    {"path": "nvflare.lighter.impl.workspace.WorkspaceBuilder", "args": {}},
    {
        "path": "nvflare.lighter.impl.static_file.StaticFileBuilder",
        "args": {"config_folder": "config", "scheme": "http"},
    },
    {"path": "nvflare.lighter.impl.cert.CertBuilder"},
    {"path": "nvflare.lighter.impl.signature.SignatureBuilder"},
]


def provision(folder: Path, *, port: int, parties: Sequence[str], requesters: Sequence[str]) -> dict[str, Kit]:
    """Make everybody's kits in one place, for one machine; by name."""
    server = {"name": _SERVER, "type": "server", "org": "analyst", "fed_learn_port": port, "admin_port": port}
    clients = [{"name": name, "type": "client", "org": name} for name in parties]
    asking = [
        {"name": name, "type": "admin", "org": "analyst", "role": "lead" if name == LEAD else "member"}
        for name in (LEAD, *requesters)
    ]
    project = {
        "api_version": 3,
        "name": "dcshap",
        "description": "dcshap on loopback",
        "participants": [server | {"connection_security": "mtls"}, *clients, *asking],
        "builders": _BUILDERS,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "project.yml").write_text(yaml.safe_dump(project), encoding="utf-8")
    run_nvflare("provision", "-p", str(folder / "project.yml"), "-w", str(folder / "kits"), "--force")
    made = folder / "kits" / "dcshap" / "prod_00"
    return {name: Kit.load(made / name) for name in (_SERVER, *parties, LEAD, *requesters)}


def run_nvflare(*arguments: str, timeout: float = 120.0) -> str:
    """Run the engine's own command; what it printed."""
    command = [sys.executable, "-c", "from nvflare.cli import main; main()", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)  # noqa: S603
    if done.returncode:
        raise FederationError(f"`nvflare {arguments[0]}` failed: {done.stdout.strip()} {done.stderr.strip()}")
    return done.stdout


class LocalFederation:
    """An analyst, parties and requesters on loopback.

    Parameters
    ----------
    folder : path
    parties : sequence of str
    requesters : sequence of str
        Who may ask, beside the one who leads (`LEAD`).
    """

    def __init__(self, folder: str | Path, parties: Sequence[str], *, requesters: Sequence[str] = ()) -> None:
        self.port = free_port()
        self.parties = list(parties)
        self.kits = provision(Path(folder).absolute(), port=self.port, parties=parties, requesters=requesters)
        secure_server(self.kits[_SERVER])
        self.server = SiteProcess(self.kits[_SERVER])
        self.sites = {name: SiteProcess(self.kits[name]) for name in parties}

    def start(self, *, parties: Sequence[str] | None = None, timeout: float = 60.0) -> Self:
        """Start the server, and then parties; all by default."""
        self.server.start().wait_for_port(self.port, timeout=timeout)
        for name in self.parties if parties is None else parties:
            self.sites[name].start()
        return self

    def environment(self, name: str, env: Mapping[str, str]) -> None:
        """Give a site's process another environment, from its next start on."""
        if name == _SERVER:
            self.server = SiteProcess(self.kits[name], env=env)
        else:
            self.sites[name] = SiteProcess(self.kits[name], env=env)

    def requester(self, name: str = LEAD, *, timeout: float = 30.0) -> Session:
        """A session for somebody who may ask; use it in a `with` statement."""
        return Session(self.kits[name].folder, timeout=timeout)

    def stop(self) -> None:
        """End all processes, all at once: each takes some seconds to say goodbye."""
        sites = (*self.sites.values(), self.server)
        with ThreadPoolExecutor(max_workers=len(sites)) as threads:
            list(threads.map(SiteProcess.stop, sites))

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
