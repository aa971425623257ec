"""Runs the engine of a site in this process, which ends, with everything it has started, when its parent does.

Called as `python -m dcshap.federation.flare.launcher MODULE ARGUMENTS…`, where MODULE is the engine's own.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time

import psutil

from dcshap.federation.flare.heaps import give_back_memory
from dcshap.federation.flare.listening import listen_where_configured

__all__ = ["end_with_parent", "main"]

_LOOK = 0.5  # seconds between looks at the parent
_RECONNECT = 2  # seconds between attempts to reach a server that is away; the engine waits for up to ten


def end_with_parent(*, grace: float = 0.0) -> None:
    """End this process and its children some seconds after its parent has ended, however that came.

    The operating system's own signal for this (PR_SET_PDEATHSIG) comes when the *thread* ends that started us.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK)
        time.sleep(grace)
        for child in psutil.Process().children(recursive=True):
            try:
                child.kill()
            except psutil.NoSuchProcess:
                continue
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True, name="parent").start()


def main() -> None:
    """Become the engine's module."""
    give_back_memory()
    # Slow, and needed by the engine's modules anyway.
    from nvflare.fuel.f3.sfm import conn_manager  # noqa: PLC0415

    from dcshap.federation.flare.nursery import adopt_orphans  # noqa: PLC0415

    module, *arguments = sys.argv[1:]
    end_with_parent()
    adopt_orphans()
    listen_where_configured()
    conn_manager.MAX_WAIT = _RECONNECT
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
