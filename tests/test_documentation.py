"""What the documentation shows, runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_an_example_runs_and_prints(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_the_readme_s_python_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - our own README
    own, agreed = map(float, capsys.readouterr().out.split())
    assert agreed < own / 3


def test_every_file_that_the_documentation_links_to_exists():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_what_travels_is_what_the_protocols_say():
    script = runpy.run_path(str(ROOT / "docs" / "what_travels.py"))
    page = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
    assert "| algorithm 3 |".lower() in page.lower()
    assert script["written"](page) == page, "run python docs/what_travels.py"
