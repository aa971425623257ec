"""Sites as processes: one per kit, watched, and ended with everything they have started themselves."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

import psutil

from dcshap.exceptions import FederationError, StorageError
from dcshap.federation.flare.kits import Kit
from dcshap.federation.flare.listening import server_of

__all__ = ["SiteProcess", "free_port", "is_running"]

_GRACE = 5.0  # seconds between asking a process to end and ending it
_ENGINE = "nvflare.private."  # how the modules of the engine's processes begin
_LOOK = 0.2  # seconds between looks at a process
_LOCK = "site.lock"
_LONGEST_CONSOLE = 10_000_000  # bytes of what the engine prints; its own logs rotate by themselves
_UP = "Successfully registered client"  # what the engine prints once a party is let in


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
        self._began = 0

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
        """Start the process; it answers some seconds later.

        Raises
        ------
        FederationError
            If the site is running already: two engines of one name would throw each other out.
        """
        with _locked(self.kit) as lock:
            _end_leftovers(self.kit)
            if self.log.exists() and self.log.stat().st_size > _LONGEST_CONSOLE:
                self.log.replace(self.log.with_suffix(".1.txt"))
            self._began = self.log.stat().st_size if self.log.exists() else 0
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
                    [sys.executable, *self.kit.command()],
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    cwd=self.kit.folder,
                    env=self._env,
                    start_new_session=True,
                    pass_fds=[lock.fileno()],  # the lock is held for as long as the process lives
                )
            lock.truncate(0)
            lock.write(str(self._process.pid))
            lock.flush()
        return self

    def is_up(self) -> bool:
        """Whether the site can be used: a server listens on its port itself, a party was let in."""
        if self.kit.role == "server":
            port = server_of(self.kit.folder)[1]
            return any(port in _listened_on(process) for process in self.processes())
        return self.said(_UP, since=self._began)

    def wait_for_port(self, port: int, *, timeout: float) -> None:
        """Wait until the process itself listens."""
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            if not self.running:
                raise FederationError(f"{self.kit.name!r} ended while it was starting. {self.log} says why.")
            if any(port in _listened_on(process) for process in self.processes()):
                return
            time.sleep(_LOOK)
        raise FederationError(f"{self.kit.name!r} did not listen within {timeout:g} s. {self.log} says why.")

    def said(self, text: str, *, since: int = 0) -> bool:
        """Whether the process has printed a text, after so many bytes."""
        if not self.log.exists():
            return False
        with self.log.open("rb") as log:
            log.seek(since)
            return text.encode() in log.read()

    def processes(self) -> list[psutil.Process]:
        """The site's own process and everything it has started, its runs among them."""
        if self._process is None or not psutil.pid_exists(self._process.pid):
            return []
        try:
            site = psutil.Process(self._process.pid)
            return [site, *site.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

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


@contextmanager
def _locked(kit: Kit) -> Iterator[TextIO]:
    """The file that a site's process holds locked while it lives; refused while another holds it."""
    path = kit.folder / _LOCK
    try:
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{path} cannot be written ({error.strerror}). The site must own its folder.") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            raise FederationError(
                f"{kit.name!r} is running already, as process {file.read().strip()}. End that one first."
            ) from error
        yield file


def is_running(kit: Kit) -> bool:
    """Whether a process of the site is running, whoever has started it."""
    try:
        with _locked(kit):
            return False
    except FederationError:
        return True


def _end_leftovers(kit: Kit) -> None:
    """End runs whose site has ended; called with the lock held, so that nobody else's are met."""
    left = []
    for process in psutil.process_iter(["cmdline"]):
        arguments = process.info["cmdline"] or []
        if str(kit.folder) in arguments and any(each.startswith(_ENGINE) for each in arguments):
            left.append(process)
            _ignoring_gone(process.kill)
    psutil.wait_procs(left, timeout=_GRACE)


def _listened_on(process: psutil.Process) -> set[int]:
    """The ports that a process listens on."""
    try:
        connections = process.net_connections(kind="tcp")
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return set()
    return {each.laddr.port for each in connections if each.status == psutil.CONN_LISTEN}


def _ignoring_gone(action: object) -> None:
    try:
        action()  # type: ignore[operator]
    except psutil.NoSuchProcess:
        return
