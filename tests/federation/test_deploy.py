"""The container's description and the compose file name what there is: files, extras, commands, ports, one folder."""

from __future__ import annotations

import json
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
SITES = {name: service for name, service in SERVICES.items() if name != "requester"}


def copied_files():
    return [each for line in re.findall(r"^COPY (.*)$", IMAGE, re.MULTILINE) for each in shlex.split(line)[:-1]]


def test_everything_that_is_copied_into_the_image_is_there_and_all_that_the_package_is_made_of_is_copied():
    copied = copied_files()
    assert all((ROOT / each).exists() for each in copied)
    assert {"pyproject.toml", "constraints.txt", "src"} <= set(copied)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = re.search(r"'\.\[(.*)\]'", IMAGE)
    assert extras is not None
    assert all(re.search(rf"^{name} = \[", project, re.MULTILINE) for name in extras[1].split(","))
    readme = re.search(r'^readme = "(.*)"', project, re.MULTILINE)
    assert readme is not None
    assert readme[1] in copied


def test_an_image_is_made_of_what_is_copied_alone_and_kits_and_tables_stay_out_of_it_and_of_the_repository():
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert [line for line in ignored if not line.startswith(("#", "!"))] == ["*", "**/__pycache__"]
    assert sorted(line[1:] for line in ignored if line.startswith("!")) == sorted(copied_files())
    assert {"/deploy/kits/", "/deploy/data/"} <= set((ROOT / ".gitignore").read_text(encoding="utf-8").splitlines())


def test_every_command_is_one_that_there_is():
    app = typer.Typer(cls=ReadableErrors)
    app.add_typer(commands, name="federation")
    for service in SERVICES.values():
        env = service.get("environment", {})
        said = CliRunner().invoke(app, ["federation", *service["command"]], env=env).output
        assert "must be the kit of a" in said  # all of it was understood, and /kit is not here
        assert "No such option" not in said


def test_a_site_writes_to_its_kit_alone_and_says_whether_it_is_well_where_it_is_asked():
    asked = re.search(r"127\.0\.0\.1:(\d+)/readyz", IMAGE)
    assert asked is not None
    for service in SITES.values():
        assert service["restart"] == "always"
        assert service["command"][service["command"].index("--health") + 1] == asked[1]
    for service in SERVICES.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        writable = [volume for volume in service["volumes"] if not volume.endswith(":ro")]
        assert [volume.rpartition(":")[2] for volume in writable] == ["/kit"]
    home = re.search(r"^ENV .*HOME=(\S+)", IMAGE, re.MULTILINE)
    assert home is not None
    assert home[1] == "/kit"  # where compiled kernels are kept; without such a place nothing starts


def test_health_is_asked_for_alike_by_compose_and_by_an_image_whose_format_has_it():
    found = re.search(r"^HEALTHCHECK (.*?)\\\n\s*CMD (.*)$", IMAGE, re.MULTILINE)
    assert found is not None
    options, command = found.groups()
    described = {name.replace("-", "_"): value for name, value in re.findall(r"--(\S+)=(\S+)", options)}
    for service in SITES.values():
        assert service["healthcheck"] == {"test": ["CMD", *json.loads(command)], **described}


def test_who_asks_is_not_started_with_the_sites_and_uses_the_kit_that_is_named():
    asking = SERVICES["requester"]
    assert asking["profiles"]
    assert asking["restart"] == "no"
    assert asking["volumes"] == ["./kits/${REQUESTER:-lead}:/kit"]
