"""Fuzzing without end: `python -m tests.fuzz TARGET [libFuzzer's options]`, guided by coverage where atheris is there.

Where it is not, `python -m tests.fuzz --plain N [SEED [TARGET ...]]` runs N plain mutations of every target. Each has a
process of its own, so that its peak of memory is its own too.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_TOLD = 60.0  # seconds of processor time between words about how far it is


def guided(target: str, options: list[str]) -> None:
    import atheris  # type: ignore[import-untyped]  # noqa: PLC0415 - no part of dcshap's dependencies

    with atheris.instrument_imports(include=["dcshap"]):
        from tests.fuzz.corpus import seeds  # noqa: PLC0415
        from tests.fuzz.targets import TARGETS, run  # noqa: PLC0415

    corpus = Path(".fuzz") / target
    corpus.mkdir(parents=True, exist_ok=True)
    for at, data in enumerate(seeds(target)):
        (corpus / f"seed-{at}").write_bytes(data)

    def once(data: bytes) -> None:
        try:
            run(TARGETS[target], data)
        except BaseException:
            Path(f"crash-{target}").write_bytes(data)
            raise

    atheris.Setup([sys.argv[0], str(corpus), "-rss_limit_mb=2048", "-timeout=10", *options], once)
    atheris.Fuzz()


def plain(n: int, seed: int, names: Sequence[str]) -> int:
    """The number of targets that failed."""
    failed = 0
    for name in names:
        process = multiprocessing.get_context("fork").Process(target=_mutations, args=(name, n, seed))
        process.start()
        process.join()
        failed += bool(process.exitcode)
    return failed


def _mutations(name: str, n: int, seed: int) -> None:
    from tests.fuzz.corpus import seeds  # noqa: PLC0415
    from tests.fuzz.mutation import mutated  # noqa: PLC0415
    from tests.fuzz.targets import TARGETS, run  # noqa: PLC0415

    began, told, slowest, read = time.process_time(), time.process_time(), 0.0, 0
    for done, data in enumerate(mutated(seeds(name), n, seed=seed)):
        at = time.process_time()
        if at - told > _TOLD:
            _say(f"{name}: {done} of {n}, slowest {slowest:.2f} s, peak {_peak()} MB")
            told = at
        try:
            read += run(TARGETS[name], data)
        except BaseException:
            Path(f"crash-{name}").write_bytes(data)
            raise
        slowest = max(slowest, time.process_time() - at)
    seconds = time.process_time() - began
    _say(f"{name}: {n} inputs, {read} readable, {seconds:.0f} s, slowest {slowest:.2f} s, peak {_peak()} MB")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a command's output


if __name__ == "__main__":
    if sys.argv[1] == "--plain":
        from tests.fuzz.targets import TARGETS

        chosen = sys.argv[4:] or list(TARGETS)
        sys.exit(plain(int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0, chosen))
    else:
        guided(sys.argv[1], sys.argv[2:])
