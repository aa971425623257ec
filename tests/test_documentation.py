"""What the documentation shows, runs: Python, command lines, links, and the gallery."""

from __future__ import annotations

import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from dcshap.cli.main import app

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
GALLERY = sorted((DOCS / "gallery").glob("plot_*.py"))
LONG = {"plot_any_model", "plot_audit", "plot_background"}

# A block that cannot run here is preceded by a comment that says why: <!-- not run: needs two machines -->
FENCE = re.compile(
    r"(?:<!-- not run: (?P<why>[^>]*?) -->\s*)?^(?P<indent> *)```(?P<language>\S*)\n(?P<code>.*?)^ *```", re.M | re.S
)
INLINE = re.compile(r"(?<!`)`(dcshap [^`]+)`(?!`)")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def python_of(page: Path) -> list[str]:
    found = [match for match in FENCE.finditer(text_of(page)) if match["language"] == "python"]
    assert all(match["why"] is None or match["why"].strip() for match in found), "say why a block is not run"
    return [match["code"] for match in found if match["why"] is None]


def run_page(page: Path) -> None:
    """Run a page's Python blocks in order, in one namespace, each with its own line numbers."""
    namespace: dict[str, Any] = {}
    for number, code in enumerate(python_of(page), start=1):
        exec(compile(code, f"{page.name}, block {number}", "exec"), namespace)  # noqa: S102 - our own pages


@pytest.mark.parametrize("page", [page for page in PAGES[1:] if python_of(page)], ids=lambda page: page.stem)
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page)


def test_the_readme_prints_that_parties_agree(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_page(ROOT / "README.md")
    own, agreed = map(float, capsys.readouterr().out.split())
    assert agreed < own / 3


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.slow if path.stem in LONG else ()) for path in GALLERY],
    ids=lambda path: path.stem,
)
def test_an_example_of_the_gallery_runs_on_embedded_data(path, tmp_path, monkeypatch):
    for variable in ("DCSHAP_DATA", "DCSHAP_CACHE"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setattr("dcshap.datasets.files._download", None)  # nothing may be fetched
    made = runpy.run_path(str(path))
    assert any(type(value).__name__ == "Figure" for value in made.values()), "an example shows a picture"


def test_the_gallery_has_what_is_promised():
    assert len(GALLERY) >= 8


# Command lines


def command_lines(text: str) -> list[str]:
    """The `dcshap …` lines of fenced blocks, continued lines joined, and those within sentences."""
    lines: list[str] = []
    for match in FENCE.finditer(text):
        if match["language"] in {"", "bash", "sh", "console"}:
            lines += match["code"].replace("\\\n", " ").splitlines()
    lines = [line.strip().removeprefix("$ ").removeprefix("sudo ") for line in lines]
    inline = [" ".join(line.split()) for line in INLINE.findall(FENCE.sub("", text))]
    return [line for line in lines + inline if line.startswith("dcshap ")]


def problem_with(line: str) -> str | None:
    """What the command line would not understand: a command that there is not, or an option."""
    words = shlex.split(line.partition(" && ")[0], comments=True)[1:]
    command: Any = get_command(app)
    while words and hasattr(command, "get_command") and not words[0].startswith(("-", "…", "[")):
        found = command.get_command(None, words[0])
        if found is None:
            return f"{command.name} has no command {words[0]!r}"
        command, words = found, words[1:]
    known = options_of(command)
    for word in words:
        option = word.strip("[]").partition("=")[0]
        if option.startswith("--") and option not in known:
            return f"{command.name} has no option {option}"
    return None


def options_of(command: Any) -> set[str]:
    """A command's options, or those of all commands of a group."""
    own = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    own |= {"--help", "--install-completion", "--show-completion"}
    if hasattr(command, "get_command"):
        for name in command.list_commands(None):
            own |= options_of(command.get_command(None, name))
    return own


@pytest.mark.parametrize("page", [*PAGES, *GALLERY], ids=lambda page: page.stem)
def test_every_command_line_that_is_shown_exists(page):
    text = text_of(page)
    if page.suffix == ".py":  # all of an example is looked at
        text = "```bash\n" + text.replace("\\\\\n", "\\\n") + "\n```"
    problems = {line: problem_with(line) for line in command_lines(text)}
    assert not {line: problem for line, problem in problems.items() if problem}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("dcshap fit horizontal --party a=a.csv --out run/", None),
        ("dcshap fit … --json", None),
        ("dcshap fit sideways", "fit has no command 'sideways'"),
        ("dcshap explain run/ --colour red", "explain has no option --colour"),
        ("dcshap explane run/", "dcshap has no command 'explane'"),
    ],
)
def test_a_wrong_command_line_is_found(line, problem):
    assert problem_with(line) == problem


# Links


def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MyST make them."""
    titles = re.findall(r"^#+ +(.+?) *$", FENCE.sub("", text_of(page)), flags=re.M)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower() for title in titles]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}


def broken_links(page: Path) -> list[str]:
    broken = []
    for link in LINK.findall(FENCE.sub("", text_of(page))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if target == DOCS / "examples" / "index.rst":  # which sphinx-gallery makes
            target = DOCS / "gallery" / "README.rst"
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors_of(target)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_between_pages_leads_somewhere(page):
    assert broken_links(page) == []


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A title, here\n[a](#a-title-here) [b](#elsewhere) [c](nowhere.md) [d](https://example.org)\n")
    assert broken_links(page) == ["#elsewhere", "nowhere.md"]


def test_every_page_is_in_the_table_of_contents():
    listed = set(re.findall(r"^[a-z-]+$", text_of(DOCS / "index.md"), flags=re.M))
    assert {page.stem for page in DOCS.glob("*.md")} - {"index"} <= listed


def test_what_travels_is_what_the_protocols_say():
    script = runpy.run_path(str(DOCS / "what_travels.py"))
    page = text_of(DOCS / "privacy.md")
    assert "| algorithm 3 |" in page.lower()
    assert script["written"](page) == page, "run python docs/what_travels.py"


@pytest.mark.slow
def test_the_site_builds_without_warnings_and_loads_nothing_from_elsewhere(tmp_path):
    shutil.copytree(DOCS, tmp_path / "docs", ignore=shutil.ignore_patterns("_build", "examples"))
    options = ["-W", "--keep-going", "-q", "-D", "plot_gallery=0", "-b", "html"]  # examples are run above
    command = [sys.executable, "-m", "sphinx", *options, str(tmp_path / "docs"), str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > len(PAGES)
    loaded = re.compile(r"<(?:script|img|iframe|link)[^>]*?(?:src|href)=\"(?:https?:)?//[^\"]*\"")
    assert {page.name: loaded.findall(text_of(page)) for page in pages if loaded.search(text_of(page))} == {}
    styles = [text_of(path) for path in (tmp_path / "site" / "_static").rglob("*.css")]
    assert not [style for style in styles if re.search(r"(?:url\(|@import )[\"']?(?:https?:)?//", style)]
