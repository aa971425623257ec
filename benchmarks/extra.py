"""How much the `desk` extra adds to an installation: the files of every package that dcshap alone does not bring.

As this environment has them, bytecode included where pip has compiled it, which it does by default.
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
MB = 1e6


def run(quick: bool) -> list[dict[str, Any]]:  # noqa: ARG001 - it is always quick
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    base = _closure(project["dependencies"])
    added = sorted(_closure(project["optional-dependencies"]["desk"]) - base)
    rows = [{"package": name} | _size(name) for name in added]
    total = {column: sum(row[column] for row in rows) for column in ("files", "MB", "of it bytecode", "MB on disk")}
    return [*rows, {"package": "all of it"} | total]


def _closure(wanted: list[str]) -> set[str]:
    """The packages that requirements lead to."""
    found: set[str] = set()
    waiting = [Requirement(each) for each in wanted]
    while waiting:
        each = waiting.pop()
        name = re.sub(r"[-_.]+", "-", each.name).lower()
        extras = each.extras or {""}
        if name in found or not any(each.marker is None or each.marker.evaluate({"extra": e}) for e in extras):
            continue
        try:
            told = distribution(name).requires or []
        except PackageNotFoundError:  # for another system or version of Python
            continue
        found.add(name)
        needed = [Requirement(text) for text in told]
        waiting += [
            need for need in needed if need.marker is None or any(need.marker.evaluate({"extra": e}) for e in extras)
        ]
    return found


def _size(name: str) -> dict[str, Any]:
    about = distribution(name)
    paths = {Path(str(about.locate_file(file))) for file in about.files or ()}
    sizes = {path: path.stat() for path in paths if path.is_file()}
    return {
        "files": len(sizes),
        "MB": sum(each.st_size for each in sizes.values()) / MB,
        "of it bytecode": sum(each.st_size for path, each in sizes.items() if path.suffix == ".pyc") / MB,
        "MB on disk": sum(512 * each.st_blocks for each in sizes.values()) / MB,
    }
