"""Run benchmarks: `python -m benchmarks [name ...] [--quick] [--json]`."""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys

from rich.console import Console

import benchmarks
from benchmarks.report import show, told, write

HELPERS = {"__main__", "report", "adult_game", "pipeline", "tables", "sampled_games", "estimators"}

WIDE = 240  # characters of a line in a file, where a table of many columns would otherwise be cut to 80


def main() -> None:
    names = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name not in HELPERS)
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"some of: {', '.join(names)}; all if none is given")
    parser.add_argument("--quick", action="store_true", help="smaller cases, to see that everything runs")
    parser.add_argument("--json", action="store_true", help="print JSON rather than tables")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(names))
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(names)}")
    console = Console(width=None if sys.stdout.isatty() else WIDE)
    for name in options.names or names:
        found = importlib.import_module(f"benchmarks.{name}").run(quick=options.quick)
        # What comes row by row is shown as it comes, for it may take minutes.
        rows = found if isinstance(found, list) else list(told(found))
        path = write(name, rows)
        if options.json:
            print(json.dumps(rows, indent=1))
        else:
            show(name, rows, console)
            console.print(f"written to {path}")


if __name__ == "__main__":
    main()
