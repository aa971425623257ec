"""Makes one site's processes misbehave, as the file in `DCSHAP_SABOTAGE` says; Python imports it when it starts.

nan, shape: a representation that is not what it must be.
clock: the process's clock is an hour ahead.
full: what was trained cannot be kept, as on a disk that is full.
record: every frame that reaches the process is written to a file beside it, as it came off the wire.
Anything else: the process behaves. Every run has a process of its own, forked from one that has imported everything, so
the next run obeys what the file says then.
"""

from __future__ import annotations

import errno
import importlib.abc
import importlib.machinery
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FILE = Path(os.environ.get("DCSHAP_SABOTAGE", os.devnull))


def orders() -> str:
    return FILE.read_text(encoding="utf-8")


def spoil(module: Any) -> None:
    represent = module.HorizontalParty.send_representation

    def broken(self: Any, to: str) -> Any:
        message = represent(self, to)
        return replace(message, rows=message.rows * float("nan") if orders() == "nan" else message.rows[:, :1])

    module.HorizontalParty.send_representation = broken


def record(module: Any) -> None:
    process = module.ConnManager.process_frame_task

    def recorded(self: Any, sfm_conn: Any, frame: Any) -> Any:
        with FILE.with_suffix(f".{os.getpid()}").open("ab") as file:
            file.write(bytes(frame))
        return process(self, sfm_conn, frame)

    module.ConnManager.process_frame_task = recorded


def hasten(module: Any) -> None:
    module.time = SimpleNamespace(**{**vars(module.time), "time": lambda: time.time() + 3600})


def fill(module: Any) -> None:
    write = module.Disk.write

    def written(self: Any, path: Path, data: bytes, *, size: int) -> None:
        if any(part.lstrip(".").startswith("run-") for part in path.parts):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write(self, path, data, size=size)

    module.Disk.write = written


CHANGES: dict[str, tuple[str, Callable[[Any], None]]] = {
    "nan": ("dcshap.collaboration.horizontal_party", spoil),
    "shape": ("dcshap.collaboration.horizontal_party", spoil),
    "clock": ("dcshap._machine", hasten),
    "full": ("dcshap._disk", fill),
    "record": ("nvflare.fuel.f3.sfm.conn_manager", record),
}


class Finder(importlib.abc.MetaPathFinder):
    """Changes a module once it is loaded, so that nothing is imported before its time."""

    def __init__(self, name: str, change: Callable[[Any], None]) -> None:
        self._name, self._change = name, change

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:  # noqa: ARG002 - importlib's signature
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def executed(module: Any) -> None:
            execute(module)
            self._change(module)

        spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


OBEYED: list[str] = []


def obey() -> None:
    """Change what is loaded, and what will be; once, as a run is a fork of a fork."""
    if orders() in CHANGES and not OBEYED:
        OBEYED.append(orders())
        name, change = CHANGES[orders()]
        if name in sys.modules:
            change(sys.modules[name])
        else:
            sys.meta_path.insert(0, Finder(name, change))


# A site's own process obeys at once. The one that its runs are forked from behaves; the runs obey.
if any(each.endswith("nursery") for each in sys.orig_argv):
    os.register_at_fork(after_in_child=obey)
else:
    obey()
