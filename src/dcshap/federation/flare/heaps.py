"""The memory of the engine's processes, of which the C library would keep more than it needs."""

from __future__ import annotations

import ctypes
import threading
import time

__all__ = ["give_back_memory"]

_ARENA_MAX, _HEAPS = -8, 2  # mallopt's
_TRIM = 30.0  # seconds between giving memory back


def give_back_memory() -> None:
    """Have the threads of this process share two heaps, and give what is free in them back to the system.

    The engine handles each message in one of hundreds of threads. The C library gives them sixteen heaps, each of which
    keeps the room that its largest messages took, so that a process seems to grow for hours.
    """
    library = ctypes.CDLL(None)
    if not hasattr(library, "malloc_trim"):  # not the GNU library
        return
    library.mallopt(_ARENA_MAX, _HEAPS)

    def trim() -> None:
        while True:
            time.sleep(_TRIM)
            library.malloc_trim(0)

    threading.Thread(target=trim, daemon=True, name="heaps").start()
