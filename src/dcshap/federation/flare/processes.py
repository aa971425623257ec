"""Sites as processes: started, watched, and ended with everything they have started themselves."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from dcshap.exceptions import FederationError
from dcshap.federation.flare.kits import Kit
from dcshap.federation.seals.identity import Identity

__all__ = ["SiteProcess", "free_port", "run_in_foreground"]

_GRACE = 5.0  # seconds between asking a process to end and ending it
_ENGINE = "nvflare.private."  # how the modules of the engine's processes begin
_LOOK = 0.2  # seconds between looks at a process
# What the engine prints once a site is up, and what keeps it from that.
_UP = {"party": "Successfully registered client", "server": "Server started"}
_NOT_UP = {
    "party": "The analyst's server has not let this party in yet: it is not running, cannot be reached, or does not "
    "accept this certificate. It is asked again and again.",
    "server": "The server is not up yet: the port may be in use, or the host's name may not be this machine's.",
}


def free_port() -> int:
    """A port on loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class SiteProcess:
    """A participant's process, with a log of its own in its kit.

    Parameters
    ----------
    kit : Kit
    env : mapping, optional
        More of the environment.
    """

    def __init__(self, kit: Kit, *, env: Mapping[str, str] | None = None) -> None:
        self.kit = kit
        self._env = {**os.environ, "PYTHONWARNINGS": "ignore", **(env or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """What the process has printed."""
        return self.kit.folder / "console.txt"

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return self._process is not None and self._process.poll() is None

    @property
    def returncode(self) -> int:
        """What the process returned, once it has ended."""
        return 0 if self._process is None else int(self._process.returncode or 0)

    def start(self) -> Self:
        """Start the process; it answers some seconds later."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
                [sys.executable, *self.kit.command()],
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                cwd=self.kit.folder,
                env=self._env,
                start_new_session=True,
            )
        return self

    def wait_for_port(self, port: int, *, timeout: float) -> None:
        """Wait until the process listens."""
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            if not self.running:
                raise FederationError(f"{self.kit.name!r} ended while it was starting. {self.log} says why.")
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=1.0):
                    return
            except OSError:
                time.sleep(0.2)
        raise FederationError(f"{self.kit.name!r} did not listen within {timeout:g} s. {self.log} says why.")

    def said(self, text: str, *, since: int = 0) -> bool:
        """Whether the process has printed a text, after so many bytes."""
        if not self.log.exists():
            return False
        with self.log.open("rb") as log:
            log.seek(since)
            return text.encode() in log.read()

    def processes(self) -> list[psutil.Process]:
        """The site's process and those of its runs.

        A run's process is in a session of its own, and may outlive the site's process; its arguments name the kit, and
        the engine's module, which those of whoever started the site do not.
        """
        found = {}
        for process in psutil.process_iter(["cmdline"]):
            arguments = process.info["cmdline"] or []
            if str(self.kit.folder) in arguments and any(each.startswith(_ENGINE) for each in arguments):
                found[process.pid] = process
        if self._process is not None and psutil.pid_exists(self._process.pid):
            found[self._process.pid] = psutil.Process(self._process.pid)
        return list(found.values())

    def stop(self) -> None:
        """End the site and its runs."""
        processes = self.processes()
        for process in processes:
            _ignoring_gone(process.terminate)
        _, alive = psutil.wait_procs(processes, timeout=_GRACE)
        self._end(alive)

    def kill(self) -> None:
        """End the site and its runs at once, as a power cut would."""
        self._end(self.processes())

    def _end(self, processes: list[psutil.Process]) -> None:
        for process in processes:
            _ignoring_gone(process.kill)
        psutil.wait_procs(processes, timeout=_GRACE)
        if self._process is not None:
            self._process.wait(timeout=_GRACE)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def _ignoring_gone(action: object) -> None:
    try:
        action()  # type: ignore[operator]
    except psutil.NoSuchProcess:
        return


def run_in_foreground(kit: Kit, tell: Callable[[str], None], *, patience: float = 30.0) -> int:
    """Run a site until it ends, or until this process is interrupted or told to end; what it returned.

    Parameters
    ----------
    kit : Kit
    tell : callable
        Is told that the site is up; and, where it is not after some `patience` (in seconds), what that may be due to.
    """
    Identity(kit.startup)  # the engine waits without a word where its certificate is missing or another authority's
    site, told = SiteProcess(kit), threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told.set())
    began = site.log.stat().st_size if site.log.exists() else 0
    waiting, until = True, time.monotonic() + patience
    with site:
        tell(f"{kit.name} is starting; {site.log} has the engine's own words. Interrupt to end.")
        while site.running and not told.wait(_LOOK):
            if waiting and site.said(_UP[kit.role], since=began):
                waiting = False
                tell(f"{kit.name} is up.")
            elif waiting and time.monotonic() >= until:
                until = float("inf")
                tell(_NOT_UP[kit.role])
        ended = not told.is_set()
    return site.returncode if ended else 0
