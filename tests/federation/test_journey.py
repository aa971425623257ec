"""The whole way from the shell, as `docs/federation.md` tells it: separate organisations, keys at home."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import psutil
import pytest
import typer
import yaml
from typer.testing import CliRunner

from dcshap.cli.console import ReadableErrors
from dcshap.cli.federation import federation as commands
from dcshap.federation.flare.processes import free_port
from dcshap.federation.seals.ledger import Ledger

from .conftest import people, schema_of, vertical_tables

# The engine's own code uses what its libraries have deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

PARTIES = ["bank", "shop"]
LEAD = "lead@institute.example"
RECORD = people().index[3]
DCSHAP = [sys.executable, "-m", "dcshap", "federation"]


app = typer.Typer(cls=ReadableErrors)
app.add_typer(commands, name="federation")


def shell(*arguments, fails=False):
    """What a command prints, on stdout and stderr."""
    done = CliRunner().invoke(app, ["federation", *map(str, arguments)])
    assert done.exit_code == int(fails), done.output
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Steps 1 to 5: the project, the authority, and everybody's kit."""
    home = tmp_path_factory.mktemp("organisations")
    project = {
        "name": "credit",
        "port": free_port(),
        "kind": "vertical",
        "parties": dict.fromkeys(PARTIES, "org"),
        "requesters": {LEAD: "lead"},
    }
    (home / "project.yaml").write_text(yaml.safe_dump(project))
    shell("init", home / "project.yaml", "--out", home / "credit")
    return home


@pytest.fixture(scope="module")
def fingerprint(folder):
    said, _ = shell("certificates", "authority", folder / "credit" / "profile.yaml", "--out", folder / "authority")
    found = re.search(r"(?:[0-9A-F]{2}:){31}[0-9A-F]{2}", said.replace("\n", ""))
    assert found is not None
    return found.group()


@pytest.fixture(scope="module")
def kits(folder, fingerprint):
    return {name: make_kit(folder, name, fingerprint) for name in ("analyst", *PARTIES, LEAD)}


def make_kit(folder, name, fingerprint):
    request, signed, home = folder / name / "request", folder / name / "signed", folder / name / "kit"
    shell("certificates", "request", folder / "credit" / "participants" / f"{name}.yaml", "--out", request)
    (requested,) = request.glob("*.request.zip")
    with zipfile.ZipFile(requested) as zipped:
        assert b"PRIVATE KEY" not in b"".join(zipped.read(each) for each in zipped.namelist())
    project = ["--authority", folder / "authority", "--profile", folder / "credit" / "profile.yaml"]
    shell("certificates", "approve", requested, *project, "--out", signed, "--yes")
    (approved,) = signed.glob("*.signed.zip")
    shell("certificates", "kit", approved, "--request", request, "--fingerprint", fingerprint, "--out", home)
    (made,) = home.glob("*/prod_*/*/startup")
    return made.parent


@pytest.fixture(scope="module")
def configured(folder, kits):
    """Step 6: each party brings its table."""
    schema_of(people()).save(folder / "schema.yaml")
    for name, table in vertical_tables(PARTIES).items():
        table.to_csv(folder / f"{name}.csv")
        (partner,) = set(PARTIES) - {name}
        target = ["--target", "repaid"] if name == "bank" else []
        rights = ["--allow", f"{LEAD}=bank,full:10"]
        table_and_schema = ["--csv", folder / f"{name}.csv", "--schema", folder / "schema.yaml", "--id", "id"]
        given = ["--kind", "vertical", "--partner", partner, *table_and_schema, *target, *rights]
        given += ["--accept-audit", "people who do not exist"]
        said, _ = shell("party", "init", kits[name], "credit", *given)
        assert "240 rows" in said
    return kits


class Running:
    """A command that goes on until it is told to end, and what it says."""

    def __init__(self, log: Path, *arguments: object) -> None:
        self.log = log
        with log.open("wb") as file:
            self.process = subprocess.Popen([*DCSHAP, *map(str, arguments)], stdout=file, stderr=file)

    def wait_until(self, said: str, *, timeout: float = 120.0) -> None:
        process = psutil.Process(self.process.pid)
        for _ in range(int(timeout / 0.2)):
            if said in self.log.read_text():
                return
            assert process.is_running(), self.log.read_text()
            try:
                self.process.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                continue
        raise AssertionError(self.log.read_text())

    def end(self) -> int:
        """End it as a service manager does; what it returned."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)


def test_a_collaboration_is_trained_asked_and_stopped_from_the_shell(configured, folder):
    kits, kit = configured, ["--kit", configured[LEAD]]
    running = [Running(folder / "analyst.log", "analyst", "start", kits["analyst"])]
    try:
        running[0].wait_until("is up")
        running += [Running(folder / f"{name}.log", "party", "start", kits[name]) for name in PARTIES]
        for site in running:
            site.wait_until("is up")
        training = [*DCSHAP, "train", *map(str, kit), "--job", str(folder / "credit" / "job"), "--json"]
        trained = subprocess.run(training, capture_output=True, text=True, timeout=300, check=True)
        assert json.loads(trained.stdout)["state"] == "serving"
        assert "model" in shell("status", "credit", *kit)[0]
        asked = ["--record", RECORD, "--view", "bank", "--index", "owen", "--json"]
        explained = json.loads(shell("explain", *kit, *asked)[0])
        predicted = json.loads(shell("predict", "credit", *kit, "--record", RECORD, "--json")[0])
        total = explained["base_values"][0][1] + sum(value[1] for value in explained["values"][0])
        assert total == pytest.approx(predicted["predictions"][0][1], abs=1e-9)
        shell("stop", "credit", *kit)
        assert "not running" in shell("explain", "credit", *kit, *asked, fails=True)[1]
        assert "No collaboration is running" in shell("explain", *kit, *asked, fails=True)[1]
    finally:
        ended = [site.end() for site in reversed(running)]
    assert ended == [0, 0, 0]
    left = [p for p in psutil.process_iter(["cmdline"]) if str(folder) in " ".join(p.info["cmdline"] or [])]
    assert left == []
    assert {entry.kind for entry in Ledger(kits["shop"] / "dcshap" / "ledger.jsonl")} >= {"RecordVectors"}
    assert "the chain is whole" in shell("ledger", kits["shop"])[0]


def test_the_job_that_everybody_agrees_to_brings_no_code(folder):
    files = {path.relative_to(folder / "credit" / "job").as_posix() for path in folder.glob("credit/job/**/*.*")}
    assert files == {"meta.json", "analyst/config/config_fed_server.json", "party/config/config_fed_client.json"}


def test_a_kit_of_an_unexpected_authority_is_not_made(folder, kits, tmp_path):
    (approved,) = (folder / "bank" / "signed").glob("*.signed.zip")
    wrong = ":".join(["00"] * 32)
    given = ["--request", folder / "bank" / "request", "--fingerprint", wrong, "--out", tmp_path]
    shell("certificates", "kit", approved, *given, fails=True)
    assert not list(tmp_path.glob("*/prod_*"))


@pytest.mark.parametrize("change", ["none", "another party's"])
def test_a_party_whose_certificate_is_not_its_own_is_told_so_before_it_starts(configured, change):
    startup = configured["bank"] / "startup"
    kept = (startup / "client.crt").read_bytes()
    try:
        if change == "none":
            (startup / "client.crt").unlink()
        else:
            (startup / "client.crt").write_bytes((configured["shop"] / "startup" / "client.crt").read_bytes())
        said = shell("party", "start", configured["bank"], fails=True)[1]
    finally:
        (startup / "client.crt").write_bytes(kept)
    assert "certificate" in said
