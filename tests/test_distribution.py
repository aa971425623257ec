"""What is uploaded to the package index: one version, and a wheel that works where nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

import dcshap

ROOT = Path(__file__).parent.parent
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet", "install")


def test_the_version_is_the_same_everywhere():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"]
    assert dcshap.__version__ == version("dcshap") == str(cited)


def new_environment(folder: Path) -> Path:
    """A fresh virtual environment's Python."""
    venv.create(folder, with_pip=True)
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(word) for word in command], cwd=ROOT, env=clean, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The folder with wheel and sdist, built as `make dist` builds them."""
    folder = tmp_path_factory.mktemp("dist")
    python = new_environment(folder / "builder")
    if run(python, *PIP, "hatchling>=1.27").returncode:
        pytest.skip("hatchling cannot be installed: no package index can be reached")
    done = run(python, "-m", "hatchling", "build", "-d", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_the_wheel_has_what_the_package_needs_and_no_tests(built):
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    needed = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*") if path.is_file()}
    needed = {name for name in needed if "__pycache__" not in name}
    assert needed <= set(names)
    assert not [name for name in names if name.startswith(("tests/", "docs/", "benchmarks/"))]


@pytest.mark.slow
def test_the_sdist_has_the_sources_and_no_data_of_this_machine(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "NOTICE", "src/dcshap/__init__.py"} <= names
    assert not [name for name in names if name.startswith((".venv/", "docs/_build/", "dcshap-demo/"))]


@pytest.mark.slow
def test_the_wheel_installs_and_shows_its_help(built):
    (wheel,) = built.glob("*.whl")
    python = new_environment(built / "user")
    done = run(python, *PIP, "--constraint", ROOT / "constraints.txt", wheel)
    assert done.returncode == 0, done.stderr
    helped = run(python.parent / "dcshap", "--help")
    assert helped.returncode == 0, helped.stderr
    assert "fit" in helped.stdout
    told = run(python, "-c", "import dcshap; print(dcshap.__version__); dcshap.HorizontalCollaboration()")
    assert told.stdout.strip() == dcshap.__version__, told.stderr
