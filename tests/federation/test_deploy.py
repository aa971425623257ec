"""The container's description and the compose file name what there is: files, extras, commands, ports, one folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import typer
import yaml
from typer.testing import CliRunner

from dcshap.cli.console import ReadableErrors
from dcshap.cli.federation import federation as commands

ROOT = Path(__file__).parents[2]
IMAGE = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8")
SERVICES = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))["services"]


def test_everything_that_is_copied_into_the_image_is_there_and_all_that_the_package_is_made_of_is_copied():
    copied = [each for line in re.findall(r"^COPY (.*)$", IMAGE, re.MULTILINE) for each in shlex.split(line)[:-1]]
    assert all((ROOT / each).exists() for each in copied)
    assert {"pyproject.toml", "constraints.txt", "src"} <= set(copied)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = re.search(r"'\.\[(.*)\]'", IMAGE)
    assert extras is not None
    assert all(re.search(rf"^{name} = \[", project, re.MULTILINE) for name in extras[1].split(","))
    readme = re.search(r'^readme = "(.*)"', project, re.MULTILINE)
    assert readme is not None
    assert readme[1] in copied


def test_every_command_is_one_that_there_is():
    app = typer.Typer(cls=ReadableErrors)
    app.add_typer(commands, name="federation")
    for service in SERVICES.values():
        said = CliRunner().invoke(app, ["federation", *service["command"]]).output
        assert "must be the kit of a" in said  # all of it was understood, and /kit is not here
        assert "No such option" not in said


def test_a_site_writes_to_its_kit_alone_and_says_whether_it_is_well_where_it_is_asked():
    asked = re.search(r"127\.0\.0\.1:(\d+)/readyz", IMAGE)
    assert asked is not None
    for service in SERVICES.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["command"][service["command"].index("--health") + 1] == asked[1]
        writable = [volume for volume in service["volumes"] if not volume.endswith(":ro")]
        assert [volume.rpartition(":")[2] for volume in writable] == ["/kit"]
    home = re.search(r"^ENV .*HOME=(\S+)", IMAGE, re.MULTILINE)
    assert home is not None
    assert home[1] == "/kit"  # where compiled kernels are kept; without such a place nothing starts
