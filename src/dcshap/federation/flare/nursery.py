"""Where the processes of runs come from: one process per site imports everything once, and every run is a fork of it.

Imports take seconds of a processor; a run that begins anew would otherwise spend most of its start on them. The process
has one thread and no connections, so that a fork of it is a fresh process in all but its imports. A run's parent is
the site itself, as if the site had started it: whoever forks it ends at once, and the site adopts it.

Called as `python -m dcshap.federation.flare.nursery MODULE KIT CHANNEL`, where MODULE is what the engine runs a run in,
and CHANNEL the number of a socket that orders come by.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import runpy
import shlex
import socket
import subprocess
import sys
import threading
import time
from typing import Any

import psutil
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.fl_context import FLContext
from nvflare.apis.job_launcher_spec import JobHandleSpec
from nvflare.app_common.job_launcher.client_process_launcher import ClientProcessJobLauncher
from nvflare.app_common.job_launcher.process_launcher import ProcessHandle
from nvflare.app_common.job_launcher.server_process_launcher import ServerProcessJobLauncher
from nvflare.utils.job_launcher_utils import get_credential_env

from dcshap.federation.flare.heaps import give_back_memory

__all__ = ["RUN", "AnalystLauncher", "PartyLauncher", "adopt_orphans", "main"]

RUN = "dcshap-run"  # the name of a run's process
_SERVER, _PARTY = "nvflare.private.fed.app.server.runner_process", "nvflare.private.fed.app.client.worker_process"
# What a run's process imports sooner or later.
_NEEDED = {
    _SERVER: ("dcshap.federation.flare.controller", "skops.io"),
    _PARTY: ("dcshap.federation.flare.executor", "skops.io", "numba"),
}
_PATIENCE = 120.0  # seconds until the first process is there; the machine may be busy
_SET_NAME, _ADOPT = 15, 36  # prctl's
_FORKS = sys.platform == "linux"  # elsewhere a process cannot become the parent of its grandchildren
_LOOK = 30.0  # seconds between looks for children that have ended and that nobody waits for


class Nursery:
    """A site's process that its runs are forked from; the site's side of it.

    Parameters
    ----------
    module : str
        What the engine runs a run in.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None

    def begin(self) -> socket.socket:
        """The channel to a process that lives; it is started where there is none."""
        if self._channel is None or self._process is None or self._process.poll() is not None:
            kit = sys.argv[
                sys.argv.index("-m") + 1
            ]  # as the site was told itself, so that its runs are known as its own
            self._channel, theirs = socket.socketpair()
            self._channel.settimeout(_PATIENCE)
            with theirs:
                command = [sys.executable, "-u", "-m", "dcshap.federation.flare.nursery", self._module, kit]
                command.append(str(theirs.fileno()))
                self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])  # noqa: S603 - our own
        return self._channel

    def start(self, argv: list[str], env: dict[str, str]) -> int | None:
        """Start a process; its number, and None where that cannot be done."""
        with self._lock:
            try:
                channel = self.begin()
                channel.sendall(json.dumps({"argv": argv, "env": env}).encode() + b"\n")
                return int(channel.makefile("rb").readline())
            except (OSError, ValueError):
                if self._process is not None:
                    self._process.kill()
                return None


class _Launcher:
    """Starts runs from a nursery where a site can adopt them, and as the engine does elsewhere or if that fails."""

    module = ""

    def __init__(self) -> None:
        super().__init__()
        self._nursery = Nursery(self.module) if _FORKS else None

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Begin once the site is up. The engine makes a launcher in every run too, where this does not come."""
        if event_type == EventType.SYSTEM_START and self._nursery is not None:
            self._nursery.begin()
        super().handle_event(event_type, fl_ctx)  # type: ignore[misc]

    def launch_job(self, job_meta: dict[str, Any], fl_ctx: FLContext) -> JobHandleSpec:
        """Start the process of a run. No code comes with a job, so that there is no path to add for it."""
        if self._nursery is None:
            return super().launch_job(job_meta, fl_ctx)  # type: ignore[misc]
        argv = shlex.split(self.get_command(job_meta, fl_ctx), comments=True)  # type: ignore[attr-defined]
        env = os.environ | get_credential_env(fl_ctx.get_prop(FLContextKey.JOB_PROCESS_ARGS) or {})
        pid = self._nursery.start(argv[argv.index("-m") + 1 :], dict(env))
        return super().launch_job(job_meta, fl_ctx) if pid is None else ProcessHandle(pid=pid)  # type: ignore[misc]


class PartyLauncher(_Launcher, ClientProcessJobLauncher):  # type: ignore[misc]  # nvflare is untyped
    """A party's runs."""

    module = _PARTY


class AnalystLauncher(_Launcher, ServerProcessJobLauncher):  # type: ignore[misc]
    """The analyst's runs."""

    module = _SERVER


# --- the process itself -------------------------------------------------------------------------------------------


def adopt_orphans() -> None:
    """Become the parent of what this process's children leave behind, as Linux can, and bury it once it has ended."""
    if _FORKS:
        _prctl(_ADOPT, 1)
        threading.Thread(target=_bury, daemon=True, name="orphans").start()


def _bury() -> None:
    """Take note of orphans that have ended, so that they do not stay in the system's table for years.

    Whoever waits for a child of its own does so at once: one that is still there at the next look is an orphan.
    """
    seen: set[int] = set()
    while True:
        ended = {each.pid for each in psutil.Process().children() if _has_ended(each)}
        for pid in seen & ended:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        seen = ended
        time.sleep(_LOOK)


def _has_ended(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def main() -> None:
    """Import what runs need, and fork for each order."""
    module, _, number = sys.argv[1:]
    site, channel = os.getppid(), socket.socket(fileno=int(number))
    for name in (*_NEEDED[module], module):
        importlib.import_module(name)
    del sys.modules[module]  # it is run, in each fork, as the main one
    gc.collect()
    gc.freeze()  # what is here stays as it is in all forks
    gc.collect()  # or forks would wait with theirs until a quarter of what is frozen has come on top of it
    orders = channel.makefile("rb")
    for line in orders:
        pid = _forked(site)
        if not pid:
            channel.close()
            orders.close()
            _become(**json.loads(line))
            return
        channel.sendall(b"%d\n" % pid)


def _forked(site: int) -> int:
    """The number of a new process that is the site's child; 0 in that process."""
    reading, writing = os.pipe()
    between = os.fork()
    if not between:
        pid = os.fork()
        if pid:
            os.write(writing, b"%d" % pid)
            os._exit(0)
        os.close(reading)
        os.close(writing)
        while os.getppid() not in (site, 1):  # until it is adopted; by init, if the site has ended
            time.sleep(0.001)
        return 0
    os.close(writing)
    os.waitpid(between, 0)
    with os.fdopen(reading, "rb") as told:
        return int(told.read())


def _become(argv: list[str], env: dict[str, str]) -> None:
    """Be the process of a run, as if it had been started by its command."""
    import numpy as np  # noqa: PLC0415 - imported long ago, but not in the site's own process

    os.setsid()
    give_back_memory()
    os.environ.clear()
    os.environ.update(env)
    _prctl(_SET_NAME, RUN.encode())
    np.random.seed()  # noqa: NPY002 - forks would all draw the same
    sys.argv = argv
    runpy.run_module(argv[0], run_name="__main__", alter_sys=True)


def _prctl(option: int, value: Any) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
