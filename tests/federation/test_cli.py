"""The commands, from a user's shell; the engine itself is tried elsewhere."""

from __future__ import annotations

import json

import pytest
import typer
import yaml
from typer.testing import CliRunner

from dcshap.cli.console import ReadableErrors
from dcshap.cli.federation import federation as commands
from dcshap.federation.flare.local import provision
from dcshap.federation.flare.processes import free_port
from dcshap.federation.seals.ledger import Entry, Ledger
from dcshap.federation.site.configuration import SiteConfig

from .conftest import people, schema_of

# The engine's own code uses what its libraries have deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

app = typer.Typer(cls=ReadableErrors)
app.add_typer(commands, name="federation")


def run(*arguments):
    return CliRunner().invoke(app, ["federation", *map(str, arguments)])


@pytest.fixture(scope="module")
def kits(tmp_path_factory):
    return provision(tmp_path_factory.mktemp("kits"), port=free_port(), parties=["bank", "shop"], requesters=[])


@pytest.fixture
def table(tmp_path):
    people().to_csv(tmp_path / "people.csv")
    schema_of(people()).save(tmp_path / "schema.yaml")
    return tmp_path


def party_init(kits, table, *more):
    given = (
        "--kind",
        "vertical",
        "--partner",
        "shop",
        "--schema",
        table / "schema.yaml",
        "--csv",
        table / "people.csv",
        "--id",
        "id",
    )
    return run("party", "init", kits["bank"].folder, "credit", *given, *more)


def test_party_init_checks_the_table_and_writes_a_safe_configuration(kits, table):
    done = party_init(
        kits, table, "--target", "repaid", "--set", "n_components=3", "--allow", "officer@bank.org=bank,full:9"
    )
    assert done.exit_code == 0, done.output
    assert "240 rows of 8 columns" in done.output.replace("\n", " ")
    assert "3 dimensions" in done.output.replace("\n", " ")
    site = SiteConfig.load(kits["bank"].folder)
    assert site.collaborations["credit"].agreement == {"n_components": 3}
    assert site.right("officer@bank.org", "full").budget == 9
    assert not site.collaborations["credit"].instance_models
    resources = json.loads((kits["bank"].folder / "local" / "resources.json").read_text())
    assert resources["class_allow_list"] == ["dcshap.federation.flare.executor.PartyExecutor"]
    assert resources["allow_log_streaming"] is False
    assert "site_log_streamer" not in json.dumps(resources)
    rules = json.loads((kits["bank"].folder / "local" / "authorization.json").read_text())["permissions"]
    assert rules["lead"]["byoc"] == rules["lead"]["shell_commands"] == "none"
    assert rules["project_admin"] == {"view": "any"}


def test_party_init_refuses_a_table_that_does_not_fit(kits, table):
    people().assign(age="old").to_csv(table / "people.csv")
    done = party_init(kits, table)
    assert done.exit_code == 1
    assert not isinstance(done.exception, SystemExit) or done.exception.code == 1


@pytest.mark.parametrize("wrong", [("--set", "span"), ("--allow", "officer=bank"), ("--allow", "=bank:3")])
def test_party_init_refuses_options_it_cannot_read(kits, table, wrong):
    assert party_init(kits, table, *wrong).exit_code == 2


def test_a_kit_of_another_role_is_refused(kits, table):
    assert run("analyst", "start", kits["bank"].folder).exit_code == 1
    assert run("party", "start", kits["localhost"].folder).exit_code == 1


def test_init_writes_profile_and_participants(tmp_path):
    project = {
        "name": "credit",
        "parties": {"bank": "b", "shop": "s"},
        "requesters": {"lead@x.org": "lead", "officer@b.org": "member"},
    }
    (tmp_path / "project.yaml").write_text(yaml.safe_dump(project))
    done = run("init", tmp_path / "project.yaml", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    files = {path.name for path in (tmp_path / "out" / "participants").iterdir()}
    assert files == {"analyst.yaml", "bank.yaml", "shop.yaml", "lead@x.org.yaml", "officer@b.org.yaml"}
    profile = yaml.safe_load((tmp_path / "out" / "profile.yaml").read_text())
    assert profile["connection_security"] == "mtls"
    assert profile["server"]["host"] == "localhost"
    assert run("init", tmp_path / "project.yaml", "--out", tmp_path / "out").exit_code == 1


@pytest.mark.parametrize(
    "change",
    [{"parties": ["bank"]}, {"requesters": {"lead@x.org": "member"}}, {"requesters": {"lead": "lead"}}, {"more": 1}],
)
def test_init_refuses_a_project_that_cannot_work(tmp_path, change):
    project = {"name": "credit", "parties": ["bank", "shop"], "requesters": {"lead@x.org": "lead"}} | change
    (tmp_path / "project.yaml").write_text(yaml.safe_dump(project))
    assert run("init", tmp_path / "project.yaml", "--out", tmp_path / "out").exit_code == 1
    assert not (tmp_path / "out").exists()


def test_a_fingerprint_is_shown_as_it_is(tmp_path, monkeypatch):
    fingerprint = ":".join(["AB", "CD", "0A", "B0"] * 8)
    monkeypatch.setattr("dcshap.federation.flare.provision.make_authority", lambda *_: fingerprint)
    said = run("certificates", "authority", tmp_path / "profile.yaml").output
    assert fingerprint in said.replace("\n", "")


def test_ledger_shows_and_verifies(tmp_path):
    book = Ledger(tmp_path / "dcshap" / "ledger.jsonl")
    book.append(Entry("analyst", "Representation", 1234, {"rows": (3, 2)}, "run"))
    assert "1234" in run("ledger", tmp_path).output
    found = json.loads(run("ledger", tmp_path, "--json").output)
    assert found["verified"] == 1
    book.path.write_text(book.path.read_text().replace("1234", "1"))
    assert run("ledger", tmp_path).exit_code == 1


def test_a_server_that_is_not_running_is_said_to_be_unreachable(kits):
    done = run("status", "credit", "--kit", kits["lead@analyst.example"].folder, "--timeout", "3")
    assert done.exit_code == 1


def test_every_command_has_help():
    for command in ("init", "train", "serve", "status", "stop", "explain", "ledger", "demo", "party", "analyst"):
        assert run(command, "--help").exit_code == 0


def test_a_ledger_that_is_not_there_is_an_error_and_an_archived_one_is_shown(tmp_path):
    assert run("ledger", tmp_path / "nonexistent").exit_code == 1
    assert run("ledger", tmp_path).exit_code == 1
    book = Ledger(tmp_path / "dcshap" / "ledger.jsonl")
    book.append(Entry("analyst", "Representation", 1234))
    assert json.loads(run("ledger", tmp_path, "--archive", "--json").stdout)["verified"] == 1
    assert not book.path.exists()
    assert json.loads(run("ledger", tmp_path, "--json").stdout)["verified"] == 1
