"""Fuzzing without end: `python -m tests.fuzz TARGET [libFuzzer's options]`, guided by coverage where atheris is there.

Where it is not, `python -m tests.fuzz --plain N [SEED]` runs N plain mutations of every target.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path


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


def plain(n: int, seed: int) -> None:
    from tests.fuzz.corpus import seeds  # noqa: PLC0415
    from tests.fuzz.mutation import mutated  # noqa: PLC0415
    from tests.fuzz.targets import TARGETS, run  # noqa: PLC0415

    for name, target in TARGETS.items():
        began, slowest, read = time.process_time(), 0.0, 0
        for data in mutated(seeds(name), n, seed=seed):
            at = time.process_time()
            try:
                read += run(target, data)
            except BaseException:
                Path(f"crash-{name}").write_bytes(data)
                raise
            slowest = max(slowest, time.process_time() - at)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        seconds = time.process_time() - began
        said = f"{name}: {n} inputs, {read} readable, {seconds:.0f} s, slowest {slowest:.2f} s, peak {peak} MB"
        print(said, flush=True)  # noqa: T201 - a command's output


if __name__ == "__main__":
    if sys.argv[1] == "--plain":
        plain(int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    else:
        guided(sys.argv[1], sys.argv[2:])
