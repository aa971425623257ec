from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dcshap

BASE = {"exceptions", "_typing", "_tables", "_bytes", "_html", "_numerals", "_separated", "_sources"}
BASE |= {"_machine", "_disk", "_arrow", "_yaml", "_recall"}
METHOD = BASE | {"languages", "schema", "storage", "collaboration", "shapley", "explanation"}
PUBLIC = METHOD | {"datasets", "dcshap"}  # what stands above the public names may use them

# Which components of the package each component may import, beside itself; bottom up.
MAY_IMPORT = {
    "exceptions": set(),
    "_typing": set(),
    "_tables": {"exceptions", "_typing"},
    "_html": set(),
    "_arrow": set(),
    "_recall": set(),
    "_bytes": {"exceptions", "_typing", "_arrow", "_recall"},
    "_numerals": set(),
    "_separated": {"exceptions", "_typing", "_numerals"},
    "_sources": {"exceptions", "_typing", "_numerals", "_separated"},
    "_machine": set(),
    "_yaml": {"exceptions"},
    "_disk": {"exceptions"},
    "languages": BASE,
    "schema": BASE,
    "storage": BASE,
    "shapley": BASE | {"languages"},
    "datasets": BASE,
    "collaboration": BASE | {"schema", "storage"},
    "audit": BASE | {"schema", "storage", "collaboration"},
    "explanation": METHOD,
    "protocol": BASE | {"collaboration", "explanation"},
    "collaborations": METHOD | {"protocol", "audit"},
    "report": METHOD | {"collaborations", "audit"},
    "tracking": METHOD | {"collaborations", "report"},
    "federation": PUBLIC | {"protocol", "audit"},
    "paper": PUBLIC | {"collaborations", "report", "audit"},
    "desk": PUBLIC | {"collaborations", "report", "federation", "protocol", "audit"},
    "cli": PUBLIC | {"collaborations", "report", "federation", "paper", "desk", "audit", "tracking"},
    "__main__": {"cli"},
}

NAMED_AFTER_WHAT_THEY_RUN = {"cli", "paper"}  # commands and experiments
MOST_LINES = 350


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
        allowed = {component} | MAY_IMPORT.get(component, set())
        for target in sorted(targets):
            imported = target.split(".")[1] if "." in target else package
            if imported not in allowed:
                found.append(f"{importer} imports {target}")
    return found


def names_used_twice(root: Path) -> list[str]:
    files = [path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in NAMED_AFTER_WHAT_THEY_RUN]
    counts = Counter(path.stem for path in files if path.stem not in ("__init__", "__main__"))
    return sorted(name for name, count in counts.items() if count > 1)


def too_long(root: Path) -> list[str]:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in root.rglob("*.py")}
    return sorted(f"{path.relative_to(root)}: {n} lines" for path, n in lines.items() if n > MOST_LINES)


@pytest.fixture(scope="module")
def graph():
    """All of the package, which takes a second to parse."""
    return import_graph(Path(dcshap.__file__).parent)


def test_no_module_imports_upward(graph):
    assert upward_arrows(graph) == []


def test_imports_form_no_cycle(graph):
    assert cycle_in(graph) == []


def test_every_component_has_its_place(graph):
    components = {name.split(".")[1] for name in graph if "." in name}
    assert components == set(MAY_IMPORT)


def test_what_may_be_imported_is_always_further_down(graph):
    below: set[str] = set()
    for name, allowed in MAY_IMPORT.items():
        assert allowed - {"dcshap", name} <= below
        below |= {name}
    public = {target.split(".")[1] for target in graph["dcshap"]}
    above_them = {name for name, allowed in MAY_IMPORT.items() if "dcshap" in allowed}
    assert not above_them & (public | {each for name in public for each in MAY_IMPORT[name]})


def test_every_module_has_a_name_of_its_own():
    assert names_used_twice(Path(dcshap.__file__).parent) == []


def test_no_module_is_too_long_to_read():
    assert too_long(Path(dcshap.__file__).parent) == []


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


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        ("exceptions", "_typing"),
        ("_bytes", "_tables"),
        ("storage", "schema"),
        ("schema", "datasets"),
        ("shapley", "storage"),
        ("collaboration", "shapley"),
        ("collaboration", "explanation"),
        ("collaboration", "protocol"),
        ("collaboration", "audit"),
        ("audit", "explanation"),
        ("explanation", "protocol"),
        ("explanation", "collaborations"),
        ("protocol", "collaborations"),
        ("protocol", "federation"),
        ("collaborations", "report"),
        ("federation", "collaborations"),
        ("federation", "report"),
        ("paper", "federation"),
        ("paper", "cli"),
        ("report", "datasets"),
    ],
)
def test_a_layer_that_imports_one_above_or_beside_it_is_found(lower, upper):
    graph = {f"dcshap.{lower}.one": {f"dcshap.{upper}.two"}, f"dcshap.{upper}.two": set()}
    assert upward_arrows(graph) == [f"dcshap.{lower}.one imports dcshap.{upper}.two"]


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


def test_a_name_that_is_used_twice_is_found_unless_it_is_a_command_s(tree, tmp_path):
    tree(shapley__exact="", explanation__vertical="", cli__vertical="", paper__exact="")
    assert names_used_twice(tmp_path) == []
    tree(federation__vertical="")
    assert names_used_twice(tmp_path) == ["vertical"]


def test_a_module_that_is_too_long_is_found(tree, tmp_path):
    tree(shapley__exact="\n" * MOST_LINES, shapley__long="\n" * (MOST_LINES + 1))
    assert too_long(tmp_path) == [f"shapley/long.py: {MOST_LINES + 1} lines"]
