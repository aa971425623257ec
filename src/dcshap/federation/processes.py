"""Sites as processes: started, watched, and ended with everything they have started themselves."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from dcshap.exceptions import FederationError
from dcshap.federation.kits import Kit

__all__ = ["Site", "free_port", "run_in_foreground"]

_GRACE = 5.0  # seconds between asking a process to end and ending it


def free_port() -> int:
    """A port on loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Site:
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

    def processes(self) -> list[psutil.Process]:
        """The site's process and those of its runs.

        A run's process is in a session of its own, and may outlive the site's process; its arguments name the kit.
        """
        found = {}
        for process in psutil.process_iter(["cmdline"]):
            arguments = process.info["cmdline"] or []
            if str(self.kit.folder) in arguments:
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


def run_in_foreground(kit: Kit) -> int:
    """Run a site until it ends, or until this process is interrupted or told to end; what it returned."""
    site, told = Site(kit), threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told.set())
    with site:
        while site.running and not told.wait(0.2):
            pass
        ended = not told.is_set()
    return site.returncode if ended else 0
