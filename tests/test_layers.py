from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dcshap

BASE = {"exceptions", "_typing", "_tables"}
DICTIONARY = BASE | {"knots", "columns", "schema", "encoding"}
METHOD = DICTIONARY | {"collaboration", "shapley", "explanation"}
PUBLIC = METHOD | {"datasets", "dcshap"}  # what stands above the public names may use them

# Which components of the package each component may import, beside itself and utility modules (`_*`).
MAY_IMPORT = {
    "exceptions": set(),
    "_typing": set(),
    "_tables": {"exceptions", "_typing"},
    "knots": BASE,
    "columns": BASE | {"knots"},
    "schema": BASE | {"columns", "knots"},
    "encoding": BASE | {"columns", "schema", "knots"},
    "shapley": BASE,
    "datasets": BASE,
    "collaboration": DICTIONARY,
    "explanation": DICTIONARY | {"collaboration", "shapley"},
    "report": METHOD,
    "federation": PUBLIC,
    "paper": PUBLIC | {"report"},
    "cli": PUBLIC | {"report", "federation", "paper"},
    "__main__": {"cli"},
}


def modules_under(root: Path, package: str) -> dict[str, Path]:
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = [package, *path.relative_to(root).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(path: Path, name: str, modules: dict[str, Path]) -> Iterator[str]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
            source = ".".join(filter(None, [above, node.module])) if node.level else str(node.module)
            targets = [
                f"{source}.{alias.name}" if f"{source}.{alias.name}" in modules else source for alias in node.names
            ]
        else:
            continue
        yield from (target for target in targets if target in modules)


def import_graph(root: Path, package: str = "dcshap") -> dict[str, set[str]]:
    modules = modules_under(root, package)
    return {name: set(imports_of(path, name, modules)) - {name} for name, path in modules.items()}


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        return cycle
    return []


def upward_arrows(graph: dict[str, set[str]], package: str = "dcshap") -> list[str]:
    found = []
    for importer, targets in graph.items():
        if importer == package:  # re-exports what is public
            continue
        component = importer.split(".")[1]
        allowed = {component} | MAY_IMPORT.get(component, BASE if component.startswith("_") else set())
        for target in sorted(targets):
            imported = target.split(".")[1] if "." in target else package
            utility = imported.startswith("_") and not component.startswith("_") and component != "exceptions"
            if imported not in allowed and not utility:
                found.append(f"{importer} imports {target}")
    return found


def test_no_module_imports_upward():
    assert upward_arrows(import_graph(Path(dcshap.__file__).parent)) == []


def test_imports_form_no_cycle():
    assert cycle_in(import_graph(Path(dcshap.__file__).parent)) == []


def test_every_component_has_its_place():
    components = {name.split(".")[1] for name in import_graph(Path(dcshap.__file__).parent) if "." in name}
    assert {name for name in components if not name.startswith("_")} <= set(MAY_IMPORT)


@pytest.fixture
def tree(tmp_path):
    def write(**files: str) -> dict[str, set[str]]:
        for name, text in files.items():
            path = tmp_path / f"{name.replace('__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            (path.parent / "__init__.py").touch()
        return import_graph(tmp_path)

    return write


@pytest.mark.parametrize(
    "line",
    [
        "from dcshap.collaboration import party",
        "from dcshap.collaboration.party import Party",
        "import dcshap.collaboration.party",
        "def late():\n    from dcshap.collaboration import party",
        "from ..collaboration import party",
        "from dcshap import collaboration",
    ],
)
def test_a_planted_upward_import_is_found(tree, line):
    graph = tree(collaboration__party="", shapley__exact=line)
    assert [arrow.split(" imports ")[0] for arrow in upward_arrows(graph)] == ["dcshap.shapley.exact"]


def test_an_import_of_the_package_itself_is_upward(tree):
    assert upward_arrows(tree(schema="import dcshap")) == ["dcshap.schema imports dcshap"]


def test_a_planted_cycle_is_found(tree):
    graph = tree(
        shapley__one="from dcshap.shapley.two import x",
        shapley__two="from .three import y",
        shapley__three="import dcshap.shapley.one",
    )
    assert upward_arrows(graph) == []
    assert set(cycle_in(graph)) == {"dcshap.shapley.one", "dcshap.shapley.two", "dcshap.shapley.three"}


def test_a_tree_without_cycle_passes(tree):
    graph = tree(shapley__one="from dcshap.shapley.two import x", shapley__two="from dcshap.exceptions import y")
    assert cycle_in(graph) == []
    assert upward_arrows(graph) == []
